//! The configuration and the files that it names: the one way to read them.
//!
//! A file may lie on a file system that hangs, be a pipe that nobody writes to, or a device without an end. It is therefore
//! opened and read on a thread of its own, by a deadline and up to a limit, and only if it is a regular file or a pipe. One
//! path is read by one reader at a time, and a bounded number of threads reads: a file system that hangs keeps no more
//! threads busy with each attempt.
//!
//! SQLite opens its own files, on a thread of its own, and the TLS library those of the certificates that the system trusts.

use std::collections::BTreeSet;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

/// The most bytes that a file may have.
pub const LIMIT: usize = 1024 * 1024;
/// How long reading a file may take where nobody gives a deadline: at the start, and when a configuration is loaded again.
pub const PATIENCE: Duration = Duration::from_secs(4);

/// How many threads may read at once.
const THREADS: usize = 16;
/// How long to wait before a pipe is looked at again.
const STEP: Duration = Duration::from_millis(10);

/// Why a file was not read, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is none of that name.
    #[error("is not there")]
    Absent,
    /// This process may not read it.
    #[error("may not be read by the exporter's user; give that user the right to")]
    Forbidden,
    /// It is neither a regular file nor a pipe.
    #[error("is {0}; name a file or a pipe")]
    Kind(&'static str),
    /// It has more bytes than such a file may have.
    #[error("has more than {0} bytes; name another")]
    TooLong(usize),
    /// It is a pipe, and nobody opened it for writing in time.
    #[error("is a pipe that nobody wrote to in time; write to it whenever it is read, or name a file")]
    NoWriter,
    /// It is a pipe, and its writer went on or kept it open.
    #[error("is a pipe that its writer did not close in time; close it after writing, or name a file")]
    Unfinished,
    /// The file system did not answer in time, now or when the file was last read.
    #[error("was not read in time; look whether its file system answers")]
    Late,
    /// Any other error of the system.
    #[error("cannot be read: {0}")]
    Other(io::ErrorKind),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            io::ErrorKind::PermissionDenied => Self::Forbidden,
            kind => Self::Other(kind),
        }
    }
}

/// A path as an error or a warning may repeat it: on one line.
#[must_use]
pub fn shown(path: &Path) -> String {
    let letters =
        |letter: char| if letter.is_control() { letter.escape_default().collect() } else { String::from(letter) };
    path.to_string_lossy().chars().map(letters).collect()
}

/// The whole content of a file, which is at most `limit` bytes.
///
/// A pipe is read until its writer closes it.
///
/// # Errors
/// See [`FileError`]. Its text names neither the path nor what names it in the configuration: the caller knows both.
pub async fn read(path: &Path, limit: usize, deadline: Instant) -> Result<Vec<u8>, FileError> {
    let turn = Turn::wait(path, deadline).await?;
    let owned = path.to_owned();
    // The turn ends with the thread, which may outlive this future.
    let (opened, _turn) = on_thread(deadline, move || (open(&owned, limit), turn)).await?;
    match opened? {
        Opened::Content(content) => Ok(content),
        Opened::Pipe(pipe) => drain(&pipe, limit, deadline).await,
    }
}

/// The same for callers that are not asynchronous: at the start, and on blocking threads.
///
/// # Errors
/// As of [`read`].
pub fn read_blocking(path: &Path, limit: usize, patience: Duration) -> Result<Vec<u8>, FileError> {
    wait(async { read(path, limit, Instant::now() + patience).await }).and_then(|read| read)
}

/// Those of the files to which users other than their owner and group have rights. One of which that cannot be told in time
/// is not among them, and none on a file system that is mounted read-only, as Kubernetes mounts secrets: there the mode
/// cannot be changed, and whoever does not mount it does not see the file.
#[must_use]
pub fn open_to_others<'a>(paths: &[&'a Path], patience: Duration) -> Vec<&'a Path> {
    let looked = wait(async {
        let (mut open, deadline) = (Vec::new(), Instant::now() + patience);
        for path in paths {
            if is_open_to_others(path, deadline).await.unwrap_or(false) {
                open.push(*path);
            }
        }
        open
    });
    looked.unwrap_or_default()
}

async fn is_open_to_others(path: &Path, deadline: Instant) -> Result<bool, FileError> {
    let turn = Turn::wait(path, deadline).await?;
    let owned = path.to_owned();
    let (open, _turn) = on_thread(deadline, move || (others_have_rights(&owned), turn)).await?;
    Ok(open)
}

