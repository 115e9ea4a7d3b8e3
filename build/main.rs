//! What is known when the exporter is built and becomes part of it: the presets, and what it was built from.

mod origin;
mod presets;
mod repository;

use std::io;

fn main() -> io::Result<()> {
    presets::list()?;
    origin::tell()
}
