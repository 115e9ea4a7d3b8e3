//! A server: its address, and the credentials of the exporter.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use store_address::Host;
use tokio::time::Instant;

use super::ReadError;
use crate::file::{self, FileError};

/// A server that stores leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server<H = Host> {
    /// Where it is.
    pub host: H,
    /// The user that the exporter reads as; the store's own default if none is given.
    pub user: Option<Box<str>>,
    /// The user's password.
    pub password: Option<PasswordFile>,
    /// Whether and how the connection is protected.
    pub tls: Tls,
}

/// Whether and how a connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// No TLS.
    Off,
    /// TLS. The server's certificate must be valid for the host.
    Verify {
        /// Certificate authorities that are trusted beside those of the system.
        ca_file: Option<PathBuf>,
        /// The client certificate of the exporter.
        identity: Option<Identity>,
    },
}

impl Tls {
    /// TLS without files.
    pub const VERIFY: Self = Self::Verify { ca_file: None, identity: None };
}

impl<H> Server<H> {
    /// The files with secrets, each with the key that names it.
    #[must_use]
    pub fn secret_files(&self) -> Vec<(&'static str, &Path)> {
        let key = match &self.tls {
            Tls::Verify { identity: Some(identity), .. } => Some(("key_file", identity.key_file.as_path())),
            _ => None,
        };
        self.password.iter().map(|file| (PasswordFile::KEY, file.path())).chain(key).collect()
    }

    /// The password, which is read for each connection; `None` if no file is configured.
    #[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
    pub(super) async fn read_password(&self, deadline: Instant) -> Result<Option<Password>, ReadError> {
        match &self.password {
            Some(file) => file.read(deadline).await.map(Some),
            None => Ok(None),
        }
    }
}

/// A client certificate and its key, each in a PEM file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate and its chain.
    pub cert_file: PathBuf,
    /// The key.
    pub key_file: PathBuf,
}

/// A file with a password. It is read for each connection, so that the password can change without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordFile(PathBuf);

/// A password. It is never printed.
#[derive(Clone)]
pub struct Password(Box<str>);

impl PasswordFile {
    const KEY: &str = "password_file";
    /// The longest password, in bytes.
    const LONGEST: usize = 64 * 1024;

    /// The file at a path. It is not read yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The password: all of the file but one newline at its end.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when the file cannot be read before the deadline or holds none.
    pub async fn read(&self, deadline: Instant) -> Result<Password, ReadError> {
        let refused = |what: &str| file_error(Self::KEY, &self.0, what);
        let content = read_named_file(Self::KEY, &self.0, Self::LONGEST, deadline).await?;
        let text = String::from_utf8(content).map_err(|_| refused("is not UTF-8; save it as such"))?;
        let password = text.strip_suffix('\n').unwrap_or(&text);
        let password = password.strip_suffix('\r').unwrap_or(password);
        match password {
            "" => Err(refused("is empty; write the password into it")),
            _ if password.contains(['\n', '\r', '\0']) => {
                Err(refused("has more than one line, or a zero byte; leave only the password in it"))
            }
            password => Ok(Password(password.into())),
        }
    }
}

/// Files must be read this long before the deadline of a reading, so that the error can name the file that hangs.
const MARGIN: Duration = Duration::from_millis(100);

/// Reads the file that `key` of the configuration names.
///
/// # Errors
/// [`ReadError::Refused`] when it cannot be read before the deadline of the reading.
pub(super) async fn read_named_file(
    key: &'static str,
    path: &Path,
    limit: usize,
    deadline: Instant,
) -> Result<Vec<u8>, ReadError> {
    let left = deadline.saturating_duration_since(Instant::now());
    let deadline = deadline.checked_sub(MARGIN.min(left / 4)).unwrap_or(deadline);
    let read = file::read(path, limit, deadline).await;
    read.map_err(|error: FileError| file_error(key, path, &error.to_string()))
}

/// The error for the file that `key` of the configuration names.
pub(super) fn file_error(key: &'static str, path: &Path, what: &str) -> ReadError {
    ReadError::Refused(format!("the file that `{key}` names, {}, {what}", file::escaped(path)))
}

impl Password {
    /// The password itself. The result must never be logged.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn password(content: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, content).unwrap();
        let read = PasswordFile::new(path).read(Instant::now() + Duration::from_secs(60)).await;
        read.map(|password| password.reveal().to_owned()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_password_is_the_file_without_the_newline_that_an_editor_leaves() {
        assert_eq!(password(b"a b\n").await.unwrap(), "a b");
        assert_eq!(password(b"a b\r\n").await.unwrap(), "a b");
        for wrong in [&b""[..], b"\n", b"planted\n\n", b"planted\nb", b"planted\0", b"planted\xff", &[b'p'; 70_000]] {
            let error = password(wrong).await.unwrap_err();
            assert!(error.contains("`password_file`") && error.contains("/password, "), "{error}");
            assert!(!error.contains("planted") && !error.contains("pppppppp"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_does_not_come_is_told_by_its_path_before_the_reading_is_over() {
        use rustix::fs::{CWD, FileType, mknodat};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
        for seconds in [0.02, 1.0, 60.0] {
            let deadline = Instant::now() + Duration::from_secs_f64(seconds);
            let error = PasswordFile::new(path.clone()).read(deadline).await.unwrap_err();
            assert!(Instant::now() < deadline, "{seconds}");
            assert_eq!(error.failure().as_str(), "store_refused");
            let told = format!("names, {}, is a pipe that nobody wrote to in time", path.display());
            assert!(error.to_string().contains(&told), "{error}");
        }
    }

    #[test]
    fn neither_a_password_nor_an_address_is_printed() {
        let server =
            Server { host: Host::Tcp { name: "planted".into(), port: 1 }, user: None, password: None, tls: Tls::Off };
        assert!(!format!("{server:?} {:?}", Password("planted".into())).contains("planted"));
    }
}
