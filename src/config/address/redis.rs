//! The address of a Redis or Valkey.

use percent_encoding::percent_decode_str;

use super::Address;
use super::server::ServerAddress;
use crate::config::problem::Problem;
use crate::preset::Dialect;
use crate::store::Host;
use crate::store::redis::Place;

/// The port of sentinels.
const SENTINEL_PORT: u16 = 26_379;

fn fault(fault: &'static str) -> Problem {
    Problem::ServerAddress { store: Dialect::Redis.as_str(), fault }
}

/// A numbered database, as `scheme://user@host:port/number` or `scheme+sentinel://user@host,host/master/number` names it.
pub(super) fn keyspace(scheme: &str, text: &str) -> Result<Address, Problem> {
    let protected = matches!(scheme.trim_end_matches("+sentinel"), "rediss" | "valkeys");
    if scheme.ends_with("+sentinel") {
        return sentinels(text, protected);
    }
    let server = ServerAddress::parse(text, Dialect::Redis)?;
    if protected && matches!(server.host, Host::Socket(_)) {
        return Err(fault("a socket needs no TLS; write it with `redis://`"));
    }
    let database = number(&server.path)?;
    Ok(Address::Redis { protected, place: Place::Server(server.host), user: server.user, database })
}

/// An address with several hosts is none that a URL may have, so it is taken apart by hand.
fn sentinels(text: &str, protected: bool) -> Result<Address, Problem> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    if rest.contains(['?', '#']) {
        return Err(fault("it takes no parameters; leave out what begins with `?` or `#`"));
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (Some(decoded(user)?).filter(|user| !user.is_empty()), hosts),
        None => (None, authority),
    };
    let sentinels = hosts.split(',').map(host).collect::<Result<Box<[_]>, _>>()?;
    let (master, database) = path.split_once('/').unwrap_or((path, ""));
    let master = decoded(master)?;
    if master.is_empty() {
        return Err(fault("it names no master; write it after the sentinels, as in `//host,host/master`"));
    }
    Ok(Address::Redis { protected, place: Place::Sentinels { sentinels, master }, user, database: number(database)? })
}

/// One sentinel: a name, an IPv4 address, or an IPv6 address in brackets, and maybe a port.
fn host(text: &str) -> Result<Host, Problem> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => {
            if name.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(fault("what stands in brackets is no IPv6 address"));
            }
            let port = match rest.strip_prefix(':') {
                None if !rest.is_empty() => return Err(fault("after an address in brackets comes a port or nothing")),
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
        return Err(fault(
            "one of its sentinels has no name that a host can have; write `//host:26379,host:26379/master`",
        ));
    }
    let port = port.map_or(Ok(SENTINEL_PORT), str::parse);
    let port = port.ok().filter(|port| *port > 0).ok_or_else(|| fault("one of its sentinels has no valid port"))?;
    Ok(Host::Tcp { name: name.into(), port })
}

/// The number of a database; 0 if none is given.
fn number(text: &str) -> Result<u32, Problem> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" => Ok(0),
        text if digits => text.parse().map_err(|_| fault("there is no database of such a number")),
        _ => Err(fault("what follows the host must be the number of a database, as in `//host/0`")),
    }
}

fn decoded(text: &str) -> Result<Box<str>, Problem> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| fault("what it writes as `%..` is not UTF-8"))?;
    if decoded.contains('\0') { Err(fault("it has a zero byte in it")) } else { Ok(decoded.as_ref().into()) }
}
