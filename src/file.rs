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
pub const MAX_SIZE: usize = 1024 * 1024;
/// How long reading a file may take where nobody gives a deadline: at the start, and when a configuration is loaded again.
pub const TIMEOUT: Duration = Duration::from_secs(4);

/// How many threads may read at once.
const MAX_THREADS: usize = 16;
/// How long to wait before a pipe is looked at again.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

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
    Timeout,
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
pub fn escaped(path: &Path) -> String {
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
    let lock = PathLock::wait(path, deadline).await?;
    let owned = path.to_owned();
    // The thread, which may outlive this future, owns the lock.
    let (opened, _lock) = on_thread(deadline, move || (open(&owned, limit), lock)).await?;
    match opened? {
        OpenedFile::Content(content) => Ok(content),
        OpenedFile::Pipe(pipe) => read_pipe(&pipe, limit, deadline).await,
    }
}

/// The same for callers that are not asynchronous: at the start, and on blocking threads.
///
/// # Errors
/// As of [`read`].
pub fn read_blocking(path: &Path, limit: usize, timeout: Duration) -> Result<Vec<u8>, FileError> {
    wait(async { read(path, limit, Instant::now() + timeout).await }).and_then(|read| read)
}

/// The files to which users other than their owner and group have rights. A file that cannot be looked at in time is left out.
/// So is one on a file system that is mounted read-only, as Kubernetes mounts secrets: its mode cannot be changed, and
/// processes without that mount do not see it.
#[must_use]
pub fn world_accessible<'a>(paths: &[&'a Path], timeout: Duration) -> Vec<&'a Path> {
    let looked = wait(async {
        let (mut accessible, deadline) = (Vec::new(), Instant::now() + timeout);
        for path in paths {
            if is_world_accessible(path, deadline).await.unwrap_or(false) {
                accessible.push(*path);
            }
        }
        accessible
    });
    looked.unwrap_or_default()
}

async fn is_world_accessible(path: &Path, deadline: Instant) -> Result<bool, FileError> {
    let lock = PathLock::wait(path, deadline).await?;
    let owned = path.to_owned();
    let (accessible, _lock) = on_thread(deadline, move || (has_world_permissions(&owned), lock)).await?;
    Ok(accessible)
}

fn has_world_permissions(path: &Path) -> bool {
    let open = |metadata: Metadata| {
        let kind = metadata.file_type();
        (kind.is_file() || kind.is_fifo()) && metadata.permissions().mode() & 0o007 != 0
    };
    std::fs::metadata(path).is_ok_and(open)
        && rustix::fs::statvfs(path).is_ok_and(|mounted| !mounted.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Drives a future to its end on a thread of its own, because a thread of a runtime cannot drive another runtime.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, FileError> {
    let drive = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let done = runtime.block_on(future);
        // It does not wait for a thread that hangs.
        runtime.shutdown_background();
        Ok::<T, io::Error>(done)
    };
    let driven = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("file".to_owned()).spawn_scoped(scope, drive)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    driven.map_err(FileError::from)
}

/// The paths that are locked.
static READING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Notified each time that one is released.
static RELEASED: Notify = Notify::const_new();
/// A permit for each thread that may still be started.
static THREAD_SLOTS: Semaphore = Semaphore::const_new(MAX_THREADS);

fn reading() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // Every change to it is one call, so a panic elsewhere leaves nothing half done.
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to read one path, which one reader has at a time.
struct PathLock(PathBuf);

impl PathLock {
    async fn wait(path: &Path, deadline: Instant) -> Result<Self, FileError> {
        let mut released = std::pin::pin!(RELEASED.notified());
        loop {
            // Before the path is looked for, so that a release in between is not missed.
            released.as_mut().enable();
            if reading().insert(path.to_owned()) {
                return Ok(Self(path.to_owned()));
            }
            timeout_at(deadline, released.as_mut()).await.map_err(|_| FileError::Timeout)?;
            released.set(RELEASED.notified());
        }
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        reading().remove(&self.0);
        RELEASED.notify_waiters();
    }
}

/// Does a job on a blocking thread. A job that is late keeps the thread, and all that it owns, until it returns.
async fn on_thread<T: Send + 'static>(
    deadline: Instant,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FileError> {
    // The semaphore is never closed.
    let Ok(Ok(slot)) = timeout_at(deadline, THREAD_SLOTS.acquire()).await else { return Err(FileError::Timeout) };
    let thread = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        job()
    });
    match timeout_at(deadline, thread).await {
        Ok(Ok(done)) => Ok(done),
        // The job panicked, which the panic hook tells, or the runtime shuts down.
        Ok(Err(_)) => Err(FileError::Other(io::ErrorKind::Interrupted)),
        Err(_) => Err(FileError::Timeout),
    }
}

/// A file that was opened.
enum OpenedFile {
    /// All that is in a regular file.
    Content(Vec<u8>),
    /// A pipe, of which nothing was read.
    Pipe(File),
}

fn open(path: &Path, limit: usize) -> Result<OpenedFile, FileError> {
    // Opening a device may already do something.
    check_kind(std::fs::metadata(path)?.file_type())?;
    // Otherwise a pipe without a writer would keep the thread, and a terminal would become that of the process.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let kind = file.metadata()?.file_type();
    check_kind(kind)?;
    if kind.is_fifo() {
        return Ok(OpenedFile::Pipe(file));
    }
    let mut content = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut content)?;
    if content.len() > limit { Err(FileError::TooLong(limit)) } else { Ok(OpenedFile::Content(content)) }
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

/// Reads a pipe that was opened not to block, to its end.
async fn read_pipe(mut pipe: &File, limit: usize, deadline: Instant) -> Result<Vec<u8>, FileError> {
    let (mut content, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    let mut has_writer = false;
    loop {
        match pipe.read(&mut buffer) {
            // A pipe that no writer has opened yet is at its end too.
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
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests;
