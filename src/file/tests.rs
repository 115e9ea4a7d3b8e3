use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;

use rustix::fs::{CWD, FileType as Kind, mknodat};
use tempfile::TempDir;

use super::*;

const LONG: Duration = Duration::from_secs(60);

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn put(folder: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn pipe(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    mknodat(CWD, &path, Kind::Fifo, 0o600.into(), 0).unwrap();
    path
}

async fn read_for(path: &Path, limit: usize, patience: Duration) -> Result<Vec<u8>, FileError> {
    read(path, limit, Instant::now() + patience).await
}

#[tokio::test]
async fn a_file_is_read_whole_up_to_the_limit_and_not_beyond() {
    let folder = folder();
    for length in [0, 1, MAX_SIZE - 1, MAX_SIZE] {
        let path = put(&folder, "file", &vec![b'x'; length]);
        assert_eq!(read_for(&path, MAX_SIZE, LONG).await.map(|content| content.len()), Ok(length));
    }
    let path = put(&folder, "file", &vec![b'x'; MAX_SIZE + 1]);
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await, Err(FileError::TooLong(MAX_SIZE)));
}

#[tokio::test]
async fn a_path_that_is_neither_a_file_nor_a_pipe_is_refused_by_its_kind() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, kind) in [
        (folder.path(), "a directory"),
        (Path::new("/dev/zero"), "a device"),
        (Path::new("/dev/null"), "a device"),
        (&socket, "a socket"),
    ] {
        assert_eq!(read_for(path, MAX_SIZE, LONG).await, Err(FileError::Kind(kind)), "{}", path.display());
    }
}

#[tokio::test]
async fn a_link_is_read_as_what_it_leads_to_and_a_file_that_is_put_back_is_read_again() {
    let folder = folder();
    let (file, link) = (put(&folder, "file", b"one"), folder.path().join("link"));
    symlink(&file, &link).unwrap();
    assert_eq!(read_for(&link, MAX_SIZE, LONG).await.as_deref(), Ok(&b"one"[..]));
    fs::remove_file(&file).unwrap();
    assert_eq!(read_for(&link, MAX_SIZE, LONG).await, Err(FileError::Absent));
    put(&folder, "file", b"two");
    assert_eq!(read_for(&link, MAX_SIZE, LONG).await.as_deref(), Ok(&b"two"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_pipe_that_nobody_writes_to_is_waited_for_until_the_deadline() {
    let folder = folder();
    let path = pipe(&folder, "pipe");
    let began = Instant::now();
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await, Err(FileError::NoWriter));
    assert!((LONG..LONG + 2 * POLL_INTERVAL).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_pipe_is_read_until_its_writer_closes_it() {
    let folder = folder();
    let path = pipe(&folder, "pipe");
    let content = vec![b'x'; 300_000];
    let (to, written) = (path.clone(), content.clone());
    let writer = thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(to).unwrap();
        written.chunks(100_000).for_each(|part| pipe.write_all(part).unwrap());
    });
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await, Ok(content));
    writer.join().unwrap();
}

#[tokio::test]
async fn a_pipe_without_an_end_is_given_up_at_the_limit_or_the_deadline() {
    let folder = folder();
    let path = pipe(&folder, "pipe");
    // Opened for reading and writing, so the pipe has a writer while this file is open.
    let mut pipe = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    pipe.write_all(b"begun").unwrap();
    assert_eq!(read_for(&path, MAX_SIZE, Duration::from_millis(100)).await, Err(FileError::Unfinished));
    pipe.write_all(b"too long").unwrap();
    assert_eq!(read_for(&path, 5, LONG).await, Err(FileError::TooLong(5)));
}

#[tokio::test]
async fn an_inherited_pipe_is_read_by_its_path() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"secret").unwrap();
    drop(writer);
    let path = PathBuf::from(format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader)));
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await.as_deref(), Ok(&b"secret"[..]));
}

