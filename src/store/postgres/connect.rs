//! How a connection is opened: the way there, its protection, and who the exporter is.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{ssl_request, startup_message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream, lookup_host};

use super::authentication::Authentication;
use super::failure::Failure;
use super::message::{MessageStream, ServerMessage, Transport};
use super::tls;
use crate::store::transport::{Pem, pem, unprotected};
use crate::store::{Host, Identity, Password, ReadError, Server, Tls};

/// A connection that is ready for statements, and how the database encodes its texts, if the server said it by itself.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) stream: MessageStream,
    pub(super) encoding: Option<String>,
}

/// The contents of the configured files, read anew for each connection.
struct Credentials {
    password: Option<Password>,
    authorities: Option<Vec<u8>>,
    identity: Option<tls::Identity>,
}

impl Credentials {
    async fn read(server: &Server) -> Result<Self, ReadError> {
        let password = match &server.password {
            Some(file) => Some(file.read()?),
            None => None,
        };
        let (mut authorities, mut identity) = (None, None);
        if let Tls::Verify { ca_file, identity: files } = &server.tls {
            if let Some(file) = ca_file {
                authorities = Some(pem("ca_file", file, Pem::Certificate)?);
            }
            if let Some(Identity { cert_file, key_file }) = files {
                let certificates = pem("cert_file", cert_file, Pem::Certificate)?;
                identity = Some(tls::Identity { certificates, key: pem("key_file", key_file, Pem::Key)? });
            }
        }
        Ok(Self { password, authorities, identity })
    }
}

impl Session {
    /// Opens a connection to a database of a server.
    pub(super) async fn open(server: &Server, database: &str) -> Result<Self, Failure> {
        let Some(user) = &server.user else {
            let text = "the store's address names no user; write it as `postgres://USER@HOST/DATABASE`";
            return Err(ReadError::Refused(text.to_owned()).into());
        };
        let credentials = Credentials::read(server).await?;
        let transport: Box<dyn Transport> = match &server.host {
            Host::Tcp { name, port } => {
                let stream = tcp(name, *port).await?;
                stream.set_nodelay(true)?;
                protected(stream, name, &server.tls, &credentials).await?
            }
            Host::Socket(path) => {
                let (folder, port) = socket(path);
                let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?;
                protected(stream, "localhost", &server.tls, &credentials).await?
            }
        };
        let mut session = Self { stream: MessageStream::new(transport), encoding: None };
        session.start(user, database, credentials.password).await?;
        Ok(session)
    }

    async fn start(&mut self, user: &str, database: &str, password: Option<Password>) -> Result<(), Failure> {
        // Sizes and formats of numbers are not asked for as text, and a pooler may not know the parameter.
        let parameters = [
            ("user", user),
            ("database", database),
            ("application_name", "lease-exporter"),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO, MDY"),
            ("TimeZone", "UTC"),
        ];
        let mut message = BytesMut::new();
        startup_message(parameters, &mut message).map_err(|_| Failure::Protocol)?;
        self.stream.send(&message).await?;
        Authentication::new(user, password).prove(&mut self.stream).await?;
        loop {
            match self.stream.next().await? {
                ServerMessage::Other(Message::ParameterStatus(body)) => {
                    if body.name().map_err(|_| Failure::Protocol)? == "server_encoding" {
                        self.encoding = Some(body.value().map_err(|_| Failure::Protocol)?.to_owned());
                    }
                }
                ServerMessage::Other(Message::BackendKeyData(_) | Message::NoticeResponse(_)) => {}
                ServerMessage::Other(Message::ReadyForQuery(_)) => return Ok(()),
                ServerMessage::Other(_) | ServerMessage::Row(_) => return Err(Failure::Protocol),
            }
        }
    }
}

/// Protects a connection as it is configured. Nothing is sent before that but the question whether it can be.
async fn protected<T: Transport + 'static>(
    mut stream: T,
    name: &str,
    tls: &Tls,
    credentials: &Credentials,
) -> Result<Box<dyn Transport>, Failure> {
    if *tls == Tls::Off {
        return Ok(Box::new(stream));
    }
    let mut question = BytesMut::new();
    ssl_request(&mut question);
    stream.write_all(&question).await?;
    // Exactly one byte is read: a byte behind it would be in clear, and must not be taken for one that came over TLS.
    match stream.read_u8().await? {
        b'S' => {
            let connector = tls::connector(credentials.authorities.as_deref(), credentials.identity.as_ref()).await?;
            Ok(Box::new(connector.connect(tls::server_name(name)?, stream).await?))
        }
        b'N' => Err(unprotected("the server does not support TLS").into()),
        _ => Err(Failure::Protocol),
    }
}

/// Tries each address of a name.
async fn tcp(name: &str, port: u16) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in lookup_host((name, port)).await?.filter(|address| is_meant(name, *address)) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Whether an address may be the one that a name means. A connection to `localhost` is not protected unless that is asked
/// for, so it must not leave the machine, whatever the name stands for in the system's list of hosts.
fn is_meant(name: &str, address: SocketAddr) -> bool {
    name != "localhost" || address.ip().is_loopback()
}

/// The folder that a server's socket is in and the port that the socket is named after, where the socket itself is given;
/// else the folder and the usual port.
fn socket(path: &Path) -> (&Path, u16) {
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL.")?.parse().ok());
    match (path.parent(), port) {
        (Some(folder), Some(port)) => (folder, port),
        _ => (path, 5432),
    }
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
            assert_eq!(is_meant(name, address(at)), meant, "{name} {at}");
        }
    }
}
