//! Lists the preset files, so that every file in their folder is a preset.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Writes the list that `src/preset` includes.
pub(super) fn list() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("src/preset");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yml"));
    files.sort();
    let mut list = String::from("&[\n");
    for path in &files {
        let name = path.file_stem().unwrap_or_default();
        // `Debug` output is a valid Rust string literal.
        writeln!(list, "({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push(']');
    let target = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&target).join("presets.rs"), list)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Ok(())
}
