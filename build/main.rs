//! What is known when the exporter is built and becomes part of it: the presets, and what it was built from.
#![expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

mod info;
mod presets;
mod repository;

use std::io;

fn main() -> io::Result<()> {
    presets::list()?;
    info::tell()
}
