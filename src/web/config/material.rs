//! The files that a configuration is made of: what they hold, and how to see that they have changed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::clock;
use crate::file::{FileError, MAX_SIZE, TIMEOUT, read_blocking};

/// Two changes within so many seconds may leave a file with one time: file systems count no finer than ticks, some no
/// finer than seconds.
const UNSURE: f64 = 2.0;

/// Files that were read, whether or not they could be.
#[derive(Default)]
pub(super) struct Material {
    seen: Vec<(PathBuf, Stamp)>,
    digest: Sha256,
    pipes: Arc<Pipes>,
}

/// The contents of pipes, which cannot be read again.
type Pipes = BTreeMap<PathBuf, (Stamp, Vec<u8>)>;

/// What tells a file from another of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    Absent,
    Of {
        device: u64,
        inode: u64,
        length: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    /// A pipe gives what it holds once; it is the same until another is in its place.
    Pipe {
        device: u64,
        inode: u64,
    },
}

/// What was read, to be compared with what is there later.
#[derive(Clone)]
pub(super) struct Seen {
    files: Vec<(PathBuf, Stamp)>,
    digest: [u8; 32],
    /// Whether the stamps can tell of any later change.
    sure: bool,
    pipes: Arc<Pipes>,
}

impl Material {
    /// Files that are read after others were: pipes that are still there give what they gave.
    pub(super) fn after(seen: &Seen) -> Self {
        Self { pipes: Arc::clone(&seen.pipes), ..Self::default() }
    }

    /// A whole file.
    pub(super) fn file(&mut self, path: &Path) -> Result<Vec<u8>, FileError> {
        // Before it is read: a change in between is then seen as one that came after.
        let stamp = Stamp::of(path);
        self.seen.push((path.to_owned(), stamp.clone()));
        let read = self.read(path, stamp);
        let content = read.as_ref().map_or_else(|fault| fault.to_string().into_bytes(), Clone::clone);
        self.digest.update(path.as_os_str().as_encoded_bytes());
        self.digest.update((content.len() as u64).to_be_bytes());
        self.digest.update(&content);
        read
    }

    fn read(&mut self, path: &Path, stamp: Stamp) -> Result<Vec<u8>, FileError> {
        let is_pipe = matches!(stamp, Stamp::Pipe { .. });
        if let Some((_, content)) = self.pipes.get(path).filter(|(read, _)| is_pipe && *read == stamp) {
            return Ok(content.clone());
        }
        let content = read_blocking(path, MAX_SIZE, TIMEOUT)?;
        if is_pipe {
            Arc::make_mut(&mut self.pipes).insert(path.to_owned(), (stamp, content.clone()));
        }
        Ok(content)
    }

    pub(super) fn seen(self) -> Seen {
        let sure = self.seen.iter().all(|(_, stamp)| stamp.is_sure());
        Seen { files: self.seen, digest: self.digest.finalize().into(), sure, pipes: self.pipes }
    }
}

/// What a pipe gave may be a private key.
impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").field("files", &self.files).field("sure", &self.sure).finish_non_exhaustive()
    }
}

impl Seen {
    /// Whether all files are sure to be as they were.
    pub(super) fn is_unchanged(&self) -> bool {
        self.sure && self.files.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Whether what was read is the same, byte by byte.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        // Of what a link points at, which is how Kubernetes changes a secret.
        fs::metadata(path).map_or(Self::Absent, |metadata: Metadata| {
            let (device, inode) = (metadata.dev(), metadata.ino());
            if metadata.file_type().is_fifo() {
                return Self::Pipe { device, inode };
            }
            Self::Of {
                device,
                inode,
                length: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            }
        })
    }

    /// Whether a change from now on would show.
    fn is_sure(&self) -> bool {
        match self {
            Self::Absent | Self::Pipe { .. } => true,
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
            Self::Of { changed: (seconds, _), .. } => (clock::unix_seconds() - *seconds as f64).abs() > UNSURE,
        }
    }
}
