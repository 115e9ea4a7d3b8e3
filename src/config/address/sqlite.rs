//! The address of an SQLite file.

use std::path::{Path, PathBuf};

use super::names_user;

/// The path in the rest of an address, or what is wrong with it.
pub(super) fn path(rest: &str, base_dir: &Path) -> Result<PathBuf, &'static str> {
    let fault = match rest {
        "" | "/" => "it names no file; write it as `sqlite:///path/to/file`",
        ":memory:" => "a database in memory has no other process that writes it; name a file",
        _ if rest.contains(['?', '#']) => {
            "it takes no parameters, an SQLite file has no password, and it is only ever opened to read; leave out what begins with `?` or `#`"
        }
        // In a path an `@` is a letter like any other, but before it, it ends a user's name and password.
        _ if names_user(rest.split('/').next().unwrap_or_default()) => {
            "it takes no user and no password, as an SQLite file has neither; write it as `sqlite:///path/to/file`"
        }
        _ if rest.contains('\0') => "no path has a zero byte in it; take it out",
        _ => return Ok(base_dir.join(rest)),
    };
    Err(fault)
}
