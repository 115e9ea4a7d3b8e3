//! How a connection is opened.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::command::Commands;
use super::connection::{Connection, Stream};
use super::failure::{answered, not_understood, refused_version};
use super::resp::{Replies, Reply};
use super::stream::{self, Certificates};
use super::{Keyspace, Place};
use crate::store::transport::{Pem, pem};
use crate::store::{Host, Identity, Password, ReadError, Tls};

/// How long one sentinel may take before the next is asked.
const SENTINEL_LIMIT: Duration = Duration::from_millis(500);

/// The user that the exporter logs in as.
enum Credentials<'k> {
    Anonymous,
    /// Without a password as well, which is then empty: a user may be let in with any.
    User {
        name: &'k str,
        password: Option<Password>,
    },
}

/// Why a server was not reached.
enum ConnectFailure {
    /// It asks for a user and a password, and none were given.
    Unintroduced(ReadError),
    Told(ReadError),
}

impl Keyspace {
    /// Opens a connection to the server, as the user and on the database that are configured.
    pub(super) async fn open(&self) -> Result<Connection, ReadError> {
        let credentials = self.credentials()?;
        let reached = match &self.place {
            Place::Server(host) => self.reach(host, &credentials, self.database).await,
            Place::Sentinels { sentinels, master } => {
                self.reach(&self.master(sentinels, master).await?, &credentials, self.database).await
            }
        };
        reached.map_err(ConnectFailure::into_read_error)
    }

    /// The user and the password, which is read anew for each connection.
    fn credentials(&self) -> Result<Credentials<'_>, ReadError> {
        let password = match &self.password {
            Some(file) => Some(file.read()?),
            None => None,
        };
        Ok(match (&self.user, password) {
            (None, None) => Credentials::Anonymous,
            (user, password) => Credentials::User { name: user.as_deref().unwrap_or("default"), password },
        })
    }

    /// Where the sentinels say that the server is.
    async fn master(&self, sentinels: &[Host], master: &str) -> Result<Host, ReadError> {
        let mut failure = ReadError::Unreachable("no sentinel answers".to_owned());
        for sentinel in sentinels {
            match timeout(SENTINEL_LIMIT, self.ask_sentinel(sentinel, master)).await {
                Ok(Ok(host)) => return Ok(host),
                Ok(Err(error)) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    async fn ask_sentinel(&self, sentinel: &Host, master: &str) -> Result<Host, ReadError> {
        let of_sentinel =
            |failed: ConnectFailure| ReadError::Refused(format!("of a sentinel: {}", failed.into_read_error()));
        let mut connection = match self.reach(sentinel, &Credentials::Anonymous, 0).await {
            // A sentinel that asks who one is, is taken to know the same users as the server.
            Err(ConnectFailure::Unintroduced(_)) => {
                self.reach(sentinel, &self.credentials()?, 0).await.map_err(of_sentinel)?
            }
            reached => reached.map_err(ConnectFailure::into_read_error)?,
        };
        connection.commands().add("SENTINEL", ["GET-MASTER-ADDR-BY-NAME", master].map(str::as_bytes));
        match connection.reply().await? {
            Reply::Nil => Err(ReadError::SchemaMismatch(
                "the sentinels know no master of the name in the store's address".to_owned(),
            )),
            Reply::Array(parts) => host(parts).ok_or_else(not_understood),
            _ => Err(not_understood()),
        }
    }

    /// Opens a connection to a server.
    async fn reach(
        &self,
        host: &Host,
        credentials: &Credentials<'_>,
        database: u32,
    ) -> Result<Connection, ConnectFailure> {
        let mut connection = Connection::new(self.stream(host).await?);
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
                return Err(ConnectFailure::Unintroduced(answered(name, error)));
            }
            (name, Reply::Error(error)) => return Err(answered(name, error).into()),
            _ => return Err(not_understood().into()),
        }
        if database != 0 {
            connection.reply().await?;
        }
        Ok(connection)
    }

    async fn stream(&self, host: &Host) -> Result<Box<dyn Stream>, ReadError> {
        Ok(match (&self.tls, host) {
            (_, Host::Socket(path)) => Box::new(stream::unix(path).await?),
            (Tls::Off, Host::Tcp { name, port }) => Box::new(stream::tcp(name, *port).await?),
            (Tls::Verify { ca_file, identity }, Host::Tcp { name, port }) => {
                let certificates = certificates(ca_file.as_deref(), identity.as_ref())?;
                Box::new(stream::tls(name, *port, certificates).await?)
            }
        })
    }
}

impl Credentials<'_> {
    /// The first command. In the third version of the protocol it is always answered, and so whatever is wrong with the
    /// connection shows where it can be told.
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

impl From<ReadError> for ConnectFailure {
    fn from(error: ReadError) -> Self {
        Self::Told(error)
    }
}

impl ConnectFailure {
    fn into_read_error(self) -> ReadError {
        match self {
            Self::Unintroduced(error) | Self::Told(error) => error,
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

fn certificates(ca_file: Option<&Path>, identity: Option<&Identity>) -> Result<Certificates, ReadError> {
    let ca = match ca_file {
        Some(file) => Some(pem("ca_file", file, Pem::Certificate)?),
        None => None,
    };
    let identity = match identity {
        Some(Identity { cert_file, key_file }) => {
            Some((pem("cert_file", cert_file, Pem::Certificate)?, pem("key_file", key_file, Pem::Key)?))
        }
        None => None,
    };
    Ok(Certificates { ca, identity })
}
