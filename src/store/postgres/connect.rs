//! How a connection is opened: the way there, its protection, and who the exporter is.

use std::path::Path;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{ssl_request, startup_message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::authentication::Authentication;
use super::failure::Failure;
use super::message::{MessageStream, ServerMessage, Transport};
use crate::store::tls::TlsClient;
use crate::store::transport::tls_error;
use crate::store::{Host, Password, ReadError, Server, Tls, tcp};

/// The port that a server listens on by default.
pub(super) const PORT: u16 = 5432;

/// A connection that is ready for statements, and how the database encodes its texts, if the server said it by itself.
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
        let password = match &server.password {
            Some(file) => Some(file.read(deadline).await?),
            None => None,
        };
        let tls = match &server.tls {
            Tls::Off => None,
            Tls::Verify { ca_file, identity } => {
                Some(TlsClient::read(ca_file.as_deref(), identity.as_ref(), deadline).await?)
            }
        };
        let transport: Box<dyn Transport> = match &server.host {
            Host::Tcp { name, port } => protected(tcp::connect(name, *port).await?, name, tls).await?,
            Host::Socket(path) => {
                let (folder, port) = socket(path);
                let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?;
                protected(stream, "localhost", tls).await?
            }
        };
        let mut session = Self { stream: MessageStream::new(transport), encoding: None };
        session.start(user, database, password).await?;
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

/// Protects a connection, if it has to be. Nothing is sent before that but the question whether it can be.
async fn protected<T: Transport + 'static>(
    mut stream: T,
    name: &str,
    tls: Option<TlsClient>,
) -> Result<Box<dyn Transport>, Failure> {
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let mut question = BytesMut::new();
    ssl_request(&mut question);
    stream.write_all(&question).await?;
    // Exactly one byte is read: a byte behind it would be in clear, and must not be taken for one that came over TLS.
    match stream.read_u8().await? {
        b'S' => {
            let (connector, server) = tls.connector(name)?;
            Ok(Box::new(connector.connect(server, stream).await?))
        }
        b'N' => Err(tls_error("the server does not support TLS").into()),
        _ => Err(Failure::Protocol),
    }
}

/// The folder that a server's socket is in and the port that the socket is named after, where the socket itself is given;
/// else the folder and the usual port.
fn socket(path: &Path) -> (&Path, u16) {
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL.")?.parse().ok());
    match (path.parent(), port) {
        (Some(folder), Some(port)) => (folder, port),
        _ => (path, PORT),
    }
}
