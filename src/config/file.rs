//! Files that a configuration is read from.

use std::path::Path;

use crate::file::{MAX_SIZE, TIMEOUT, read_blocking};
use crate::lease::TokenKey;

use crate::diagnostic::FileFault;

const LONGEST_KEY: usize = 4 * 1024;
/// A token shows half as many bits. A shorter key could be guessed.
const SHORTEST_KEY: usize = 16;

pub(super) fn text(path: &Path) -> Result<String, FileFault> {
    String::from_utf8(read_blocking(path, MAX_SIZE, TIMEOUT)?).map_err(|_| FileFault::NotText)
}

/// The key in a file, without the newline that an editor leaves at its end.
pub(super) fn token_key(path: &Path) -> Result<TokenKey, FileFault> {
    let bytes = read_blocking(path, LONGEST_KEY, TIMEOUT)?;
    let key = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let key = key.strip_suffix(b"\r").unwrap_or(key);
    if key.len() < SHORTEST_KEY {
        return Err(FileFault::TooShort);
    }
    Ok(TokenKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::FileError;

    fn key(content: &[u8]) -> Result<String, FileFault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, content).unwrap();
        token_key(&path).map(|key| key.token("holder").to_string())
    }

    #[test]
    fn a_newline_at_the_end_of_a_token_key_is_ignored() {
        let plain = key(b"sixteen bytes ok").unwrap();
        assert_eq!(key(b"sixteen bytes ok\n").unwrap(), plain);
        assert_eq!(key(b"sixteen bytes ok\r\n").unwrap(), plain);
        assert_ne!(key(b"sixteen bytes ok\n\n").unwrap(), plain);
    }

    #[test]
    fn a_key_too_short_too_long_absent_or_no_file_is_refused() {
        assert_eq!(key(b"fifteen bytes..\n"), Err(FileFault::TooShort));
        assert_eq!(key(b""), Err(FileFault::TooShort));
        assert_eq!(key(&[b'k'; 5000]), Err(FileError::TooLong(4096).into()));
        for (path, fault) in [
            ("/nowhere/key", FileError::Absent),
            ("/", FileError::Kind("a directory")),
            ("/dev/zero", FileError::Kind("a device")),
        ] {
            assert_eq!(token_key(Path::new(path)).err(), Some(fault.into()), "{path}");
        }
    }

    #[test]
    fn a_configuration_is_a_file_of_at_most_a_mebibyte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exporter.yml");
        std::fs::write(&path, vec![b'#'; MAX_SIZE]).unwrap();
        assert_eq!(text(&path).map(|text| text.len()), Ok(MAX_SIZE));
        std::fs::write(&path, vec![b'#'; MAX_SIZE + 1]).unwrap();
        assert_eq!(text(&path), Err(FileError::TooLong(MAX_SIZE).into()));
        assert_eq!(text(Path::new("/dev/zero")), Err(FileError::Kind("a device").into()));
    }
}
