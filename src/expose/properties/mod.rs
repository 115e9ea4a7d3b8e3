//! Renderings of any content, and the parsers that read them back.

mod html;
mod metrics;
mod names;
