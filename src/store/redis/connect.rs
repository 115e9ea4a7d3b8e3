//! Opens connections to servers and sentinels.

use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use super::command::Commands;
use super::connection::Connection;
use super::failure::{answered, not_understood, refused_version};
use super::resp::{Replies, Reply};
use super::{Keyspace, ServerLocation};
use crate::store::tls::{Stream, TlsClient};
use crate::store::transport::io_error;
use crate::store::{Host, Password, ReadError, tcp};

/// The time limit of one sentinel, after which the next is asked.
const SENTINEL_LIMIT: Duration = Duration::from_millis(500);

/// The user that the exporter logs in as.
enum Credentials<'k> {
    Anonymous,
    /// Without a password an empty one is sent, because a user may accept any.
    User {
        name: &'k str,
        password: Option<Password>,
    },
}

/// Why a connection was not opened.
#[derive(Debug, thiserror::Error)]
enum ConnectFailure {
    /// The server requires a user and a password, and none were sent.
    #[error(transparent)]
    NoCredentials(ReadError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Keyspace {
    /// Opens a connection to the server, as the user and on the database that are configured.
    pub(super) async fn open(&self, deadline: Instant) -> Result<Connection, ReadError> {
        let credentials = self.credentials(deadline).await?;
        let host = match &self.server.host {
            ServerLocation::Server(host) => host,
            ServerLocation::Sentinels { sentinels, master } => &self.master(sentinels, master, deadline).await?,
        };
        self.reach(host, &credentials, self.database, deadline).await.map_err(ConnectFailure::into_read_error)
    }

    /// The user and the password. The file is read for each connection.
    async fn credentials(&self, deadline: Instant) -> Result<Credentials<'_>, ReadError> {
        Ok(match (&self.server.user, self.server.read_password(deadline).await?) {
            (None, None) => Credentials::Anonymous,
            (user, password) => Credentials::User { name: user.as_deref().unwrap_or("default"), password },
        })
    }

    /// The address of the server, from the first sentinel that knows it.
    async fn master(&self, sentinels: &[Host], master: &str, deadline: Instant) -> Result<Host, ReadError> {
        let mut failure = ReadError::Unreachable("no sentinel answers".into());
        for sentinel in sentinels {
            match timeout(SENTINEL_LIMIT, self.ask_sentinel(sentinel, master, deadline)).await {
                Ok(Ok(host)) => return Ok(host),
                Ok(Err(error)) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    async fn ask_sentinel(&self, sentinel: &Host, master: &str, deadline: Instant) -> Result<Host, ReadError> {
        let of_sentinel =
            |failed: ConnectFailure| ReadError::Refused(format!("of a sentinel: {}", failed.into_read_error()));
        let mut connection = match self.reach(sentinel, &Credentials::Anonymous, 0, deadline).await {
            // A sentinel that requires a user is assumed to have the users of the server.
            Err(ConnectFailure::NoCredentials(_)) => {
                self.reach(sentinel, &self.credentials(deadline).await?, 0, deadline).await.map_err(of_sentinel)?
            }
            reached => reached.map_err(ConnectFailure::into_read_error)?,
        };
        connection.commands().add("SENTINEL", ["GET-MASTER-ADDR-BY-NAME", master].map(str::as_bytes));
        match connection.reply().await? {
            Reply::Nil => {
                Err(ReadError::SchemaMismatch("the sentinels know no master of the name in the store's address".into()))
            }
            Reply::Array(parts) => host(parts).ok_or_else(not_understood),
            _ => Err(not_understood()),
        }
    }

    async fn reach(
        &self,
        host: &Host,
        credentials: &Credentials<'_>,
        database: u32,
        deadline: Instant,
    ) -> Result<Connection, ConnectFailure> {
        let mut connection = Connection::new(self.stream(host, deadline).await?);
        credentials.add(connection.commands());
        if database != 0 {
            connection.commands().add("SELECT", [itoa::Buffer::new().format(database).as_bytes()]);
        }
        match connection.answer(&mut |_| false).await? {
            (_, Reply::Map(_)) => {}
            (_, Reply::Error(error)) if error.details.starts_with("unknown command") => {
                return Err(refused_version().into());
            }
            (name, Reply::Error(error)) if error.code == "NOAUTH" => {
                return Err(ConnectFailure::NoCredentials(answered(name, error)));
            }
            (name, Reply::Error(error)) => return Err(answered(name, error).into()),
            _ => return Err(not_understood().into()),
        }
        if database != 0 {
            connection.reply().await?;
        }
        Ok(connection)
    }

    async fn stream(&self, host: &Host, deadline: Instant) -> Result<Box<dyn Stream>, ReadError> {
        let tls = TlsClient::read(&self.server.tls, deadline).await?;
        match host {
            Host::Socket(path) => Ok(Box::new(UnixStream::connect(path).await.map_err(io_error)?)),
            Host::Tcp { name, port } => {
                let stream = tcp::connect(name, *port).await.map_err(io_error)?;
                match tls {
                    Some(tls) => tls.protect(name, stream).await,
                    None => Ok(Box::new(stream)),
                }
            }
        }
    }
}

impl Credentials<'_> {
    /// Adds the first command, `HELLO`. The server always replies to it, so a failed login is detected here.
    fn add(&self, commands: &mut Commands) {
        match self {
            Self::Anonymous => commands.add("HELLO", ["3"].map(str::as_bytes)),
            Self::User { name, password } => {
                let password = password.as_ref().map_or("", Password::reveal);
                commands.add("HELLO", ["3", "AUTH", name, password].map(str::as_bytes));
            }
        }
    }
}

impl ConnectFailure {
    fn into_read_error(self) -> ReadError {
        match self {
            Self::NoCredentials(error) | Self::Read(error) => error,
        }
    }
}

/// The address that a sentinel gives.
fn host(mut parts: Replies<'_>) -> Option<Host> {
    let (Reply::Text(name), Reply::Text(port), None) = (parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let name = std::str::from_utf8(name).ok()?.into();
    Some(Host::Tcp { name, port: std::str::from_utf8(port).ok()?.parse().ok()? })
}
