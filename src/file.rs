//! Reading of the configuration and of the files that it names, with a deadline and a size limit.
//!
//! A file may be on a file system that hangs, a pipe without a writer, or a device without an end. Files are therefore opened
//! and read on blocking threads, and only regular files and pipes are accepted. Each path has one reader at a time, and the
//! number of threads is bounded, so that repeated attempts on a hanging file system do not use more threads.
//!
//! SQLite opens its own files, and the TLS library the system's certificates.

use std::collections::BTreeSet;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

/// The most bytes that a file may have.
pub const MAX_SIZE: usize = 1024 * 1024;
/// The time limit for reading a file when the configuration is loaded.
pub const TIMEOUT: Duration = Duration::from_secs(4);

/// The maximum number of reading threads.
const MAX_THREADS: usize = 16;
/// The interval at which a pipe is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why a file was not read, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file does not exist.
    #[error("is not there")]
    Absent,
    /// The process has no permission to read it.
    #[error("may not be read by the exporter's user; give that user the right to")]
    Forbidden,
    /// It is neither a regular file nor a pipe.
    #[error("is {0}; name a file or a pipe")]
    Kind(&'static str),
    /// The file exceeds the limit.
    #[error("has more than {0} bytes; name another")]
    TooLong(usize),
    /// It is a pipe that no writer opened in time.
    #[error("is a pipe that nobody wrote to in time; write to it whenever it is read, or name a file")]
    NoWriter,
    /// It is a pipe that its writer did not close in time.
    #[error("is a pipe that its writer did not close in time; close it after writing, or name a file")]
    Unfinished,
    /// The file system did not answer in time, now or when the file was last read.
    #[error("was not read in time; check whether its file system responds")]
    Timeout,
    /// Any other error of the operating system.
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

/// A path for messages, with control characters escaped.
#[must_use]
pub fn escaped(path: &Path) -> String {
    let letters =
        |letter: char| if letter.is_control() { letter.escape_default().collect() } else { String::from(letter) };
    path.to_string_lossy().chars().map(letters).collect()
}

/// Reads a file of at most `limit` bytes.
///
/// A pipe is read until its writer closes it.
///
/// # Errors
/// See [`FileError`]. The message does not name the path, which the caller adds.
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

/// Reads a file like [`read`], for callers that are not asynchronous.
///
/// # Errors
/// As of [`read`].
pub fn read_blocking(path: &Path, limit: usize, timeout: Duration) -> Result<Vec<u8>, FileError> {
    wait(async { read(path, limit, Instant::now() + timeout).await }).and_then(|read| read)
}

/// The files that users other than the owner and group can access. Files whose mode cannot be read in time are left out, and
/// so are files on read-only mounts, such as Kubernetes secrets: their mode cannot be changed, and only processes with that
/// mount can see them.
#[must_use]
pub fn world_accessible<'a>(paths: &[&'a Path], timeout: Duration) -> Vec<&'a Path> {
    let accessible = wait(async {
        let (mut accessible, deadline) = (Vec::new(), Instant::now() + timeout);
        for path in paths {
            if is_world_accessible(path, deadline).await.unwrap_or(false) {
                accessible.push(*path);
            }
        }
        accessible
    });
    accessible.unwrap_or_default()
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

/// Runs a future on a new thread, because a thread of a runtime cannot run another runtime.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, FileError> {
    let drive = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let done = runtime.block_on(future);
        // Does not wait for blocking threads, which may hang.
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
/// Notified when a path is released.
static RELEASED: Notify = Notify::const_new();
/// One permit for each reading thread.
static THREAD_SLOTS: Semaphore = Semaphore::const_new(MAX_THREADS);

fn reading() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // Each change is a single call, so a panic cannot leave the set inconsistent.
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exclusive right to read one path.
struct PathLock(PathBuf);

impl PathLock {
    async fn wait(path: &Path, deadline: Instant) -> Result<Self, FileError> {
        let mut released = std::pin::pin!(RELEASED.notified());
        loop {
            // Before the path is checked, so that a release in between is not missed.
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

/// Runs a job on a blocking thread. A job that exceeds the deadline keeps its thread and its lock until it returns.
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
        // The job panicked, which the panic hook reports, or the runtime shuts down.
        Ok(Err(_)) => Err(FileError::Other(io::ErrorKind::Interrupted)),
        Err(_) => Err(FileError::Timeout),
    }
}

/// An opened file.
enum OpenedFile {
    /// The content of a regular file.
    Content(Vec<u8>),
    /// A pipe that has not been read.
    Pipe(File),
}

fn open(path: &Path, limit: usize) -> Result<OpenedFile, FileError> {
    // Before opening it, because opening a device may have side effects.
    check_kind(std::fs::metadata(path)?.file_type())?;
    // NONBLOCK for pipes without a writer; NOCTTY so that a terminal does not become the controlling terminal.
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

/// Reads a non-blocking pipe to its end.
async fn read_pipe(mut pipe: &File, limit: usize, deadline: Instant) -> Result<Vec<u8>, FileError> {
    let (mut content, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    let mut has_writer = false;
    loop {
        match pipe.read(&mut buffer) {
            // A pipe without a writer also reports its end.
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
        let now = Instant::now();
        if now >= deadline {
            return Err(if has_writer { FileError::Unfinished } else { FileError::NoWriter });
        }
        sleep_until(deadline.min(now + POLL_INTERVAL)).await;
    }
}

#[cfg(test)]
mod tests;
