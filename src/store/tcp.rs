//! TCP connections to servers whose name may have several addresses.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long to wait for one address before the next is tried in parallel: RFC 8305, section 5.
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to the first address of a name that answers.
///
/// # Errors
/// The last failure, when none does.
pub(super) async fn connect(name: &str, port: u16) -> io::Result<TcpStream> {
    let mut addresses = lookup_host((name, port)).await?.filter(|address| is_allowed(name, *address));
    let mut attempts = JoinSet::new();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        let begun = addresses.next().map(|address| attempts.spawn(TcpStream::connect(address)));
        let next = match begun {
            Some(_) => timeout(HEAD_START, attempts.join_next()).await,
            None => Ok(attempts.join_next().await),
        };
        match next {
            Ok(Some(Ok(Ok(stream)))) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Some(Ok(Err(error)))) => failure = error,
            Ok(Some(Err(error))) => failure = io::Error::other(error),
            Ok(None) => return Err(failure),
            // The attempt continues in parallel to the next.
            Err(_) => {}
        }
    }
}

/// Whether a connection for a name may go to an address. A connection to `localhost` is unprotected by default, so it must
/// not leave the machine, whatever the system resolves the name to.
fn is_allowed(name: &str, address: SocketAddr) -> bool {
    name != "localhost" || address.ip().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_not_protected_because_it_is_local_does_not_leave_the_machine() {
        let address = |text: &str| text.parse().unwrap();
        for (name, at, meant) in [
            ("localhost", "127.0.0.1:5432", true),
            ("localhost", "[::1]:5432", true),
            ("localhost", "192.0.2.1:5432", false),
            ("db.example", "192.0.2.1:5432", true),
            ("db.example", "127.0.0.1:5432", true),
        ] {
            assert_eq!(is_allowed(name, address(at)), meant, "{name} {at}");
        }
    }
}
