//! Where a server is and how the exporter proves who it is.

use std::fmt;
use std::path::PathBuf;

use super::ReadError;

/// A server that stores leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it listens.
    pub host: Host,
    /// The user that the exporter reads as; the store's own default if none is given.
    pub user: Option<Box<str>>,
    /// The user's password.
    pub password: Option<PasswordFile>,
    /// Whether and how the connection is protected.
    pub tls: Tls,
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq)]
pub enum Host {
    /// A host's name or address, and the port.
    Tcp {
        /// The name or address.
        name: Box<str>,
        /// The port.
        port: u16,
    },
    /// A Unix socket; for PostgreSQL the folder that it is in.
    Socket(PathBuf),
}

impl Host {
    /// Whether only this machine can be at the other end, so that nobody can listen in between.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp { name, .. } => {
                &**name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
            }
        }
    }
}

/// An address tells an attacker where to go, so it is left out.
impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp { .. } => "<host>",
            Self::Socket(_) => "<socket>",
        })
    }
}

/// Whether and how a connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// It is not.
    Off,
    /// By TLS; the server's certificate must be valid, and for this host.
    Verify {
        /// Who may have signed the server's certificate, beside those whom the system trusts.
        ca_file: Option<PathBuf>,
        /// What the exporter shows of itself.
        identity: Option<Identity>,
    },
}

/// A client certificate and its key, each in a PEM file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, with those that it depends on.
    pub cert_file: PathBuf,
    /// The key.
    pub key_file: PathBuf,
}

/// A file with a password in it, read anew for each connection: so a password can change without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordFile(PathBuf);

/// A password. It is never printed.
#[derive(Clone)]
pub struct Password(Box<str>);

impl PasswordFile {
    /// No password is longer.
    const LONGEST: u64 = 64 * 1024;

    /// The file at a path. It is not read yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The password: all of the file but one newline at its end.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when the file cannot be read or holds none.
    pub fn read(&self) -> Result<Password, ReadError> {
        use std::io::Read as _;
        let refused = |what: &str| ReadError::Refused(format!("the file that `password_file` names {what}"));
        let mut text = String::new();
        let file = std::fs::File::open(&self.0).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => refused("is not there"),
            std::io::ErrorKind::PermissionDenied => refused("may not be read by the exporter's user"),
            kind => refused(&format!("cannot be opened: {kind}")),
        })?;
        file.take(Self::LONGEST).read_to_string(&mut text).map_err(|_| refused("cannot be read as text"))?;
        let password = text.strip_suffix('\n').unwrap_or(&text);
        let password = password.strip_suffix('\r').unwrap_or(password);
        match password {
            "" => Err(refused("is empty")),
            _ if password.contains(['\n', '\r', '\0']) => Err(refused("has more than one line, or a zero byte")),
            password => Ok(Password(password.into())),
        }
    }
}

impl Password {
    /// The password itself, for the store's client alone.
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

    fn password(content: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("planted");
        std::fs::write(&path, content).unwrap();
        let read = PasswordFile::new(path).read();
        read.map(|password| password.reveal().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_password_is_the_file_without_the_newline_that_an_editor_leaves() {
        assert_eq!(password(b"a b\n").unwrap(), "a b");
        assert_eq!(password(b"a b\r\n").unwrap(), "a b");
        for wrong in [&b""[..], b"\n", b"a\n\n", b"a\nb", b"a\0", b"\xff"] {
            let error = password(wrong).unwrap_err();
            assert!(error.contains("`password_file`") && !error.contains("planted"), "{error}");
        }
    }

    #[test]
    fn neither_a_password_nor_an_address_is_printed() {
        let server =
            Server { host: Host::Tcp { name: "planted".into(), port: 1 }, user: None, password: None, tls: Tls::Off };
        assert!(!format!("{server:?} {:?}", Password("planted".into())).contains("planted"));
    }

    #[test]
    fn what_can_only_be_this_machine_is_local() {
        let tcp = |name: &str| Host::Tcp { name: name.into(), port: 1 };
        for local in [tcp("localhost"), tcp("127.0.0.1"), tcp("127.9.9.9"), tcp("::1"), Host::Socket("/run".into())] {
            assert!(local.is_local());
        }
        for remote in ["10.0.0.1", "localhost.example", "db", "::", "127.0.0.1.example"] {
            assert!(!tcp(remote).is_local(), "{remote}");
        }
    }
}
