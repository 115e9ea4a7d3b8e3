//! What a person writes, and what a template, an editor or somebody with ill will makes of it.

mod address;
mod duration;
mod file;
