//! The address of a database on a server.

use std::fmt;
#[cfg(any(feature = "postgres", feature = "redis"))]
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use store_address::{Host, ServerUrl};

use super::InvalidAddress;
#[cfg(any(feature = "postgres", feature = "redis"))]
use crate::ProtocolError;

/// The characters of a name that a URL cannot contain as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A database on a server, and how to log in.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    host: Box<str>,
    port: u16,
    user: Option<Box<str>>,
    database: Option<Box<str>>,
    transport: Transport,
    password_file: Option<PathBuf>,
}

/// How a connection to a server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Not at all.
    Plain,
    /// By TLS. The server's certificate must be valid for its name and trusted by the system.
    Tls,
}

impl ServerAddress {
    /// The address that a URL names. Unix sockets are not supported.
    pub(super) fn new(
        url: ServerUrl,
        transport: Transport,
        password_file: Option<PathBuf>,
    ) -> Result<Self, InvalidAddress> {
        let Host::Tcp { name: host, port } = url.host else { return Err(InvalidAddress::Form) };
        if url.path.contains('/') {
            return Err(InvalidAddress::Form);
        }
        let database = Some(url.path).filter(|name| !name.is_empty());
        Ok(Self { host, port, user: url.user, database, transport, password_file })
    }

    /// The name or IP address of the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The user; `None` if the URL names none.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The name or number of the database; `None` if the URL names none.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// How connections are protected.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The file that contains the password.
    #[must_use]
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// The present content of the password file, without the line break at its end.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn password(&self) -> Result<Option<String>, ProtocolError> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = read_file(path).map_err(|_| ProtocolError::PasswordFile)?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// The same user and database, reached without TLS through a proxy at this address.
    #[must_use]
    pub fn through_proxy(&self, proxy: SocketAddr) -> Self {
        Self { host: proxy.ip().to_string().into(), port: proxy.port(), transport: Transport::Plain, ..self.clone() }
    }

    /// The address as a URL. It contains no password, but should be shown only to those who may know the address.
    #[must_use]
    pub fn url(&self, scheme: &str) -> String {
        let encode = |text| utf8_percent_encode(text, ENCODED);
        let user = self.user().map(|user| format!("{}@", encode(user))).unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_string() };
        let database = self.database().map(|name| format!("/{}", encode(name))).unwrap_or_default();
        format!("{scheme}://{user}{host}:{}{database}", self.port)
    }
}

/// The text of a regular file or a pipe. Other kinds of file, such as devices, may have no end.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn read_file(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    use std::os::unix::fs::FileTypeExt as _;

    const MAX_LENGTH: u64 = 64 * 1024;
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    let length = std::fs::File::open(path)?.take(MAX_LENGTH + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_LENGTH { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<server>")
    }
}
