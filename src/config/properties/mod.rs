//! Configuration files and their values, as people, templates and editors write them, and broken.

mod address;
mod duration;
mod file;
