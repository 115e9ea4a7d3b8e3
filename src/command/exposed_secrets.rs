//! Secret files that users other than the owner and group can access.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Config;
use crate::file::{escaped, world_accessible};

/// The time limit for checking all files. Files that are not checked in time are not reported.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A secret file that users other than its owner and group can access.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExposedSecret {
    key: &'static str,
    path: PathBuf,
}

impl ExposedSecret {
    /// The exposed secret files that a configuration names, each once.
    pub(super) fn of(config: &Config) -> BTreeSet<Self> {
        let named: Vec<(&'static str, &Path)> = config.secret_files().collect();
        let paths: BTreeSet<&Path> = named.iter().map(|(_, path)| *path).collect();
        let exposed = world_accessible(&paths.into_iter().collect::<Vec<_>>(), TIMEOUT);
        let exposed = named.into_iter().filter(|(_, path)| exposed.contains(path));
        exposed.map(|(key, path)| Self { key, path: path.to_owned() }).collect()
    }
}

impl fmt::Display for ExposedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, path } = self;
        let path = escaped(path);
        write!(f, "other users have rights to the file that `{key}` names, {path}; take them away with `chmod 600`")
    }
}
