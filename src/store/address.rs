//! The address of a server, as a URL.

#[cfg(test)]
mod tests;

use store_address::{ServerUrl, UrlError, has_password};

use super::Host;
use super::section::StoreProblem;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) host: Host,
    pub(super) user: Option<Box<str>>,
    /// The part after the host, without the first slash.
    pub(super) path: Box<str>,
}

impl ServerAddress {
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
        let has_parameters =
            "it takes no parameters; leave out what begins with `?` or `#`, and see `tls`, `schema` and the like";
        match ServerUrl::parse(text, default_port) {
            Ok(ServerUrl { query: Some(_), .. }) | Err(UrlError::Fragment) => Err(has_parameters),
            Ok(ServerUrl { host, user, path, .. }) => Ok(Self { host, user, path }),
            Err(error) => Err(error.as_str()),
        }
    }
}

/// The error for an address. It does not contain the address.
pub(super) fn not_an_address(kind: &str, fault: &str) -> StoreProblem {
    format!("the store's address is not one of {kind}: {fault}").into()
}

/// Whether an address, well-formed or not, seems to contain a password.
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
    has_password(text) || NAMES.iter().any(|name| parameters.contains(name))
}
