//! An address as it is typed.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    /// An address as Prometheus exporters take it, where `:10987` is every address of the machine; or `unix:` and a path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            // `unix:///run/x.sock` is how others write it.
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
        let address = text.replacen("localhost:", "127.0.0.1:", 1).parse();
        address.map(Self::Tcp).map_err(|_| {
            "not an address with a port; write `:10987`, `127.0.0.1:10987`, `[::1]:10987` or `unix:/path/to.sock`"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_exporters_take_them_and_paths() {
        for (text, address) in [
            (":1", Address::Tcp("[::]:1".parse().unwrap())),
            ("localhost:1", Address::Tcp("127.0.0.1:1".parse().unwrap())),
            ("0.0.0.0:1", Address::Tcp("0.0.0.0:1".parse().unwrap())),
            ("[::1]:1", Address::Tcp("[::1]:1".parse().unwrap())),
            ("unix:/run/a.sock", Address::Unix("/run/a.sock".into())),
            ("unix:///run/a.sock", Address::Unix("/run/a.sock".into())),
            ("unix:a.sock", Address::Unix("a.sock".into())),
        ] {
            assert_eq!(Address::parse(text), Ok(address), "{text}");
        }
        for text in ["", ":", ":x", "1", "localhost", "::1:1", "unix:", "unix:/run/", "unix://run/a.sock", "vsock://:1"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
