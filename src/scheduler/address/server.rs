//! A server, who asks it, and how.

use std::fmt;
#[cfg(any(feature = "postgres", feature = "redis"))]
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

#[cfg(any(feature = "postgres", feature = "redis"))]
use super::super::protocol::ProtocolError;

/// A server, who asks, and for which database.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) database: Option<String>,
    pub(super) transport: Transport,
    pub(super) password_file: Option<PathBuf>,
}

/// How what is said reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// As it is.
    Plain,
    /// Over TLS, to a server that proves its name by a certificate that the system trusts.
    Tls,
}

impl ServerAddress {
    /// The host's name or address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who asks, if the URL says.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Which database, if the URL says.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// How to speak to it.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The file that holds the password.
    #[must_use]
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// The password as its file has it now, without the end of the line.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(in crate::scheduler) fn password(&self) -> Result<Option<String>, ProtocolError> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = text(path).map_err(|_| ProtocolError::PasswordFile)?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// The same user and database by another way, on which nothing is encrypted.
    #[must_use]
    pub fn at(&self, place: SocketAddr) -> Self {
        Self { host: place.ip().to_string(), port: place.port(), transport: Transport::Plain, ..self.clone() }
    }

    /// The address as a URL, to be written where no secret is seen by more than may read it.
    #[must_use]
    pub fn url(&self, scheme: &str) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let database = self.database.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        format!("{scheme}://{user}{host}:{}{database}", self.port)
    }

    pub(super) fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// The text of a regular file or a pipe. A device may have no end.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn text(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    use std::os::unix::fs::FileTypeExt as _;

    const LONGEST: u64 = 64 * 1024;
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    let length = std::fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<server>")
    }
}
