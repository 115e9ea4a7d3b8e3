//! A connection that sends commands and reads their replies.

#[cfg(test)]
pub(super) mod canned_server;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};

use super::command::Commands;
use super::failure::{answered, malformed, not_understood};
use super::resp::{Parser, Part, Replies, Reply};
use crate::store::ReadError;
use crate::store::tls::Stream;
use crate::store::transport::io_error;

/// The number of bytes that are read at once, and the number of unsent bytes at which no more commands are added.
const CHUNK: usize = 64 * 1024;
/// A larger buffer is freed when it is empty.
const LONGEST_KEPT: usize = 4 * CHUNK;

/// A connection. Replies come in the order of commands, so a connection cannot be used after an error.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    commands: Commands,
    received: BytesMut,
    parser: Parser,
}

/// A reply, and the name of the command that it answers.
pub(super) type Answer<'c> = (&'static str, Reply<'c>);

/// Adds further commands to those that wait to be sent. `false` means that there are no more.
pub(super) type CommandSource<'m> = dyn FnMut(&mut Commands) -> bool + Send + 'm;

/// The elements of an array that are still to be read.
pub(super) struct Elements<'c> {
    connection: &'c mut Connection,
    left: usize,
}

impl Connection {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, commands: Commands::default(), received: BytesMut::new(), parser: Parser::default() }
    }

    /// The commands that are to be sent. They are sent when a reply is waited for.
    pub(super) const fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// The reply to the next command that is not answered yet. While it is waited for, further commands are sent.
    pub(super) async fn answer(&mut self, more: &mut CommandSource<'_>) -> Result<Answer<'_>, ReadError> {
        self.parse(1, false, more).await?;
        let name = self.commands.answered();
        name.zip(self.parsed(1).next()).ok_or_else(not_understood)
    }

    /// The reply to the next command that is not answered yet, if it is no error.
    pub(super) async fn reply(&mut self) -> Result<Reply<'_>, ReadError> {
        match self.answer(&mut |_| false).await? {
            (name, Reply::Error(error)) => Err(answered(name, error)),
            (_, reply) => Ok(reply),
        }
    }

    /// The reply to the next command that is not answered yet, if it is an array. Its elements are still to be read.
    pub(super) async fn array(&mut self) -> Result<Elements<'_>, ReadError> {
        self.parse(1, true, &mut |_| false).await?;
        let name = self.commands.answered();
        match self.parser.parts() {
            [Part::Array(count)] => Ok(Elements { left: *count as usize, connection: self }),
            _ => Err(match name.zip(self.parsed(1).next()) {
                Some((name, Reply::Error(error))) => answered(name, error),
                _ => not_understood(),
            }),
        }
    }

    fn parsed(&self, replies: usize) -> Replies<'_> {
        Replies::new(replies, self.parser.parts(), &self.received)
    }

    /// Parses a number of replies, or the header of an array, and drops those before.
    async fn parse(&mut self, replies: usize, head: bool, more: &mut CommandSource<'_>) -> Result<(), ReadError> {
        self.parser.finish(&mut self.received);
        if self.received.is_empty() && self.received.capacity() > LONGEST_KEPT {
            self.received = BytesMut::new();
        }
        for _ in 0..replies {
            while !self.parser.parse(&mut self.received, head).map_err(malformed)? {
                self.received.reserve(CHUNK);
                if poll_fn(|context| self.poll(context, more)).await.map_err(io_error)? == 0 {
                    return Err(io_error(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
        Ok(())
    }

    /// Sends and reads in parallel, because a server or a proxy may accept no more commands until its replies are read.
    fn poll(&mut self, context: &mut Context<'_>, more: &mut CommandSource<'_>) -> Poll<io::Result<usize>> {
        let sent = self.poll_send(context, more);
        let read = pin!(self.stream.read_buf(&mut self.received)).poll(context);
        match (read, sent) {
            // Before it closes a connection, a server sends the reason.
            (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error)),
            (read, _) => read,
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>, more: &mut CommandSource<'_>) -> Poll<io::Result<()>> {
        loop {
            while self.commands.unsent().len() < CHUNK && more(&mut self.commands) {}
            let unsent = self.commands.unsent();
            if unsent.is_empty() {
                return Pin::new(&mut self.stream).poll_flush(context);
            }
            match ready!(Pin::new(&mut self.stream).poll_write(context, unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => unsent.advance(sent),
            }
        }
    }
}

impl Elements<'_> {
    pub(super) const fn left(&self) -> usize {
        self.left
    }

    pub(super) async fn next(&mut self, count: usize) -> Result<Replies<'_>, ReadError> {
        self.left = self.left.checked_sub(count).ok_or_else(not_understood)?;
        self.connection.parse(count, false, &mut |_| false).await?;
        Ok(self.connection.parsed(count))
    }

    pub(super) async fn array(&mut self) -> Result<Elements<'_>, ReadError> {
        self.left = self.left.checked_sub(1).ok_or_else(not_understood)?;
        self.connection.parse(1, true, &mut |_| false).await?;
        match self.connection.parser.parts() {
            [Part::Array(count)] => Ok(Elements { left: *count as usize, connection: self.connection }),
            _ => Err(not_understood()),
        }
    }

    pub(super) fn end(self) -> Result<(), ReadError> {
        if self.left == 0 { Ok(()) } else { Err(not_understood()) }
    }
}
