//! URLs of the servers that store leases: `scheme://user@host:port/path`.
//!
//! lease-exporter and lease-protocol read such URLs with [`ServerUrl`], so that one URL names the same server to both. A
//! URL never holds a password: it is read from a file. Which schemes, paths and parameters are valid depends on the
//! store and is left to the caller.
//!
//! ```
//! use store_address::{Host, ServerUrl, UrlError};
//!
//! let url = ServerUrl::parse("postgres://scheduler@db.example/jobs", 5432)?;
//! assert_eq!(url.host, Host::Tcp { name: "db.example".into(), port: 5432 });
//! assert_eq!((url.user.as_deref(), &*url.path), (Some("scheduler"), "jobs"));
//! assert_eq!(ServerUrl::parse("postgres://scheduler:secret@db.example/jobs", 5432), Err(UrlError::Password));
//! # Ok::<(), UrlError>(())
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;

/// The host and port, or the Unix socket, that a server listens on.
#[derive(Clone, PartialEq, Eq)]
pub enum Host {
    /// A host's name or IP address, and the port.
    Tcp {
        /// The name or address. An IPv6 address has no brackets.
        name: Box<str>,
        /// The port.
        port: u16,
    },
    /// A Unix socket; for PostgreSQL the folder that contains it.
    Socket(PathBuf),
}

impl Host {
    /// Whether the server must be on this machine, so that the connection crosses no network.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp { name, .. } => {
                &**name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            }
        }
    }
}

/// Hides the address, which would tell an attacker where to go.
impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp { .. } => "<host>",
            Self::Socket(_) => "<socket>",
        })
    }
}

/// The parts of a server's URL. All but the query are percent-decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// Where the server listens.
    pub host: Host,
    /// The user to log in as; `None` if the URL names none.
    pub user: Option<Box<str>>,
    /// Everything after the host, without the first slash; empty if there is nothing.
    pub path: Box<str>,
    /// The text after `?`, as written.
    pub query: Option<Box<str>>,
}

/// A URL that names no server. No message repeats any part of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The URL has a fragment, which no store uses.
    Fragment,
    /// The host is missing.
    NoHost,
    /// A percent-encoded part is not UTF-8.
    NotUtf8,
    /// The URL contains a password.
    Password,
    /// The host is a Unix socket, and a port follows it.
    SocketPort,
    /// The text is not a URL.
    Syntax,
    /// A part contains a zero byte.
    ZeroByte,
}

impl UrlError {
    /// The message: a sentence about the URL, with what to write instead.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fragment => "it takes no fragment; leave out what begins with `#`",
            Self::NoHost => "it names no host; write it after `//`",
            Self::NotUtf8 => "what it writes as `%..` is not UTF-8",
            Self::Password => "it has a password in it; put the password into a file",
            Self::SocketPort => {
                "a socket has no port; leave it out, and for PostgreSQL name the socket itself, `…%2F.s.PGSQL.5433`"
            }
            Self::Syntax => "it cannot be read; write it as `//user@host:port/name`",
            Self::ZeroByte => "it has a zero byte in it",
        }
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error for UrlError {}

impl ServerUrl {
    /// Parses a URL. A host that begins with a slash, written as `%2F`, is a Unix socket.
    ///
    /// # Errors
    /// [`UrlError`] if the URL is malformed, names no host, or contains a password.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, UrlError> {
        if has_password(text) {
            return Err(UrlError::Password);
        }
        let url = Url::parse(text).map_err(|_| UrlError::Syntax)?;
        if url.fragment().is_some() {
            return Err(UrlError::Fragment);
        }
        let name = decode(url.host_str().unwrap_or_default())?;
        let host = match &*name {
            "" => return Err(UrlError::NoHost),
            socket if socket.starts_with('/') => {
                if url.port().is_some() {
                    return Err(UrlError::SocketPort);
                }
                Host::Socket(socket.into())
            }
            name => {
                // A URL writes an IPv6 address in brackets. The address itself has none.
                let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).into();
                Host::Tcp { name, port: url.port().unwrap_or(default_port) }
            }
        };
        let user = Some(decode(url.username())?).filter(|user| !user.is_empty());
        let path = decode(url.path().strip_prefix('/').unwrap_or_default())?;
        Ok(Self { host, user, path, query: url.query().map(Into::into) })
    }
}

