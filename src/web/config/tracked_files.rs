//! Reads the files of a configuration, and detects later changes of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::clock;
use crate::file::{FileError, MAX_SIZE, TIMEOUT, read_blocking};

/// The coarsest resolution of file times, in seconds. Two changes within it can leave the same time.
const TIME_RESOLUTION: f64 = 2.0;

/// Reads files and records what was read, including failures.
#[derive(Default)]
pub(super) struct FileReader {
    stamps: Vec<(PathBuf, FileStamp)>,
    digest: Sha256,
    pipes: Arc<PipeContents>,
}

/// The contents of named pipes, which can be read only once.
type PipeContents = BTreeMap<PathBuf, (FileStamp, Vec<u8>)>;

/// Metadata by which a change of a file is detected. The default is an absent file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FileStamp {
    is_pipe: bool,
    device: u64,
    inode: u64,
    /// 0 for a named pipe, as the times are: it counts as unchanged until another file replaces it.
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The state of the files at the time that they were read.
#[derive(Clone)]
pub(super) struct FilesSnapshot {
    stamps: Vec<(PathBuf, FileStamp)>,
    digest: [u8; 32],
    /// Whether any later change alters the stamps.
    is_reliable: bool,
    pipes: Arc<PipeContents>,
}

impl FileReader {
    /// A reader that returns the earlier contents of pipes that were already read.
    pub(super) fn after(snapshot: &FilesSnapshot) -> Self {
        Self { pipes: Arc::clone(&snapshot.pipes), ..Self::default() }
    }

    pub(super) fn read(&mut self, path: &Path) -> Result<Vec<u8>, FileError> {
        // The stamp is taken before the content, so that a change in between is detected later.
        let stamp = FileStamp::of(path);
        self.stamps.push((path.to_owned(), stamp));
        let result = self.read_content(path, stamp);
        let content = result.as_ref().map_or_else(|fault| fault.to_string().into_bytes(), Clone::clone);
        self.digest.update(path.as_os_str().as_encoded_bytes());
        self.digest.update((content.len() as u64).to_be_bytes());
        self.digest.update(&content);
        result
    }

    fn read_content(&mut self, path: &Path, stamp: FileStamp) -> Result<Vec<u8>, FileError> {
        if let Some((_, content)) = self.pipes.get(path).filter(|(earlier, _)| *earlier == stamp) {
            return Ok(content.clone());
        }
        let content = read_blocking(path, MAX_SIZE, TIMEOUT)?;
        if stamp.is_pipe {
            Arc::make_mut(&mut self.pipes).insert(path.to_owned(), (stamp, content.clone()));
        }
        Ok(content)
    }

    pub(super) fn finish(self) -> FilesSnapshot {
        let is_reliable = self.stamps.iter().all(|(_, stamp)| stamp.is_reliable());
        FilesSnapshot { stamps: self.stamps, digest: self.digest.finalize().into(), is_reliable, pipes: self.pipes }
    }
}

/// Leaves out the contents of pipes, which may be private keys.
impl fmt::Debug for FilesSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilesSnapshot").field("stamps", &self.stamps).finish_non_exhaustive()
    }
}

impl FilesSnapshot {
    /// Whether no file has changed since, as far as can be proven without reading them.
    pub(super) fn is_current(&self) -> bool {
        self.is_reliable && self.stamps.iter().all(|(path, stamp)| FileStamp::of(path) == *stamp)
    }

    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl FileStamp {
    fn of(path: &Path) -> Self {
        // Follows symbolic links: Kubernetes updates a secret by changing one.
        let Ok(metadata) = fs::metadata(path) else { return Self::default() };
        let (device, inode) = (metadata.dev(), metadata.ino());
        if metadata.file_type().is_fifo() {
            return Self { is_pipe: true, device, inode, ..Self::default() };
        }
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { is_pipe: false, device, inode, length: metadata.len(), modified, changed }
    }

    /// Whether any change from now on alters the stamp.
    fn is_reliable(&self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
        let changed = self.changed.0 as f64;
        (clock::unix_seconds() - changed).abs() > TIME_RESOLUTION
    }
}
