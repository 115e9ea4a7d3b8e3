//! How a connection is opened.

use std::path::Path;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, Pipeline,
    RedisConnectionInfo, TlsCertificates, Value,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::time::timeout;

use super::failure::{answered, not_understood, read_error};
use super::request::name;
use super::{Place, RedisKeys};
use crate::store::tls::choose_cryptography;
use crate::store::{Host, ReadError, Tls};

/// How long one sentinel may take before the next is asked.
const SENTINEL_LIMIT: Duration = Duration::from_millis(500);

impl RedisKeys {
    /// Opens a connection to the server, as the user and on the database that are configured.
    pub(super) async fn open(&self) -> Result<MultiplexedConnection, ReadError> {
        let mut connection = match &self.place {
            Place::Server(host) => self.reach(host).await?,
            Place::Sentinels { sentinels, master } => self.reach(&self.master(sentinels, master).await?).await?,
        };
        let mut commands = Pipeline::new();
        if let Some(auth) = self.auth()? {
            commands.add_command(auth);
        }
        if self.database != 0 {
            commands.cmd("SELECT").arg(self.database);
        }
        introduce(&mut connection, &commands).await?;
        Ok(connection)
    }

    /// How the exporter proves who it is.
    fn auth(&self) -> Result<Option<Cmd>, ReadError> {
        let password = self.password.as_ref().map(|file| file.read()).transpose()?;
        let password = password.as_ref().map_or("", |password| password.reveal());
        let mut auth = redis::cmd("AUTH");
        match &self.user {
            Some(user) => auth.arg(&**user).arg(password),
            None if self.password.is_some() => auth.arg(password),
            None => return Ok(None),
        };
        Ok(Some(auth))
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
        let mut connection = self.reach(sentinel).await?;
        let question = redis::cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(master).to_owned();
        let mut answer = connection.send_packed_command(&question).await.map_err(read_error)?;
        if let (Value::ServerError(error), Some(auth)) = (&answer, self.auth()?) {
            // A sentinel that asks who one is, is taken to know the same users as the server.
            if error.code() == "NOAUTH" {
                introduce(&mut connection, Pipeline::new().add_command(auth)).await?;
                answer = connection.send_packed_command(&question).await.map_err(read_error)?;
            }
        }
        match answer {
            Value::Nil => Err(ReadError::SchemaMismatch(
                "the sentinels know no master of the name in the store's address".to_owned(),
            )),
            Value::Array(parts) => host(&parts).ok_or_else(not_understood),
            Value::ServerError(error) => Err(of_sentinel(&answered("sentinel", &error))),
            _ => Err(not_understood()),
        }
    }

    /// Opens a connection to a server, as nobody yet.
    async fn reach(&self, host: &Host) -> Result<MultiplexedConnection, ReadError> {
        let client = match (&self.tls, host) {
            (_, Host::Socket(path)) => Client::open(info(ConnectionAddr::Unix(path.clone()))?),
            (Tls::Off, Host::Tcp { name, port }) => Client::open(info(ConnectionAddr::Tcp(name.to_string(), *port))?),
            (Tls::Verify { .. }, Host::Tcp { name, port }) => {
                choose_cryptography();
                let host = name.to_string();
                let address = ConnectionAddr::TcpTls { host, port: *port, insecure: false, tls_params: None };
                Client::build_with_tls(info(address)?, certificates(&self.tls)?)
            }
        };
        // The deadline is kept outside: it holds for the whole reading.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let client = client.map_err(read_error)?;
        client.get_multiplexed_async_connection_with_config(&config).await.map_err(read_error)
    }
}

/// Nothing is sent of its own accord: each command would be one more to grant.
fn info(address: ConnectionAddr) -> Result<ConnectionInfo, ReadError> {
    let info = address.into_connection_info().map_err(read_error)?;
    Ok(info.set_redis_settings(RedisConnectionInfo::default().set_skip_set_lib_name()))
}

/// Gives commands that are only to succeed.
async fn introduce(connection: &mut MultiplexedConnection, commands: &Pipeline) -> Result<(), ReadError> {
    if commands.is_empty() {
        return Ok(());
    }
    let answers = connection.send_packed_commands(commands, 0, commands.len()).await.map_err(read_error)?;
    let refused = answers.iter().enumerate().find_map(|(at, answer)| match answer {
        Value::ServerError(error) => Some(answered(&name(commands, at), error)),
        _ => None,
    });
    refused.map_or(Ok(()), Err)
}

/// The address that a sentinel gives.
fn host(parts: &[Value]) -> Option<Host> {
    let [Value::BulkString(name), Value::BulkString(port)] = parts else { return None };
    let name = std::str::from_utf8(name).ok()?.into();
    Some(Host::Tcp { name, port: std::str::from_utf8(port).ok()?.parse().ok()? })
}

/// What a sentinel answers is not of the server that it watches.
fn of_sentinel(error: &ReadError) -> ReadError {
    ReadError::Refused(format!("of a sentinel: {error}"))
}

fn certificates(tls: &Tls) -> Result<TlsCertificates, ReadError> {
    let Tls::Verify { ca_file, identity } = tls else {
        return Ok(TlsCertificates { client_tls: None, root_cert: None });
    };
    let root_cert = ca_file.as_ref().map(|file| pem("ca_file", file)).transpose()?;
    if let Some(pem) = &root_cert
        && !CertificateDer::pem_slice_iter(pem).any(|certificate| certificate.is_ok())
    {
        return Err(ReadError::Refused("the file that `ca_file` names holds no certificate".to_owned()));
    }
    let client_tls = match identity {
        None => None,
        Some(identity) => Some(ClientTlsConfig {
            client_cert: pem("cert_file", &identity.cert_file)?,
            client_key: pem("key_file", &identity.key_file)?,
        }),
    };
    Ok(TlsCertificates { client_tls, root_cert })
}

fn pem(key: &str, file: &Path) -> Result<Vec<u8>, ReadError> {
    std::fs::read(file)
        .map_err(|error| ReadError::Refused(format!("the file that `{key}` names cannot be read: {}", error.kind())))
}
