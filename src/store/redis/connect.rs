//! How a connection is opened.

use std::path::Path;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, TlsCertificates, Value,
};
use tokio::time::{Instant, timeout};

use super::failure::{answered, not_understood, read_error};
use super::{Keyspace, Place};
use crate::store::transport::{Pem, pem};
use crate::store::{Host, Identity, ReadError, Tls};

/// How long one sentinel may take before the next is asked.
const SENTINEL_LIMIT: Duration = Duration::from_millis(500);

impl Keyspace {
    /// Opens a connection to the server, as the user and on the database that are configured.
    pub(super) async fn open(&self, deadline: Instant) -> Result<MultiplexedConnection, ReadError> {
        let introduction = self.introduction(deadline).await?;
        let reached = match &self.place {
            Place::Server(host) => self.reach(host, introduction, deadline).await,
            Place::Sentinels { sentinels, master } => {
                self.reach(&self.master(sentinels, master, deadline).await?, introduction, deadline).await
            }
        };
        let mut connection = reached.map_err(Failed::into_read_error)?;
        if self.database != 0 {
            let select = redis::cmd("SELECT").arg(self.database).to_owned();
            if let Value::ServerError(error) = connection.send_packed_command(&select).await.map_err(read_error)? {
                return Err(answered("select", &error));
            }
        }
        Ok(connection)
    }

    /// How the exporter proves who it is.
    async fn introduction(&self, deadline: Instant) -> Result<RedisConnectionInfo, ReadError> {
        let introduction = stranger();
        let introduction = match &self.user {
            // Without a password as well: one may be let in with any.
            Some(user) => introduction.set_username(user).set_password(""),
            None => introduction,
        };
        Ok(match &self.password {
            Some(file) => introduction.set_password(file.read(deadline).await?.reveal()),
            None => introduction,
        })
    }

    /// Where the sentinels say that the server is.
    async fn master(&self, sentinels: &[Host], master: &str, deadline: Instant) -> Result<Host, ReadError> {
        let mut failure = ReadError::Unreachable("no sentinel answers".to_owned());
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
        let of_sentinel = |failed: Failed| ReadError::Refused(format!("of a sentinel: {}", failed.into_read_error()));
        let mut connection = match self.reach(sentinel, stranger(), deadline).await {
            // A sentinel that asks who one is, is taken to know the same users as the server.
            Err(Failed::Client(error)) if error.code() == Some("NOAUTH") => {
                self.reach(sentinel, self.introduction(deadline).await?, deadline).await.map_err(of_sentinel)?
            }
            reached => reached.map_err(Failed::into_read_error)?,
        };
        let question = redis::cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(master).to_owned();
        match connection.send_packed_command(&question).await.map_err(read_error)? {
            Value::Nil => Err(ReadError::SchemaMismatch(
                "the sentinels know no master of the name in the store's address".to_owned(),
            )),
            Value::Array(parts) => host(&parts).ok_or_else(not_understood),
            Value::ServerError(error) => Err(answered("sentinel", &error)),
            _ => Err(not_understood()),
        }
    }

    /// Opens a connection to a server.
    async fn reach(
        &self,
        host: &Host,
        introduction: RedisConnectionInfo,
        deadline: Instant,
    ) -> Result<MultiplexedConnection, Failed> {
        let (address, certificates) = match (&self.tls, host) {
            (_, Host::Socket(path)) => (ConnectionAddr::Unix(path.clone()), None),
            (Tls::Off, Host::Tcp { name, port }) => (ConnectionAddr::Tcp(name.to_string(), *port), None),
            (Tls::Verify { ca_file, identity }, Host::Tcp { name, port }) => {
                choose_cryptography();
                let host = name.to_string();
                let address = ConnectionAddr::TcpTls { host, port: *port, insecure: false, tls_params: None };
                (
                    address,
                    Some(certificates(ca_file.as_deref(), identity.as_ref(), deadline).await.map_err(Failed::Told)?),
                )
            }
        };
        let info = address.into_connection_info()?.set_redis_settings(introduction);
        let client = match certificates {
            Some(certificates) => Client::build_with_tls(info, certificates)?,
            None => Client::open(info)?,
        };
        // The deadline is kept outside: it holds for the whole reading.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
    }
}

/// Why a server was not reached.
enum Failed {
    Told(ReadError),
    Client(RedisError),
}

impl From<RedisError> for Failed {
    fn from(error: RedisError) -> Self {
        Self::Client(error)
    }
}

impl Failed {
    fn into_read_error(self) -> ReadError {
        match self {
            Self::Told(error) => error,
            Self::Client(error) => read_error(error),
        }
    }
}

/// An introduction as nobody. In the third version of the protocol it is always answered, and so whatever is wrong with
/// the connection shows where it can be told; and nothing else is sent of the client's own accord.
fn stranger() -> RedisConnectionInfo {
    RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name()
}

/// The address that a sentinel gives.
fn host(parts: &[Value]) -> Option<Host> {
    let [Value::BulkString(name), Value::BulkString(port)] = parts else { return None };
    let name = std::str::from_utf8(name).ok()?.into();
    Some(Host::Tcp { name, port: std::str::from_utf8(port).ok()?.parse().ok()? })
}

async fn certificates(
    ca_file: Option<&Path>,
    identity: Option<&Identity>,
    deadline: Instant,
) -> Result<TlsCertificates, ReadError> {
    let root_cert = match ca_file {
        None => None,
        Some(file) => Some(pem("ca_file", file, Pem::Certificate, deadline).await?),
    };
    let client_tls = match identity {
        None => None,
        Some(identity) => Some(ClientTlsConfig {
            client_cert: pem("cert_file", &identity.cert_file, Pem::Certificate, deadline).await?,
            client_key: pem("key_file", &identity.key_file, Pem::Key, deadline).await?,
        }),
    };
    Ok(TlsCertificates { client_tls, root_cert })
}

/// Makes sure that one implementation of cryptography is chosen for the whole process, before a connection asks for it.
fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Whoever was faster chose the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
