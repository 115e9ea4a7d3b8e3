//! The folder that the demo takes place in: the store, and the configuration that the exporter reads it by.
//!
//! The schedulers use the store where it is, in `store/`. The exporter reads it through the link `mount`, as a sidecar
//! reads what is mounted for it; with the link gone, the store cannot be reached by the exporter alone.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use super::super::Failure;
use super::pace::Pace;
use crate::scheduler::{InstanceToken, SqliteProtocol};

/// The name of the source that the exporter reads.
pub(super) const SOURCE: &str = "documents";
/// The name of the lease that the schedulers share.
pub(super) const LEASE: &str = "retention-planning";

/// The folder, removed when this is dropped unless it is to be kept.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    keep: bool,
    config: String,
}

impl Stage {
    /// Makes the folder with all that is in it.
    pub(super) fn set(pace: Pace, keep: bool) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lease-exporter-demo-")
            .disable_cleanup(keep)
            .tempdir()
            .map_err(|error| Failure::System(format!("cannot make a temporary folder: {error}")))?;
        let stage = Self { folder, keep, config: config(pace) };
        stage.furnish().map_err(|error| Failure::System(format!("cannot write into the temporary folder: {error}")))?;
        SqliteProtocol::create(&stage.store()).map_err(|error| Failure::System(error.to_string()))?;
        Ok(stage)
    }

    fn furnish(&self) -> io::Result<()> {
        fs::create_dir(self.path("store"))?;
        // With a key, `lease-exporter status` beside the demo shows the holders by the same names.
        let key = InstanceToken::random().map_err(io::Error::other)?;
        fs::write(self.path("token.key"), key.as_str())?;
        fs::write(self.config_file(), &self.config)?;
        self.reveal()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The store, as the schedulers know it.
    pub(super) fn store(&self) -> PathBuf {
        self.path("store/documents.db")
    }

    /// A new connection to the store.
    pub(super) fn protocol(&self) -> Result<SqliteProtocol, Failure> {
        SqliteProtocol::open(&self.store()).map_err(|error| Failure::System(error.to_string()))
    }

    /// The exporter's configuration.
    pub(super) fn config_file(&self) -> PathBuf {
        self.path("lease-exporter.yml")
    }

    /// What to say of the folder at the start, if it is kept: line by line.
    pub(super) fn kept(&self) -> Option<Vec<String>> {
        self.keep.then(|| {
            let mut lines = vec![format!("Kept: {}, with this configuration:", self.config_file().display())];
            lines.extend(self.config.lines().map(|line| format!("    {line}")));
            lines
        })
    }

    /// Takes the exporter's way to the store away.
    pub(super) fn hide(&self) -> io::Result<()> {
        fs::remove_file(self.path("mount"))
    }

    /// Puts it back.
    pub(super) fn reveal(&self) -> io::Result<()> {
        match symlink("store", self.path("mount")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// Removes the folder, or leaves it fit to be looked at, and says which.
    pub(super) fn clear(self) -> Result<Vec<String>, Failure> {
        let failed = |what| move |error: io::Error| Failure::System(format!("cannot {what}: {error}"));
        if self.keep {
            self.reveal().map_err(failed("put the link to the store back"))?;
            return Ok(vec![
                "Stopped. The store and the configuration are kept; look at them with".to_owned(),
                format!("    lease-exporter status --config.file={}", self.config_file().display()),
                format!("    sqlite3 -readonly {} 'SELECT * FROM scheduler_lease'", self.store().display()),
                format!("    rm -r {}", self.folder.path().display()),
            ]);
        }
        self.folder.close().map_err(failed("remove the temporary folder"))?;
        Ok(vec!["Stopped; nothing is left behind.".to_owned()])
    }
}

/// The exporter's configuration. Nothing in it is special to the demo but that its times are short.
fn config(pace: Pace) -> String {
    let (reuse_for, stall_after) = [pace.reuse_for(), pace.stall_after()].map(humantime::format_duration).into();
    format!(
        "\
# A path that does not begin with a slash starts at the folder of this file.
token_key_file: token.key
sources:
  - name: {SOURCE}
    store: sqlite://mount/documents.db
    preset: reference
    reuse_for: {reuse_for}
leases:
  - match: {{ source: {SOURCE}, lease: {LEASE} }}
    stall_after: {stall_after}
"
    )
}
