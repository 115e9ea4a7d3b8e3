//! An HTTP client with TLS and basic authentication.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

use crate::harness::PATIENCE;
use crate::servers::Certificate;

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (other, value) = line.split_once(": ")?;
            other.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends a request that closes its connection, and reads the response.
pub(crate) fn ask(mut stream: impl Read + Write, method: &str, path: &str, headers: &str) -> io::Result<Answer> {
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n")?;
    stream.flush()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no answer"))?;
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| io::Error::other("no status"))?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// The `Authorization` header of a user.
pub(crate) fn login(user: &str, password: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {encoded}\r\n")
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request without TLS.
pub(crate) fn plainly(address: SocketAddr, method: &str, path: &str, headers: &str) -> io::Result<Answer> {
    ask(connect(address), method, path, headers)
}

/// A TLS client.
pub(crate) struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    pub(crate) fn trusting(ca: &Path) -> Self {
        Self::new(ca, None, &[&TLS12, &TLS13])
    }

    pub(crate) fn with(ca: &Path, identity: &Certificate) -> Self {
        Self::new(ca, Some(identity), &[&TLS12, &TLS13])
    }

    pub(crate) fn new(
        ca: &Path,
        identity: Option<&Certificate>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(&fs::read(&identity.certificate_file).unwrap()).unwrap()],
                    PrivateKeyDer::from_pem_file(&identity.key_file).unwrap(),
                )
                .unwrap(),
        };
        Self { config: Arc::new(config) }
    }

    /// Connects to a server with a name.
    pub(crate) fn connect(&self, address: SocketAddr, name: &str) -> StreamOwned<ClientConnection, TcpStream> {
        self.over(connect(address), name)
    }

    /// Connects to a server with a name over an existing stream.
    pub(crate) fn over<S: Read + Write>(&self, stream: S, name: &str) -> StreamOwned<ClientConnection, S> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.config), name).unwrap(), stream)
    }

    pub(crate) fn get(&self, address: SocketAddr, path: &str) -> io::Result<Answer> {
        ask(self.connect(address, "localhost"), "GET", path, "")
    }
}
