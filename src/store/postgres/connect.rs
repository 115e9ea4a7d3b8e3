//! Opens connections: transport, TLS and login.

use std::path::Path;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{ssl_request, startup_message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::authentication::Authentication;
use super::failure::Failure;
use super::message::{MessageStream, ServerMessage};
use crate::store::tls::{Stream, TlsClient};
use crate::store::transport::tls_error;
use crate::store::{Host, Password, ReadError, Server, tcp};

pub(super) const PORT: u16 = 5432;

/// A connection that is ready for statements, and the encoding of the database, if the server reported it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) stream: MessageStream,
    pub(super) encoding: Option<String>,
}

impl Session {
    /// Opens a connection to a database of a server.
    pub(super) async fn open(server: &Server, database: &str, deadline: Instant) -> Result<Self, Failure> {
        let Some(user) = &server.user else {
            let text = "the store's address names no user; write it as `postgres://USER@HOST/DATABASE`";
            return Err(ReadError::Refused(text.to_owned()).into());
        };
        let password = server.read_password(deadline).await?;
        let tls = TlsClient::read(&server.tls, deadline).await?;
        let stream = match &server.host {
            Host::Tcp { name, port } => protected(tcp::connect(name, *port).await?, name, tls).await?,
            Host::Socket(path) => {
                let (folder, port) = socket(path);
                let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?;
                protected(stream, "localhost", tls).await?
            }
        };
        let mut session = Self { stream: MessageStream::new(stream), encoding: None };
        session.start(user, database, password).await?;
        Ok(session)
    }

    async fn start(&mut self, user: &str, database: &str, password: Option<Password>) -> Result<(), Failure> {
        // `extra_float_digits` is not set: values are binary, and a pooler may not know the parameter.
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

/// Begins TLS, if it is configured. Before that, only the request for TLS is sent.
async fn protected<S: Stream + 'static>(
    mut stream: S,
    name: &str,
    tls: Option<TlsClient>,
) -> Result<Box<dyn Stream>, Failure> {
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let mut request = BytesMut::new();
    ssl_request(&mut request);
    stream.write_all(&request).await?;
    // Exactly one byte is read: a byte after it is unprotected and must not be taken for a byte of the TLS stream.
    match stream.read_u8().await? {
        b'S' => Ok(tls.protect(name, stream).await?),
        b'N' => Err(tls_error("the server does not support TLS").into()),
        _ => Err(Failure::Protocol),
    }
}

/// The folder of a server's socket and the port in the socket's name. The path is that of the socket, or that of the folder;
/// then the port is the default.
fn socket(path: &Path) -> (&Path, u16) {
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL.")?.parse().ok());
    match (path.parent(), port) {
        (Some(folder), Some(port)) => (folder, port),
        _ => (path, PORT),
    }
}
