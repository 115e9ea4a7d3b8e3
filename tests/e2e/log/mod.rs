//! The log: every line can be parsed, and there are few lines.

mod floods;
mod lines;
mod reader;
mod unread;
