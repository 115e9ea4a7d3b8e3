//! The errors of Redis and Valkey, by who must act on them.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerError};

use crate::store::ReadError;

/// Why a transaction was not carried out.
#[derive(Debug)]
pub(super) enum Failure {
    /// The reason is told.
    Told(ReadError),
    /// The server does not know the command that tells at what time a key expires.
    NoExpiryTime,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Told(error)
    }
}

impl Failure {
    /// The server's answer to a command that it does not take.
    pub(super) fn of(command: &str, error: &ServerError) -> Self {
        let unknown = error.details().is_some_and(|details| details.starts_with("unknown command"));
        if unknown && command == "pexpiretime" { Self::NoExpiryTime } else { Self::Told(answered(command, error)) }
    }

    /// The reason.
    pub(super) fn into_read_error(self) -> ReadError {
        match self {
            Self::Told(error) => error,
            Self::NoExpiryTime => ReadError::Refused("the server does not tell when a key expires".to_owned()),
        }
    }
}

/// What answers is no such server.
pub(super) fn not_understood() -> ReadError {
    ReadError::Unreachable("what answers does not speak the protocol of Redis".to_owned())
}

/// What to say of a server by its role and mode, unless it can be read.
pub(super) fn of_role(role: Option<&[u8]>, mode: Option<&[u8]>) -> Result<(), ReadError> {
    match (role, mode) {
        (_, Some(b"cluster")) => Err(cluster()),
        (Some(b"master"), _) => Ok(()),
        (Some(_), _) => Err(replica()),
        (None, _) => Err(not_understood()),
    }
}

fn replica() -> ReadError {
    ReadError::Refused("this server is a replica, whose keys lag behind; read the primary".to_owned())
}

fn cluster() -> ReadError {
    ReadError::Refused("the server is one of a cluster, which is not supported".to_owned())
}

fn refused_version() -> ReadError {
    ReadError::Refused("the server is too old; Redis 6 or later is needed".to_owned())
}

/// The server's own error, by its first word. Nothing else of its text is passed on.
pub(super) fn answered(command: &str, error: &ServerError) -> ReadError {
    let details = error.details().unwrap_or_default();
    let says = |part: &str| details.contains(part);
    let refused = |what: &str| ReadError::Refused(what.to_owned());
    match error.code() {
        "NOAUTH" => refused("the server asks for a password; name a file with it in `password_file`"),
        "WRONGPASS" => refused("the server refuses the user or the password"),
        // The command was looked at first, so it is the key that may not be read.
        "NOPERM" if says("key") && !says("run the") => {
            refused(&format!("the user may not read these keys (`{command}`); grant it their names with `~`"))
        }
        // The one command that a transaction cannot be without is told of in another way.
        "NOPERM" | "EXECABORT" if error.code() == "NOPERM" || says("no permissions") => {
            refused(&format!("the user may not give the command `{command}`; grant it with `+{command}`"))
        }
        "LOADING" => ReadError::Unreachable("the server is still loading its data".to_owned()),
        "BUSY" => refused("the server is busy with a script that runs on"),
        "MASTERDOWN" => replica(),
        "MOVED" | "ASK" | "CLUSTERDOWN" | "CROSSSLOT" | "TRYAGAIN" => cluster(),
        "DENIED" => refused("the server is in protected mode, and lets no other machine in"),
        "ERR" if says("max number of clients") => refused("the server has no connection left"),
        "ERR" if says("DB index") => ReadError::SchemaMismatch("the server has no database of this number".to_owned()),
        "ERR" if says("unknown command") => refused(&format!(
            "the server does not know the command `{command}`; Redis 6 or later is needed, and not a sentinel"
        )),
        code if !code.is_empty() && code.len() <= 20 && code.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            refused(&format!("the server answered `{command}` with {code}"))
        }
        _ => refused(&format!("the server answered `{command}` with an error")),
    }
}

/// An error of the client, of which no text is passed on.
pub(super) fn read_error(error: RedisError) -> ReadError {
    match error.kind() {
        ErrorKind::Io => match cause(&error) {
            None => ReadError::Unreachable("the server ended the connection".to_owned()),
            Some(cause) => match cause.downcast_ref() {
                Some(error) => of_connection(error),
                None => {
                    ReadError::Unreachable("TLS: neither the host's name nor the system's trust can be used".to_owned())
                }
            },
        },
        ErrorKind::Parse => not_understood(),
        ErrorKind::InvalidClientConfig | ErrorKind::Client => {
            match cause(&error).and_then(|cause| cause.downcast_ref()) {
                Some(error) => ReadError::Unreachable(of_tls(error).to_owned()),
                None => ReadError::Refused("the client certificate or its key cannot be used".to_owned()),
            }
        }
        ErrorKind::RESP3NotSupported => refused_version(),
        _ => match ServerError::try_from(error) {
            Ok(error) => answered("hello", &error),
            Err(_) => ReadError::Unreachable("the connection failed".to_owned()),
        },
    }
}

/// What the client itself was told. It is shared there, and the pointer to it is an error of its own.
fn cause(error: &RedisError) -> Option<&(dyn Error + Send + Sync + 'static)> {
    error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>().map(AsRef::as_ref)
}

/// The connection could not be made, or broke.
fn of_connection(error: &io::Error) -> ReadError {
    let inner = error.get_ref();
    if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return ReadError::Unreachable(of_tls(error).to_owned());
    }
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens at the configured host and port",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            "the server ended the connection"
        }
        io::ErrorKind::NotFound => "there is no socket at the configured path",
        io::ErrorKind::PermissionDenied => "the exporter may not use the socket",
        // The system's resolver has no kind of its own.
        _ if error.raw_os_error().is_none() && error.to_string().contains("lookup address") => {
            "the host's name cannot be resolved"
        }
        kind => return ReadError::Unreachable(format!("the server cannot be reached: {kind}")),
    };
    ReadError::Unreachable(what.to_owned())
}

/// What is wrong with a connection that should be protected.
fn of_tls(error: &rustls::Error) -> &'static str {
    use rustls::{AlertDescription, CertificateError, Error};
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "TLS: the server's certificate is not signed by anyone trusted; name who signed it in `ca_file`"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "TLS: the server's certificate is for another host",
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "TLS: the server's certificate has expired"
        }
        Error::InvalidCertificate(_) => "TLS: the server's certificate is not valid",
        Error::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure) => {
            "TLS: the server asks for a client certificate; give `cert_file` and `key_file`"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate | AlertDescription::CertificateUnknown,
        ) => "TLS: the server does not trust the client certificate",
        Error::InvalidMessage(_) => "TLS: what answers there does not speak TLS; turn it on there, or write `redis://`",
        _ => "TLS: the two sides cannot agree on a protected connection",
    }
}
