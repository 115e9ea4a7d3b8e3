//! Statements that are sent together, before the first response.
//!
//! One `Sync` follows all of them. After an error the server skips all messages before it, so no statement runs after a
//! failed one, and a pooler uses one server connection for all. Prepared statements are unnamed, so none remains.

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{BindError, bind, describe, execute, parse, sync};

use super::failure::Failure;
use crate::store::ReadError;

/// Encoded messages.
pub(super) struct Pipeline(BytesMut);

/// The format of values: all binary.
const BINARY: [i16; 1] = [1];

impl Pipeline {
    pub(super) fn new() -> Self {
        Self(BytesMut::with_capacity(2 * 1024))
    }

    /// Runs a statement. The server answers with its rows, if it has any, and with its completion.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.prepare(sql)?;
        execute("", 0, &mut self.0).map_err(zero_byte)
    }

    /// Runs a query. The server answers with its columns, its rows and its completion.
    pub(super) fn query(&mut self, sql: &str) -> Result<(), Failure> {
        self.prepare(sql)?;
        describe(b'P', "", &mut self.0).map_err(zero_byte)?;
        execute("", 0, &mut self.0).map_err(zero_byte)
    }

    /// Asks for the parameters and columns of a statement, without running it.
    pub(super) fn describe(&mut self, sql: &str) -> Result<(), Failure> {
        parse("", sql, [], &mut self.0).map_err(zero_byte)?;
        describe(b'S', "", &mut self.0).map_err(zero_byte)
    }

    fn prepare(&mut self, sql: &str) -> Result<(), Failure> {
        parse("", sql, [], &mut self.0).map_err(zero_byte)?;
        let none = |(), _: &mut BytesMut| Ok(IsNull::Yes);
        bind("", "", [], [], none, BINARY, &mut self.0).map_err(|error| match error {
            BindError::Conversion(_) => Failure::Protocol,
            BindError::Serialization(error) => zero_byte(error),
        })
    }

    /// The messages, with `Sync` at the end.
    pub(super) fn finish(mut self) -> BytesMut {
        sync(&mut self.0);
        self.0
    }
}

/// The error for a statement that a message cannot contain.
fn zero_byte(_: std::io::Error) -> Failure {
    ReadError::SchemaMismatch("the query has a zero byte in it, or is far too long".into()).into()
}