/// Hides the address and the user.
impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<server>")
    }
}

/// Whether a URL, well-formed or not, has a password before its host.
///
/// The text is searched before it is split: a password may contain any character, also `/` and `?`.
#[must_use]
pub fn has_password(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Decodes `%..` in a part of a URL.
///
/// # Errors
/// [`UrlError::NotUtf8`] and [`UrlError::ZeroByte`].
pub fn decode(text: &str) -> Result<Box<str>, UrlError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| UrlError::NotUtf8)?;
    if decoded.contains('\0') { Err(UrlError::ZeroByte) } else { Ok(decoded.as_ref().into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.into(), port }
    }

    #[test]
    fn a_url_is_split_into_decoded_parts() {
        for (text, host, user, path, query) in [
            ("postgres://db.example/app", tcp("db.example", 5432), None, "app", None),
            ("postgres://me@[::1]:5433/app", tcp("::1", 5433), Some("me"), "app", None),
            ("postgres://me%40x@%2Frun%2Fpg/a%20b", Host::Socket("/run/pg".into()), Some("me@x"), "a b", None),
            ("postgres://@db", tcp("db", 5432), None, "", None),
            ("postgres://db/a/b?x=%41", tcp("db", 5432), None, "a/b", Some("x=%41")),
        ] {
            let url = ServerUrl::parse(text, 5432).unwrap();
            assert!(url.host == host, "{text}");
            assert_eq!((url.user.as_deref(), &*url.path, url.query.as_deref()), (user, path, query), "{text}");
        }
    }

    #[test]
    fn a_url_that_names_no_server_is_refused_with_the_reason() {
        for (text, error) in [
            ("planted", UrlError::Syntax),
            ("postgres://planted:x/b", UrlError::Syntax),
            ("postgres://[::1/planted", UrlError::Syntax),
            ("postgres://[::1]5432/planted", UrlError::Syntax),
            ("postgres:", UrlError::NoHost),
            ("postgres://", UrlError::NoHost),
            ("postgres:///planted", UrlError::NoHost),
            ("postgres://h/planted#x", UrlError::Fragment),
            ("postgres://%2Fplanted:1/b", UrlError::SocketPort),
            ("postgres://planted/%ff", UrlError::NotUtf8),
            ("postgres://planted/%00", UrlError::ZeroByte),
            ("postgres://me:planted@h/b", UrlError::Password),
            ("postgres://:planted@h", UrlError::Password),
            ("redis://me:a@b/c@host", UrlError::Password),
            ("postgres://u:planted?@h/db", UrlError::Password),
            ("u:planted@h/db", UrlError::Password),
        ] {
            assert_eq!(ServerUrl::parse(text, 5432), Err(error), "{text}");
            assert!(!error.to_string().contains("planted"));
        }
    }

    #[test]
    fn a_loopback_address_and_a_socket_are_local() {
        for local in ["localhost", "127.0.0.1", "127.9.9.9", "::1"] {
            assert!(tcp(local, 1).is_local(), "{local}");
        }
        assert!(Host::Socket("/run".into()).is_local());
        for remote in ["10.0.0.1", "localhost.example", "db", "::", "127.0.0.1.example"] {
            assert!(!tcp(remote, 1).is_local(), "{remote}");
        }
    }

    #[test]
    fn debug_output_hides_the_address() {
        let url = ServerUrl::parse("redis://planted@planted/planted?planted", 1).unwrap();
        assert_eq!(format!("{url:?} {:?}", url.host), "<server> <host>");
    }
}
