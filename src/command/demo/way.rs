//! The exporter's way to the store, which can be taken away from it alone.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::relay::Relay;

/// How the exporter gets to the store.
#[derive(Debug)]
pub(super) enum Way {
    /// To a file, by a link to its folder, as a sidecar reads what is mounted for it.
    Link(PathBuf),
    /// To a server, through what stands in between.
    Relay(Relay),
}

impl Way {
    /// Takes it away.
    pub(super) fn hide(&self) -> io::Result<()> {
        match self {
            Self::Link(link) => fs::remove_file(link),
            Self::Relay(relay) => {
                relay.truncate_to_width();
                Ok(())
            }
        }
    }

    /// Puts it back, or where it is for the first time.
    pub(super) fn reveal(&self) -> io::Result<()> {
        match self {
            Self::Link(link) => match symlink("store", link) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            },
            Self::Relay(relay) => {
                relay.mend();
                Ok(())
            }
        }
    }

    /// What is said as it is taken away.
    pub(super) const fn hidden(&self) -> &'static str {
        match self {
            Self::Link(_) => "The store is taken away from the exporter, as when a volume is gone.",
            Self::Relay(_) => "The exporter is cut off from the server, as when a network is gone.",
        }
    }
}
