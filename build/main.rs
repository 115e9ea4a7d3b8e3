//! The build script: lists the presets and determines the build information.
#![expect(clippy::print_stdout, reason = "build scripts send instructions to cargo on standard output")]

mod info;
mod presets;
mod repository;

use std::io;

fn main() -> io::Result<()> {
    presets::list()?;
    info::emit()
}
