//! Detects a database file that is shorter than its header says.
//!
//! SQLite reports a page that lies wholly beyond the end of the file, when it needs the page. A page that is cut in the
//! middle is read with zeros in place of its end, where the cells are: a table then seems to have no rows, or other rows.
//! So each reading compares the number of pages with the length of the file, in the transaction of its rows. `PRAGMA
//! quick_check` would find more, but reads the whole file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::FileId;
use super::failure::{Failure, cut_short};

/// The maximum number of frames of a write-ahead log that are read, of some 4 KiB each. SQLite restarts a log after 1,000
/// frames. A longer log is assumed to have the pages that the file lacks.
const MAX_FRAMES: u64 = 16_384;

/// Refuses a file that was cut short. `connection` is in a transaction, so that the number of pages and, without a
/// write-ahead log, the length of the file cannot change. A file that replaced `opened` is not checked.
pub(super) fn check(connection: &Connection, path: &Path, opened: FileId) -> Result<(), Failure> {
    let number = |sql: &str| connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, u32>(0)).map(u64::from);
    let (pages, page_size) = (number("PRAGMA page_count")?, number("PRAGMA page_size")?.max(1));
    let Some(file) = fs::metadata(path).ok().filter(|file| FileId::of(file) == opened) else { return Ok(()) };
    let whole = file.len() / page_size;
    if whole >= pages {
        return Ok(());
    }
    let mode: String = connection.prepare_cached("PRAGMA journal_mode")?.query_row([], |row| row.get(0))?;
    if mode == "wal" {
        // The pages that the file lacks are in its write-ahead log.
        let logged = logged_pages(&log_of(path), page_size, whole + 1..=pages);
        if logged.is_none_or(|logged| logged == pages - whole) {
            return Ok(());
        }
    }
    Err(cut_short().into())
}

/// The maximum length of a file that SQLite takes for an empty database. SQLite would remove its write-ahead log as stale, so
/// such a file with a log is not opened.
pub(super) const MAX_EMPTY_LENGTH: u64 = 1;

pub(super) fn has_log(path: &Path) -> bool {
    log_of(path).exists()
}

/// The path of the write-ahead log, which is beside the target of a link.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    log.push("-wal");
    log.into()
}

/// The number of these pages that a write-ahead log has; `None` if the log is too long, or cannot be read.
fn logged_pages(path: &Path, page_size: u64, wanted: std::ops::RangeInclusive<u64>) -> Option<u64> {
    const HEADER: u64 = 32;
    const FRAME_HEADER: u64 = 24;
    let log = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(0),
        log => log.ok()?,
    };
    let frames = log.metadata().ok()?.len().saturating_sub(HEADER) / (FRAME_HEADER + page_size);
    match frames {
        // A checkpoint may leave an empty log without a header.
        0 => return Some(0),
        1..=MAX_FRAMES => {}
        _ => return None,
    }
    // Frames with other salts are from before the last restart of the log.
    let mut salts = [0; 8];
    log.read_exact_at(&mut salts, 16).ok()?;
    let mut pages = BTreeSet::new();
    for frame in 0..frames {
        let mut header = [0; 16];
        log.read_exact_at(&mut header, HEADER + frame * (FRAME_HEADER + page_size)).ok()?;
        let [a, b, c, d, _, _, _, _, frame_salts @ ..] = header;
        let page = u64::from(u32::from_be_bytes([a, b, c, d]));
        if frame_salts != salts {
            break;
        }
        if wanted.contains(&page) {
            pages.insert(page);
        }
    }
    Some(pages.len() as u64)
}
