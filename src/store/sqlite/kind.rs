//! SQLite as a kind of store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use store_address::has_password;

use super::{SqliteQuery, SqliteStore};
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::query::Query;
use crate::store::section::{KeySpec, StoreProblem, StoreSection, line};
use crate::store::server_keys::PASSWORD_FILE;
use crate::store::{Scope, Statement, Store};

/// SQLite.
#[derive(Debug)]
pub struct Sqlite;

/// A configured SQLite file.
#[derive(Clone, PartialEq, Eq)]
pub struct SqliteFile {
    /// The file.
    pub path: PathBuf,
    /// The statement that reads it, which returns columns of the reading contract.
    pub sql: Arc<str>,
}

impl StoreKind for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn has_users(&self) -> bool {
        false
    }

    fn keys(&self) -> &'static [KeySpec] {
        // The key is declared, so that it is refused with a specific message.
        &[PASSWORD_FILE]
    }

    fn configure(&self, section: &mut StoreSection<'_>, query: Option<Box<dyn Query>>) -> Option<Arc<dyn StoreConfig>> {
        let base_dir = section.base_dir;
        let path = section.address(|text| path(text.strip_prefix("sqlite://").unwrap_or_default(), base_dir));
        if let Some(file) = section.keys.text(PASSWORD_FILE.name) {
            let problem = "an SQLite file has no password; leave `password_file` out and grant access to the file";
            section.diagnostics.note(line(file), problem);
        }
        // A file has one version of what is stored, so a preset has no variants for it.
        let sql = query?.downcast::<Statement>()?.chosen(None).ok()?;
        Some(Arc::new(SqliteFile { path: path?, sql }))
    }

    fn example(&self) -> &'static [&'static str] {
        &["store: sqlite:///var/lib/app/jobs.db"]
    }
}

impl StoreConfig for SqliteFile {
    fn kind(&self) -> &'static dyn StoreKind {
        &Sqlite
    }

    fn store(&self, scope: Scope) -> Box<dyn Store> {
        Box::new(SqliteStore::new(self.path.clone(), SqliteQuery::new(Arc::clone(&self.sql), scope)))
    }
}

/// A path and a statement may hold anything, so they are left out.
impl std::fmt::Debug for SqliteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<file>")
    }
}

/// The path in an address, without its scheme.
fn path(rest: &str, base_dir: &Path) -> Result<PathBuf, StoreProblem> {
    let fault = match rest {
        "" | "/" => "it names no file; write it as `sqlite:///path/to/file`",
        ":memory:" => "a database in memory has no other process that writes it; name a file",
        _ if rest.contains(['?', '#']) => {
            "it takes no parameters, an SQLite file has no password, and it is only ever opened to read; leave out what \
             begins with `?` or `#`"
        }
        // In a path `@` is a character like any other. Before the path it ends a user's name and password.
        _ if has_password(rest.split('/').next().unwrap_or_default()) => {
            "it takes no user and no password, as an SQLite file has neither; write it as `sqlite:///path/to/file`"
        }
        _ if rest.contains('\0') => "no path has a zero byte in it; take it out",
        _ => return Ok(base_dir.join(rest)),
    };
    Err(format!("the store's address is not one of an SQLite file: {fault}").into())
}
