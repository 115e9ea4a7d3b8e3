//! The connection's bytes, taken apart into the server's messages.
//!
//! A message begins with a type and a length. The length is checked before anything is allocated for it, and memory grows
//! with what arrives and not with what is announced: a server that is none cannot make the exporter take memory.

use std::io;
use std::ops::Range;

use bytes::{Buf, BytesMut};
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::failure::{Failure, ServerError};

/// A transport of bytes: TCP or a Unix socket, with TLS or without.
pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// The most that one message may take: a row, or an error.
pub(super) const LONGEST: usize = 64 * 1024 * 1024;
/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// Type and length.
const HEADER: usize = 5;

/// One message of the server.
pub(super) enum ServerMessage<'a> {
    /// A row, as its values are encoded.
    Row(&'a [u8]),
    /// Any other.
    Other(Message),
}

/// The server's messages, one after the other.
pub(super) struct MessageStream {
    transport: Box<dyn Transport>,
    received: BytesMut,
    /// How much of it, at its beginning, was given out.
    given: usize,
}

impl MessageStream {
    pub(super) fn new(transport: Box<dyn Transport>) -> Self {
        Self { transport, received: BytesMut::new(), given: 0 }
    }

    /// Sends whole messages, in one go.
    pub(super) async fn send(&mut self, messages: &[u8]) -> Result<(), Failure> {
        self.transport.write_all(messages).await?;
        Ok(self.transport.flush().await?)
    }

    /// The next message, whatever it is. An error that the server tells is one.
    pub(super) async fn next(&mut self) -> Result<ServerMessage<'_>, Failure> {
        self.fill(HEADER).await?;
        let header = Header::parse(&self.received[self.given..]).map_err(|_| Failure::Protocol)?;
        let (tag, length) = header.map(|header| (header.tag(), header.len())).ok_or(Failure::Protocol)?;
        // The type is not counted in it. A length of 2^31 and more is negative to the parser, which refuses it.
        let length = usize::try_from(length).map_err(|_| Failure::Protocol)? + 1;
        if length > LONGEST {
            return Err(Failure::TooLong);
        }
        self.fill(length).await?;
        if tag == DATA_ROW_TAG {
            let body = self.given + HEADER..self.given + length;
            self.given += length;
            return Ok(ServerMessage::Row(&self.received[body]));
        }
        self.received.advance(self.given);
        self.given = 0;
        let mut bytes = self.received.split_to(length);
        match Message::parse(&mut bytes) {
            Ok(Some(Message::ErrorResponse(body))) => Err(ServerError::of(&body)?.into()),
            Ok(Some(message)) => Ok(ServerMessage::Other(message)),
            Ok(None) | Err(_) => Err(Failure::Protocol),
        }
    }

    /// The next message that answers something; notices, notifications and parameters may come in between at any time.
    pub(super) async fn next_answer(&mut self) -> Result<ServerMessage<'_>, Failure> {
        use Message::{NoticeResponse, NotificationResponse, ParameterStatus};
        // A row borrows from the buffer, so it is looked at only once it is known to be given out.
        loop {
            if self.is_row().await? {
                return self.next().await;
            }
            match self.next().await? {
                ServerMessage::Other(NoticeResponse(_) | NotificationResponse(_) | ParameterStatus(_)) => {}
                ServerMessage::Other(message) => return Ok(ServerMessage::Other(message)),
                ServerMessage::Row(_) => return Err(Failure::Protocol),
            }
        }
    }

    async fn is_row(&mut self) -> Result<bool, Failure> {
        self.fill(1).await?;
        Ok(self.received[self.given] == DATA_ROW_TAG)
    }

    /// Gives back the memory of a large answer.
    pub(super) fn release(&mut self) {
        if self.given == self.received.len() {
            (self.received, self.given) = (BytesMut::new(), 0);
        }
    }

    /// How much memory is taken for what came.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.received.capacity()
    }

    /// Reads until so many bytes are there that were not given out.
    async fn fill(&mut self, wanted: usize) -> Result<(), Failure> {
        if self.received.len() - self.given >= wanted {
            return Ok(());
        }
        self.received.advance(self.given);
        self.given = 0;
        while self.received.len() < wanted {
            // Twice as much as there is, and not as much as is announced.
            if self.received.capacity() - self.received.len() < CHUNK / 2 {
                self.received.reserve(CHUNK.max(self.received.len()));
            }
            if self.transport.read_buf(&mut self.received).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for MessageStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<connection>")
    }
}

/// Where the values of a row are in it; `None` for NULL. `places` is filled anew, so that rows need no memory of their own.
pub(super) fn values(row: &[u8], places: &mut Vec<Option<Range<usize>>>) -> Result<(), Failure> {
    places.clear();
    let Some((count, mut rest)) = row.split_first_chunk() else { return Err(Failure::Protocol) };
    for _ in 0..u16::from_be_bytes(*count) {
        let Some((length, behind)) = rest.split_first_chunk() else { return Err(Failure::Protocol) };
        let at = row.len() - behind.len();
        match i32::from_be_bytes(*length) {
            -1 => {
                places.push(None);
                rest = behind;
            }
            length => {
                let Ok(length) = usize::try_from(length) else { return Err(Failure::Protocol) };
                let Some(next) = behind.get(length..) else { return Err(Failure::Protocol) };
                places.push(Some(at..at + length));
                rest = next;
            }
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(Failure::Protocol) }
}
