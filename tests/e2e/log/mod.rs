//! The log: every line can be read, whatever happens, and there are few of them.

mod floods;
mod lines;
mod reader;
mod unread;
