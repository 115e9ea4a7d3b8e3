//! Login to a server.
//!
//! The password itself is sent only if the server requests it. The connection has TLS before, unless it is within this
//! machine or `tls: { mode: off }` is configured.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{password_message, sasl_initial_response, sasl_response};

use fallible_iterator::FallibleIterator;

use super::failure::Failure;
use super::message::{MessageStream, ServerMessage};
use crate::store::{Password, ReadError};

/// The login of the exporter.
pub(super) struct Authentication<'a> {
    user: &'a str,
    password: Option<Password>,
}

impl<'a> Authentication<'a> {
    pub(super) const fn new(user: &'a str, password: Option<Password>) -> Self {
        Self { user, password }
    }

    /// Answers the authentication requests of the server until it accepts the login.
    pub(super) async fn prove(&self, stream: &mut MessageStream) -> Result<(), Failure> {
        loop {
            match message(stream).await? {
                Message::AuthenticationOk => return Ok(()),
                Message::NoticeResponse(_) => {}
                Message::AuthenticationCleartextPassword => {
                    self.send_password(self.password()?.as_bytes(), stream).await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(self.user.as_bytes(), self.password()?.as_bytes(), body.salt());
                    self.send_password(hash.as_bytes(), stream).await?;
                }
                Message::AuthenticationSasl(body) => {
                    let known = |name: &str| Ok(name == SCRAM_SHA_256);
                    if !body.mechanisms().any(known).map_err(|_| Failure::Protocol)? {
                        return Err(unknown());
                    }
                    self.scram(stream).await?;
                }
                Message::AuthenticationKerberosV5
                | Message::AuthenticationScmCredential
                | Message::AuthenticationGss
                | Message::AuthenticationSspi => return Err(unknown()),
                _ => return Err(Failure::Protocol),
            }
        }
    }

    fn password(&self) -> Result<&str, Failure> {
        let absent = || ReadError::Refused("the server asks for a password; name a file in `password_file`".into());
        Ok(self.password.as_ref().ok_or_else(absent)?.reveal())
    }

    async fn send_password(&self, password: &[u8], stream: &mut MessageStream) -> Result<(), Failure> {
        let mut bytes = BytesMut::new();
        password_message(password, &mut bytes).map_err(|_| Failure::Protocol)?;
        stream.send(&bytes).await
    }

    /// SCRAM: proves the password without sending it, and checks that the server knows the password too.
    async fn scram(&self, stream: &mut MessageStream) -> Result<(), Failure> {
        let mut scram = ScramSha256::new(self.password()?.as_bytes(), ChannelBinding::unsupported());
        let mut bytes = BytesMut::new();
        sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut bytes).map_err(|_| Failure::Protocol)?;
        stream.send(&bytes).await?;
        let Message::AuthenticationSaslContinue(asked) = message(stream).await? else {
            return Err(Failure::Protocol);
        };
        // The server sets the number of hash iterations, up to 100,000, so the hash is computed on a blocking thread.
        let hashed = tokio::task::spawn_blocking(move || scram.update(asked.data()).map(|()| scram)).await;
        let mut scram = hashed.map_err(|_| unproven())?.map_err(|_| Failure::Protocol)?;
        bytes.clear();
        sasl_response(scram.message(), &mut bytes).map_err(|_| Failure::Protocol)?;
        stream.send(&bytes).await?;
        let Message::AuthenticationSaslFinal(proof) = message(stream).await? else {
            return Err(Failure::Protocol);
        };
        scram.finish(proof.data()).map_err(|_| unproven())
    }
}

/// The next message, which must not be a row.
async fn message(stream: &mut MessageStream) -> Result<Message, Failure> {
    match stream.next().await? {
        ServerMessage::Other(message) => Ok(message),
        ServerMessage::Row(_) => Err(Failure::Protocol),
    }
}

fn unknown() -> Failure {
    let text = "the server asks for a way of logging in that the exporter does not know; it knows scram-sha-256, md5, \
                password, cert and trust";
    ReadError::Refused(text.to_owned()).into()
}

fn unproven() -> Failure {
    ReadError::Refused("the server does not prove that it knows the password".into()).into()
}