fn others_have_rights(path: &Path) -> bool {
    let open = |metadata: Metadata| {
        let kind = metadata.file_type();
        (kind.is_file() || kind.is_fifo()) && metadata.permissions().mode() & 0o007 != 0
    };
    std::fs::metadata(path).is_ok_and(open)
        && rustix::fs::statvfs(path).is_ok_and(|mounted| !mounted.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Drives a future to its end, wherever that is called from: a thread of a runtime cannot drive another one itself.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, FileError> {
    let drive = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let done = runtime.block_on(future);
        // A thread that hangs is left behind.
        runtime.shutdown_background();
        Ok::<T, io::Error>(done)
    };
    let driven = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("file".to_owned()).spawn_scoped(scope, drive)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    driven.map_err(FileError::from)
}

/// The paths that are being read.
static READING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Tells that one of them no longer is.
static ENDED: Notify = Notify::const_new();
/// The threads that may read now.
static FREE_THREADS: Semaphore = Semaphore::const_new(THREADS);

fn reading() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // Every change to it is one call, so a panic elsewhere leaves nothing half done.
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to read one path, which one reader has at a time.
struct Turn(PathBuf);

impl Turn {
    async fn wait(path: &Path, deadline: Instant) -> Result<Self, FileError> {
        let mut ended = std::pin::pin!(ENDED.notified());
        loop {
            // Before the path is looked for: whoever ends in between is heard of too.
            ended.as_mut().enable();
            if reading().insert(path.to_owned()) {
                return Ok(Self(path.to_owned()));
            }
            timeout_at(deadline, ended.as_mut()).await.map_err(|_| FileError::Late)?;
            ended.set(ENDED.notified());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        reading().remove(&self.0);
        ENDED.notify_waiters();
    }
}

/// Does a job on a blocking thread. If it is late, the thread and all that the job owns are left behind until it returns.
async fn on_thread<T: Send + 'static>(
    deadline: Instant,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FileError> {
    // It is never closed.
    let Ok(Ok(free)) = timeout_at(deadline, FREE_THREADS.acquire()).await else { return Err(FileError::Late) };
    let thread = tokio::task::spawn_blocking(move || {
        let _free = free;
        job()
    });
    match timeout_at(deadline, thread).await {
        Ok(Ok(done)) => Ok(done),
        // It panicked, which is told elsewhere, or the process ends.
        Ok(Err(_)) => Err(FileError::Other(io::ErrorKind::Interrupted)),
        Err(_) => Err(FileError::Late),
    }
}

/// A file that was opened.
enum Opened {
    /// All that is in a regular file.
    Content(Vec<u8>),
    /// A pipe, of which nothing was read.
    Pipe(File),
}

fn open(path: &Path, limit: usize) -> Result<Opened, FileError> {
    // Opening a device may already do something.
    check_kind(std::fs::metadata(path)?.file_type())?;
    // A pipe without a writer would otherwise keep the thread, and a terminal become that of the process.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let kind = file.metadata()?.file_type();
    check_kind(kind)?;
    if kind.is_fifo() {
        return Ok(Opened::Pipe(file));
    }
    let mut content = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut content)?;
    if content.len() > limit { Err(FileError::TooLong(limit)) } else { Ok(Opened::Content(content)) }
}

fn check_kind(kind: FileType) -> Result<(), FileError> {
    if kind.is_file() || kind.is_fifo() {
        return Ok(());
    }
    Err(FileError::Kind(if kind.is_dir() {
        "a directory"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }))
}

/// Reads a pipe, which never blocks, to its end.
async fn drain(mut pipe: &File, limit: usize, deadline: Instant) -> Result<Vec<u8>, FileError> {
    let (mut content, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    let mut has_writer = false;
    loop {
        match pipe.read(&mut buffer) {
            // Without a writer a pipe is at its end before anything came.
            Ok(0) if has_writer => return Ok(content),
            Ok(0) => {}
            Ok(length) => {
                has_writer = true;
                content.extend_from_slice(&buffer[..length]);
                if content.len() > limit {
                    return Err(FileError::TooLong(limit));
                }
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => has_writer = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            return Err(if has_writer { FileError::Unfinished } else { FileError::NoWriter });
        }
        sleep(STEP).await;
    }
}

#[cfg(test)]
mod tests;
