//! Which files hold secrets.

use std::path::Path;

use super::{Config, Reads};
use crate::store::{PasswordFile, Tls};

impl Config {
    /// The files with secrets that it names, each with the key that names it.
    pub fn secret_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let token_key = self.token_key_file.iter().map(|path| ("token_key_file", path.as_path()));
        token_key.chain(self.sources.iter().flat_map(|source| source.store.secret_files()))
    }
}

impl Reads {
    fn secret_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let (password, tls): (Option<&PasswordFile>, Option<&Tls>) = match self {
            Self::Sqlite { .. } => (None, None),
            #[cfg(feature = "postgres")]
            Self::Postgres(database) => (database.server.password.as_ref(), Some(&database.server.tls)),
            #[cfg(feature = "mysql")]
            Self::Mysql(database) => (database.server.password.as_ref(), Some(&database.server.tls)),
            #[cfg(feature = "redis")]
            Self::Redis(keyspace) => (keyspace.password.as_ref(), Some(&keyspace.tls)),
        };
        let identity = match tls {
            Some(Tls::Verify { identity, .. }) => identity.as_ref(),
            Some(Tls::Off) | None => None,
        };
        let password = password.map(|file| ("password_file", file.path()));
        password.into_iter().chain(identity.map(|identity| ("key_file", identity.key_file.as_path())))
    }
}
