//! The kinds of servers, and which of them the tests are to do without.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::certificates::Certificates;
use super::{mariadb, postgres, redis};

/// The environment variable that names, with commas between, the kinds that the tests are to do without.
pub(super) const WITHOUT: &str = "LEASE_EXPORTER_TESTS_WITHOUT";

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Postgres,
    MariaDb,
    Redis,
    Valkey,
}

/// Where a server is, and who may connect how.
pub(super) struct Setup<'a> {
    pub(super) folder: &'a Path,
    pub(super) port: u16,
    /// The certificates that the server presents and trusts, if its port speaks TLS only.
    pub(super) tls: Option<&'a Certificates>,
    /// `name=value`.
    pub(super) settings: &'a [String],
}

impl Setup<'_> {
    /// Puts a file into the folder, and says where.
    pub(super) fn place(&self, name: &str, content: &str) -> String {
        let path = self.folder.join(name);
        // PostgreSQL uses no key that others can read.
        put_secret(&path, content);
        text(path)
    }
}

/// Writes a file that is for its owner alone.
pub(super) fn put_secret(path: &Path, content: &str) {
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// A path as an argument.
pub(super) fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().expect("a path in UTF-8")
}

impl Kind {
    /// The name of the kind in `LEASE_EXPORTER_TESTS_WITHOUT`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }

    /// The signal that ends it at once and lets it tidy up what would outlive it; its data need not be saved.
    pub(super) const fn end_signal(self) -> &'static str {
        match self {
            Self::Postgres => "QUIT",
            Self::MariaDb | Self::Redis | Self::Valkey => "KILL",
        }
    }

    /// The command that makes a new `data` in this folder, for kinds that take long over it.
    pub(super) fn initialise(self, folder: &Path) -> Option<Vec<String>> {
        match self {
            Self::Postgres => Some(postgres::initialise(folder)),
            Self::MariaDb => Some(mariadb::initialise(folder)),
            Self::Redis | Self::Valkey => None,
        }
    }

    /// The command that is the server.
    pub(super) fn serve(self, setup: &Setup<'_>) -> Vec<String> {
        match self {
            Self::Postgres => postgres::serve(setup),
            Self::MariaDb => mariadb::serve(setup),
            Self::Redis => redis::serve("redis-server", setup),
            Self::Valkey => redis::serve("valkey-server", setup),
        }
    }

    /// Whether the tests are to do without it.
    pub fn is_left_out(self) -> bool {
        is_left_out(self.name())
    }
}

/// Whether `LEASE_EXPORTER_TESTS_WITHOUT` has this name. The first call that finds the name prints a notice.
pub fn is_left_out(name: &str) -> bool {
    let without = std::env::var(WITHOUT).unwrap_or_default();
    let left_out = without.split(',').any(|other| other.trim() == name);
    if left_out {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        // Past the capture of the tests' output, which would hide it.
        let _ = writeln!(std::io::stderr(), "{test}: left out with {name}, as {WITHOUT} says");
    }
    left_out
}

/// The kinds that are not left out, for a test that runs on several kinds.
pub fn wanted(kinds: &[Kind]) -> impl Iterator<Item = Kind> {
    kinds.iter().copied().filter(|kind| !kind.is_left_out())
}
