//! Files that a configuration is read from.

use std::io::Read as _;
use std::path::Path;

use crate::lease::TokenKey;

use super::problem::FileFault;

/// The longest configuration: some 40,000 entries.
const LONGEST_CONFIG: u64 = 4 * 1024 * 1024;
const LONGEST_KEY: u64 = 4 * 1024;
/// As many bits as a token shows twice over; less can be guessed.
const SHORTEST_KEY: usize = 16;

/// The text of a configuration file.
pub(super) fn text(path: &Path) -> Result<String, FileFault> {
    String::from_utf8(bytes(path, LONGEST_CONFIG)?).map_err(|_| FileFault::NotText)
}

/// The key in a file, without the newline that an editor leaves at its end.
pub(super) fn token_key(path: &Path) -> Result<TokenKey, FileFault> {
    let bytes = bytes(path, LONGEST_KEY)?;
    let key = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let key = key.strip_suffix(b"\r").unwrap_or(key);
    if key.len() < SHORTEST_KEY {
        return Err(FileFault::TooShort);
    }
    Ok(TokenKey::new(key))
}

/// A whole file, unless it goes on and on, as a device does.
fn bytes(path: &Path, longest: u64) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path)?.take(longest + 1).read_to_end(&mut bytes)?;
    if read as u64 > longest { Err(FileFault::TooLong) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(content: &[u8]) -> Result<String, FileFault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, content).unwrap();
        token_key(&path).map(|key| key.token("holder").to_string())
    }

    #[test]
    fn one_newline_at_the_end_of_a_key_does_not_count() {
        let plain = key(b"sixteen bytes ok").unwrap();
        assert_eq!(key(b"sixteen bytes ok\n").unwrap(), plain);
        assert_eq!(key(b"sixteen bytes ok\r\n").unwrap(), plain);
        assert_ne!(key(b"sixteen bytes ok\n\n").unwrap(), plain);
    }

    #[test]
    fn a_key_too_short_too_long_or_absent_is_refused() {
        assert_eq!(key(b"fifteen bytes..\n"), Err(FileFault::TooShort));
        assert_eq!(key(b""), Err(FileFault::TooShort));
        assert_eq!(key(&[b'k'; 5000]), Err(FileFault::TooLong));
        assert_eq!(token_key(Path::new("/nowhere/key")).err(), Some(FileFault::Absent));
        assert_eq!(token_key(Path::new("/")).err(), Some(FileFault::Unreadable));
    }
}
