//! Whether the database file is as long as its own header says.
//!
//! SQLite takes a page that the file ends before, or within, for one of zeros. It refuses one that lies wholly beyond the
//! end when it comes upon it, but a page of which the beginning is there is read as it is: the cells, which stand at its
//! end, are gone, and a table reads as if it had no rows, or other ones.
//!
//! A reading asks for the number of pages, which SQLite has at hand, and for the file's length, within the transaction
//! that the rows are of. `PRAGMA quick_check` would find more, but reads the whole file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::FileId;
use super::failure::{Failure, cut_short};

/// How many frames of a write-ahead log are looked at, of some 4 KiB each. SQLite itself begins a log anew after 1,000; in
/// a longer one, pages that the file lacks are taken to be there.
const MOST_FRAMES: u64 = 16_384;

/// Refuses a file that was cut short. `connection` is within a transaction, so that the number of pages and, but for a
/// write-ahead log, the file's length stay as they are. It was opened on `opened`; a file that has taken its place since
/// tells nothing of it.
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
        // The pages that the file does not have yet are in its write-ahead log.
        let logged = logged_pages(&log_of(path), page_size, whole + 1..=pages);
        if logged.is_none_or(|logged| logged == pages - whole) {
            return Ok(());
        }
    }
    Err(cut_short().into())
}

/// The length of a file that SQLite takes for an empty database. It would remove a write-ahead log beside it as a stale one,
/// so with a log such a file is not opened.
pub(super) const EMPTY: u64 = 1;

/// Whether there is a write-ahead log beside a file.
pub(super) fn has_log(path: &Path) -> bool {
    log_of(path).exists()
}

/// The write-ahead log, which is beside the file itself, wherever a link to that may be.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    log.push("-wal");
    log.into()
}

/// How many of these pages a write-ahead log has; `None` if it is too long to look at, or cannot be read.
fn logged_pages(path: &Path, page_size: u64, wanted: std::ops::RangeInclusive<u64>) -> Option<u64> {
    const HEADER: u64 = 32;
    const FRAME_HEADER: u64 = 24;
    let log = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(0),
        log => log.ok()?,
    };
    let frames = log.metadata().ok()?.len().saturating_sub(HEADER) / (FRAME_HEADER + page_size);
    match frames {
        // A log that is empty, as the last checkpoint may leave it, has no header either.
        0 => return Some(0),
        1..=MOST_FRAMES => {}
        _ => return None,
    }
    // The salts tell the frames of this log from those that were there before it began anew.
    let mut salts = [0; 8];
    log.read_exact_at(&mut salts, 16).ok()?;
    let mut found = BTreeSet::new();
    for frame in 0..frames {
        let mut header = [0; 16];
        log.read_exact_at(&mut header, HEADER + frame * (FRAME_HEADER + page_size)).ok()?;
        let [a, b, c, d, _, _, _, _, frame_salts @ ..] = header;
        let page = u64::from(u32::from_be_bytes([a, b, c, d]));
        if frame_salts != salts {
            break;
        }
        if wanted.contains(&page) {
            found.insert(page);
        }
    }
    Some(found.len() as u64)
}
