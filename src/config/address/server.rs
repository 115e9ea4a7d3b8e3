//! The address of a server.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::Url;

use super::Address;
use crate::config::problem::Problem;
use crate::preset::Dialect;
use crate::store::Host;

/// A database of a server that speaks SQL, as `scheme://user@host:port/database` names it.
pub(super) fn database(dialect: Dialect, text: &str) -> Result<Address, Problem> {
    let server = ServerAddress::parse(text, dialect)?;
    match &*server.path {
        "" => Err(server.fault("it names no database; write it after the host, as in `//host/database`")),
        path if path.contains('/') => Err(server.fault("after the host it has more than the database's name")),
        path => Ok(Address::Database { dialect, name: path.into(), host: server.host, user: server.user }),
    }
}

/// The parts of a server's address.
pub(super) struct ServerAddress {
    dialect: Dialect,
    pub(super) host: Host,
    pub(super) user: Option<Box<str>>,
    /// What follows the host, without the first slash.
    pub(super) path: Box<str>,
}

impl ServerAddress {
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Self, Problem> {
        let fault = |fault| Problem::ServerAddress { store: dialect.as_str(), fault };
        let url = Url::parse(text).map_err(|_| fault("it cannot be read; write it as `//user@host:port/name`"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(fault(
                "it takes no parameters; leave out what begins with `?` or `#`, and see `tls`, `schema` and the like",
            ));
        }
        let decoded = |text: &str| -> Result<Box<str>, Problem> {
            let decoded = percent_decode_str(text).decode_utf8().map(Cow::into_owned);
            let decoded = decoded.map_err(|_| fault("what it writes as `%..` is not UTF-8"))?;
            if decoded.contains('\0') { Err(fault("it has a zero byte in it")) } else { Ok(decoded.into()) }
        };
        let name = decoded(url.host_str().unwrap_or_default())?;
        let host = match &*name {
            "" => return Err(fault("it names no host; write it after `//`")),
            socket if socket.starts_with('/') => {
                if url.port().is_some() {
                    return Err(fault(
                        "a socket has no port; leave it out, and for PostgreSQL name the socket itself, `…%2F.s.PGSQL.5433`",
                    ));
                }
                Host::Socket(socket.into())
            }
            // In an address an IPv6 address stands in brackets, and a socket is opened without.
            name => {
                let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).into();
                Host::Tcp { name, port: url.port().unwrap_or(dialect.default_port()) }
            }
        };
        let user = Some(decoded(url.username())?).filter(|user| !user.is_empty());
        let path = decoded(url.path().strip_prefix('/').unwrap_or_default())?;
        Ok(Self { dialect, host, user, path })
    }

    pub(super) const fn fault(&self, fault: &'static str) -> Problem {
        Problem::ServerAddress { store: self.dialect.as_str(), fault }
    }
}
