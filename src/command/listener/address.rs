//! Addresses as written on the command line.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Tcp(SocketAddr),
    /// A name of this machine, and a port.
    Named(Box<str>, u16),
    Unix(PathBuf),
}

impl Address {
    /// Parses an address in the form of Prometheus exporters, where `:10987` means all addresses of the machine, or `unix:`
    /// followed by a path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            // Other programs write `unix:///run/x.sock`.
            let path = if path.starts_with("///") { &path[2..] } else { path };
            if path.is_empty() || path.ends_with('/') || path.starts_with("//") {
                return Err("`unix:` needs the path of a socket; write `unix:/run/lease-exporter.sock`".to_owned());
            }
            return Ok(Self::Unix(path.into()));
        }
        if let Some(port) = text.strip_prefix(':') {
            let port = port.parse().map_err(|_| format!("`{port}` is no port; write `:10987`"))?;
            return Ok(Self::Tcp(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port)));
        }
        if let Ok(address) = text.replacen("localhost:", "127.0.0.1:", 1).parse() {
            return Ok(Self::Tcp(address));
        }
        match text.rsplit_once(':').map(|(name, port)| (name, port.parse())) {
            Some((name, Ok(port))) if is_name(name) => Ok(Self::Named(name.into(), port)),
            _ => Err("not an address with a port; write `:10987`, `127.0.0.1:10987`, `[::1]:10987` or \
                 `unix:/path/to.sock`"
                .to_owned()),
        }
    }
}

/// Whether the text may be a host name. A text that ends in a number is a malformed address.
fn is_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    !last.is_empty() && !last.bytes().all(|byte| byte.is_ascii_digit()) && text.chars().all(plain)
}

/// The address to listen on for a name, as chosen by Go: the first IPv4 address, or else the first.
pub(super) fn preferred(addresses: impl IntoIterator<Item = SocketAddr>) -> Option<SocketAddr> {
    let mut addresses = addresses.into_iter();
    let first = addresses.next()?;
    Some(if first.is_ipv4() { first } else { addresses.find(SocketAddr::is_ipv4).unwrap_or(first) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_exporters_and_paths_are_parsed() {
        for (text, address) in [
            (":1", Address::Tcp("[::]:1".parse().unwrap())),
            ("localhost:1", Address::Tcp("127.0.0.1:1".parse().unwrap())),
            ("0.0.0.0:1", Address::Tcp("0.0.0.0:1".parse().unwrap())),
            ("[::1]:1", Address::Tcp("[::1]:1".parse().unwrap())),
            ("node-1.example:1", Address::Named("node-1.example".into(), 1)),
            ("unix:/run/a.sock", Address::Unix("/run/a.sock".into())),
            ("unix:///run/a.sock", Address::Unix("/run/a.sock".into())),
            ("unix:a.sock", Address::Unix("a.sock".into())),
        ] {
            assert_eq!(Address::parse(text), Ok(address), "{text}");
        }
        for text in [
            "",
            ":",
            ":x",
            "1",
            "localhost",
            "::1:1",
            "256.0.0.1:1",
            "a b:1",
            "a:b",
            ".:1",
            "unix:",
            "unix:/run/",
            "unix://run/a.sock",
            "vsock://:1",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_ipv4_address_of_a_name_is_preferred() {
        let preferred = |addresses: &[&str]| {
            preferred(addresses.iter().map(|address| address.parse().unwrap())).map(|address| address.to_string())
        };
        assert_eq!(preferred(&["[::1]:1", "127.0.1.1:1", "127.0.0.1:1"]).as_deref(), Some("127.0.1.1:1"));
        assert_eq!(preferred(&["[::1]:1", "[::2]:1"]).as_deref(), Some("[::1]:1"));
        assert_eq!(preferred(&[]), None);
    }
}
