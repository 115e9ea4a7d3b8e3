//! The address of a numbered database of a Redis or Valkey server.

use store_address::{UrlError, decode};

use super::ServerLocation;
use crate::store::Host;
use crate::store::address::{ServerAddress, not_an_address};
use crate::store::section::StoreProblem;

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26_379;

/// The parts of an address: `scheme://user@host:port/number` or `scheme+sentinel://user@host,host/master/number`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyspaceAddress {
    pub(super) protected: bool,
    pub(super) location: ServerLocation,
    pub(super) user: Option<Box<str>>,
    pub(super) database: u32,
}

impl KeyspaceAddress {
    pub(super) fn parse(text: &str, kind: &str) -> Result<Self, StoreProblem> {
        let (scheme, rest) = text.split_once("://").unwrap_or((text.trim_end_matches(':'), ""));
        let protected = matches!(scheme.trim_end_matches("+sentinel"), "rediss" | "valkeys");
        let fault = |fault| not_an_address(kind, fault);
        if scheme.ends_with("+sentinel") {
            return Self::sentinels(rest, protected).map_err(fault);
        }
        let ServerAddress { host, user, path } = ServerAddress::parse(text, kind, PORT)?;
        if protected && matches!(host, Host::Socket(_)) {
            return Err(fault("a socket needs no TLS; write it with `redis://`"));
        }
        Ok(Self { protected, location: ServerLocation::Server(host), user, database: number(&path).map_err(fault)? })
    }

    /// Parses the address of sentinels, without its scheme. Several hosts are not a URL, so the URL parser cannot do it.
    fn sentinels(rest: &str, protected: bool) -> Result<Self, &'static str> {
        if rest.contains(['?', '#']) {
            return Err("it takes no parameters; leave out what begins with `?` or `#`");
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => {
                (Some(decode(user).map_err(UrlError::as_str)?).filter(|user| !user.is_empty()), hosts)
            }
            None => (None, authority),
        };
        let sentinels = hosts.split(',').map(host).collect::<Result<Box<[_]>, _>>()?;
        let (master, database) = path.split_once('/').unwrap_or((path, ""));
        let master = decode(master).map_err(UrlError::as_str)?;
        if master.is_empty() {
            return Err("it names no master; write it after the sentinels, as in `//host,host/master`");
        }
        let location = ServerLocation::Sentinels { sentinels, master };
        Ok(Self { protected, location, user, database: number(database)? })
    }
}

/// One sentinel: a name, an IPv4 address, or an IPv6 address in brackets, and maybe a port.
fn host(text: &str) -> Result<Host, &'static str> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => {
            if name.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("what stands in brackets is no IPv6 address");
            }
            let port = match rest.strip_prefix(':') {
                None if !rest.is_empty() => return Err("after an address in brackets comes a port or nothing"),
                port => port,
            };
            (name, port)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err("one of its sentinels has no name that a host can have; write `//host:26379,host:26379/master`");
    }
    let port = port.map_or(Ok(SENTINEL_PORT), str::parse);
    let port = port.ok().filter(|port| *port > 0).ok_or("one of its sentinels has no valid port")?;
    Ok(Host::Tcp { name: name.into(), port })
}

fn number(text: &str) -> Result<u32, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" => Ok(0),
        text if digits => text.parse().map_err(|_| "there is no database of such a number"),
        _ => Err("what follows the host must be the number of a database, as in `//host/0`"),
    }
}
