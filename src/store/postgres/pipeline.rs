//! Statements that are sent together, in one go and without waiting for what the server says of the first of them.
//!
//! All of them are before one `Sync`. That is what makes it safe: after an error the server passes over everything up to it,
//! so a statement never runs where one before it failed, and a pooler gives all of them one server connection. Statements
//! have no name, so none outlives its use.

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{BindError, bind, describe, execute, parse, sync};

use super::failure::Failure;
use crate::store::ReadError;

/// Statements on their way.
pub(super) struct Pipeline(BytesMut);

/// How values are encoded: all in binary.
const BINARY: [i16; 1] = [1];

impl Pipeline {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self(BytesMut::with_capacity(2 * 1024))
    }

    /// Runs a statement. What comes are its rows, if it has any, and that it is complete.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.prepare(sql)?;
        execute("", 0, &mut self.0).map_err(zero_byte)
    }

    /// Runs a query. What comes are its columns, its rows, and that it is complete.
    pub(super) fn query(&mut self, sql: &str) -> Result<(), Failure> {
        self.prepare(sql)?;
        describe(b'P', "", &mut self.0).map_err(zero_byte)?;
        execute("", 0, &mut self.0).map_err(zero_byte)
    }

    /// Asks what a statement takes and gives, and does not run it.
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

    /// The messages, and the end of the pipeline.
    pub(super) fn finish(mut self) -> BytesMut {
        sync(&mut self.0);
        self.0
    }
}

/// The only text that a message cannot take.
fn zero_byte(_: std::io::Error) -> Failure {
    ReadError::SchemaMismatch("the query has a zero byte in it, or is far too long".to_owned()).into()
}
