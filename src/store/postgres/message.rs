//! Splits the bytes of a connection into the server's messages.
//!
//! A message begins with a type and a length. The length is checked before memory is allocated, and memory grows with the
//! received bytes, not with the announced length. So a peer that is not PostgreSQL cannot make the exporter use memory.

use std::io;
use std::ops::Range;

use bytes::{Buf, BytesMut};
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::failure::{Failure, ServerError};
use crate::store::tls::Stream;

/// The longest message, in bytes.
pub(super) const LONGEST: usize = 64 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
const HEADER: usize = 5;

pub(super) enum ServerMessage<'a> {
    Row(&'a [u8]),
    Other(Message),
}

/// The messages of a server.
pub(super) struct MessageStream {
    stream: Box<dyn Stream>,
    received: BytesMut,
    /// The number of bytes at the beginning of `received` that were returned already.
    consumed: usize,
}

impl MessageStream {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, received: BytesMut::new(), consumed: 0 }
    }

    pub(super) async fn send(&mut self, messages: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(messages).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next message. An error message of the server is an `Err`.
    pub(super) async fn next(&mut self) -> Result<ServerMessage<'_>, Failure> {
        self.fill(HEADER).await?;
        let header = Header::parse(&self.received[self.consumed..]).map_err(|_| Failure::Protocol)?;
        let (tag, length) = header.map(|header| (header.tag(), header.len())).ok_or(Failure::Protocol)?;
        // The length does not count the type. The parser takes a length of 2^31 or more as negative and refuses it.
        let length = usize::try_from(length).map_err(|_| Failure::Protocol)? + 1;
        if length > LONGEST {
            return Err(Failure::TooLong);
        }
        self.fill(length).await?;
        if tag == DATA_ROW_TAG {
            let body = self.consumed + HEADER..self.consumed + length;
            self.consumed += length;
            return Ok(ServerMessage::Row(&self.received[body]));
        }
        self.received.advance(self.consumed);
        self.consumed = 0;
        let mut bytes = self.received.split_to(length);
        match Message::parse(&mut bytes) {
            Ok(Some(Message::ErrorResponse(body))) => Err(Failure::Server(ServerError::of(&body)?)),
            Ok(Some(message)) => Ok(ServerMessage::Other(message)),
            Ok(None) | Err(_) => Err(Failure::Protocol),
        }
    }

    /// The next message with a result. It skips confirmations, and notices, notifications and parameters, which a server may
    /// send at any time.
    pub(super) async fn next_answer(&mut self) -> Result<ServerMessage<'_>, Failure> {
        use Message::{BindComplete, NoticeResponse, NotificationResponse, ParameterStatus, ParseComplete};
        // A row borrows from the buffer, so it is taken only when it is returned at once.
        loop {
            if self.is_row().await? {
                return self.next().await;
            }
            match self.next().await? {
                ServerMessage::Other(ParseComplete | BindComplete) => {}
                ServerMessage::Other(NoticeResponse(_) | NotificationResponse(_) | ParameterStatus(_)) => {}
                ServerMessage::Other(message) => return Ok(ServerMessage::Other(message)),
                ServerMessage::Row(_) => return Err(Failure::Protocol),
            }
        }
    }

    async fn is_row(&mut self) -> Result<bool, Failure> {
        self.fill(1).await?;
        Ok(self.received[self.consumed] == DATA_ROW_TAG)
    }

    /// Frees the memory of a large response.
    pub(super) fn release(&mut self) {
        if self.consumed == self.received.len() {
            (self.received, self.consumed) = (BytesMut::new(), 0);
        }
    }

    /// The size of the buffer.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.received.capacity()
    }

    /// Reads until the buffer has this number of bytes that were not returned yet.
    async fn fill(&mut self, needed: usize) -> Result<(), Failure> {
        if self.received.len() - self.consumed >= needed {
            return Ok(());
        }
        self.received.advance(self.consumed);
        self.consumed = 0;
        while self.received.len() < needed {
            // The buffer is doubled. It does not grow to the announced length at once.
            if self.received.capacity() - self.received.len() < CHUNK / 2 {
                self.received.reserve(CHUNK.max(self.received.len()));
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
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

/// Finds the values of a row; `None` stands for NULL. The caller keeps `places`, so that rows need no allocation.
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