#[tokio::test(start_paused = true)]
async fn one_path_is_read_by_one_reader_at_a_time() {
    let folder = folder();
    let (path, other) = (pipe(&folder, "pipe"), put(&folder, "other", b"other"));
    let long = async {
        assert_eq!(read_for(&path, MAX_SIZE, 2 * LONG).await, Err(FileError::NoWriter));
    };
    let short = async {
        tokio::task::yield_now().await;
        let began = Instant::now();
        assert_eq!(read_for(&path, MAX_SIZE, LONG).await, Err(FileError::Timeout), "it is being read");
        assert!(began.elapsed() >= LONG);
        assert_eq!(read_for(&other, MAX_SIZE, LONG).await.as_deref(), Ok(&b"other"[..]), "another is not");
    };
    tokio::join!(long, short);
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await, Err(FileError::NoWriter), "it is released");
}

#[tokio::test]
async fn a_reader_that_is_given_up_releases_the_path() {
    let folder = folder();
    let path = pipe(&folder, "pipe");
    let given_up = tokio::time::timeout(Duration::from_millis(50), read_for(&path, MAX_SIZE, LONG)).await;
    assert!(given_up.is_err());
    assert_eq!(read_for(&path, MAX_SIZE, Duration::from_millis(50)).await, Err(FileError::NoWriter));
}

#[tokio::test]
async fn a_file_system_that_hangs_keeps_one_thread_a_path_busy_whatever_the_number_of_attempts() {
    let folder = folder();
    let (path, other) = (put(&folder, "file", b"file"), put(&folder, "other", b"other"));
    let short = Duration::from_millis(50);
    let (go, wait) = mpsc::channel::<()>();
    let lock = PathLock::wait(&path, Instant::now() + LONG).await.unwrap();
    let hung = on_thread(Instant::now() + short, move || {
        let _ = wait.recv();
        lock
    });
    assert_eq!(hung.await.err(), Some(FileError::Timeout));
    let began = Instant::now();
    for _ in 0..2 * MAX_THREADS {
        assert_eq!(read_for(&path, MAX_SIZE, Duration::from_millis(5)).await, Err(FileError::Timeout));
    }
    assert!(began.elapsed() < LONG);
    assert_eq!(read_for(&other, MAX_SIZE, LONG).await.as_deref(), Ok(&b"other"[..]), "there are threads for others");
    go.send(()).unwrap();
    assert_eq!(read_for(&path, MAX_SIZE, LONG).await.as_deref(), Ok(&b"file"[..]), "it answers again");
}

#[tokio::test]
async fn a_file_is_read_from_a_thread_of_a_runtime_too_where_nothing_can_be_awaited() {
    let folder = folder();
    let path = put(&folder, "file", b"file");
    assert_eq!(read_blocking(&path, MAX_SIZE, LONG).as_deref(), Ok(&b"file"[..]));
    let blocking = tokio::task::spawn_blocking(move || read_blocking(&path, MAX_SIZE, LONG));
    assert_eq!(blocking.await.unwrap().as_deref(), Ok(&b"file"[..]));
}

#[test]
fn a_file_is_open_to_others_if_more_than_its_owner_and_group_have_rights_to_it() {
    let folder = folder();
    let path = put(&folder, "key", b"key");
    for (mode, open) in [(0o600, false), (0o640, false), (0o660, false), (0o644, true), (0o602, true), (0o601, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(world_accessible(&[&path], LONG), vec![path.as_path(); usize::from(open)], "{mode:o}");
    }
    assert!(world_accessible(&[Path::new("/nowhere"), Path::new("/dev/zero"), folder.path()], LONG).is_empty());
}

#[test]
fn a_path_is_shown_on_one_line() {
    assert_eq!(escaped(Path::new("/a b/é\n\u{1b}[2J")), "/a b/é\\n\\u{1b}[2J");
}
