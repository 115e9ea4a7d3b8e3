//! The address of a server, as a URL.

use percent_encoding::percent_decode_str;
use url::Url;

use super::Host;
use super::section::StoreProblem;

/// The parts of a server's address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) host: Host,
    /// The user to read as.
    pub(super) user: Option<Box<str>>,
    /// What follows the host, without the first slash.
    pub(super) path: Box<str>,
}

impl ServerAddress {
    /// Parses the address of a store of this kind.
    pub(super) fn parse(text: &str, kind: &str, default_port: u16) -> Result<Self, StoreProblem> {
        Self::parts(text, default_port).map_err(|fault| not_an_address(kind, fault))
    }

    /// Parses the address of a database of a server. Its path is the database.
    pub(super) fn database(text: &str, kind: &str, default_port: u16) -> Result<Self, StoreProblem> {
        let address = Self::parse(text, kind, default_port)?;
        match &*address.path {
            "" => Err("it names no database; write it after the host, as in `//host/database`"),
            path if path.contains('/') => Err("after the host it has more than the database's name"),
            _ => Ok(address),
        }
        .map_err(|fault| not_an_address(kind, fault))
    }

    fn parts(text: &str, default_port: u16) -> Result<Self, &'static str> {
        let url = Url::parse(text).map_err(|_| "it cannot be read; write it as `//user@host:port/name`")?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(
                "it takes no parameters; leave out what begins with `?` or `#`, and see `tls`, `schema` and the like",
            );
        }
        let name = decoded(url.host_str().unwrap_or_default())?;
        let host = match &*name {
            "" => return Err("it names no host; write it after `//`"),
            socket if socket.starts_with('/') => {
                if url.port().is_some() {
                    return Err(
                        "a socket has no port; leave it out, and for PostgreSQL name the socket itself, `…%2F.s.PGSQL.5433`",
                    );
                }
                Host::Socket(socket.into())
            }
            // A URL has an IPv6 address in brackets, and connecting takes it without.
            name => {
                let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).into();
                Host::Tcp { name, port: url.port().unwrap_or(default_port) }
            }
        };
        let user = Some(decoded(url.username())?).filter(|user| !user.is_empty());
        let path = decoded(url.path().strip_prefix('/').unwrap_or_default())?;
        Ok(Self { host, user, path })
    }
}

/// Says what is wrong with an address, without the address.
pub(super) fn not_an_address(kind: &str, fault: &str) -> StoreProblem {
    format!("the store's address is not one of {kind}: {fault}").into()
}

/// A percent-encoded part of an address.
pub(super) fn decoded(text: &str) -> Result<Box<str>, &'static str> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| "what it writes as `%..` is not UTF-8")?;
    if decoded.contains('\0') { Err("it has a zero byte in it") } else { Ok(decoded.as_ref().into()) }
}

/// Whether a user's name and a password are before an `@`.
pub(super) fn names_user(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Whether an address, well-formed or not, looks as if a password were in it.
pub(super) fn has_secret(text: &str) -> bool {
    const NAMES: [&str; 7] = ["pass", "pwd", "secret", "token", "key=", "auth=", "credential"];
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let parameters = match rest.split_once(['?', '#']) {
        Some((_, parameters)) => parameters,
        // Without a scheme it may be a list of parameters, as libpq takes it.
        None if scheme.is_empty() && rest.contains('=') => rest,
        None => "",
    };
    let parameters = parameters.to_ascii_lowercase();
    names_user(rest) || NAMES.iter().any(|name| parameters.contains(name))
}
