//! One reading: what is sent for it, and what the answer is made into.

use std::ops::Range;
use std::time::Duration;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::Message;

use super::columns::{DatabaseTypes, Described};
use super::failure::{Failure, parameters, standby};
use super::message::{MessageStream, Received, values};
use super::pipeline::Pipeline;
use super::value::Kind;
use crate::clock;
use crate::lease::At;
use crate::store::column::{Value, columns};
use crate::store::rows::{Decoder, no_row};
use crate::store::{ReadError, Scope, Taken, Zone};

/// After so many rows the decoding gives way to other tasks: to the deadline of the reading as well.
const ROWS_AT_ONCE: usize = 256;

/// How a transaction begins: what holds in it, a statement each.
pub(super) struct Prelude(pub(super) Vec<String>);

impl Prelude {
    /// A pipeline that begins with it.
    fn pipeline(&self) -> Result<Pipeline, Failure> {
        let mut pipeline = Pipeline::new();
        self.0.iter().try_for_each(|sql| pipeline.run(sql))?;
        Ok(pipeline)
    }

    /// Sends a pipeline that begins with it, and waits until all of it holds.
    async fn hold(&self, pipeline: Pipeline, stream: &mut MessageStream) -> Result<(), ReadError> {
        stream.send(&pipeline.finish()).await.map_err(Failure::before_query)?;
        for _ in &self.0 {
            complete(stream).await.map_err(Failure::before_query)?;
        }
        Ok(())
    }
}

/// Ends a pipeline whose transaction has nothing to keep.
const END: &str = "COMMIT";

/// What a query gives. It is not run, so that a statement which gives nothing never is.
pub(super) async fn described(prelude: &Prelude, sql: &str, stream: &mut MessageStream) -> Result<Described, Failure> {
    let mut pipeline = prelude.pipeline()?;
    pipeline.describe(sql)?;
    pipeline.run(END)?;
    prelude.hold(pipeline, stream).await?;
    let mut has_parameters = false;
    let found = loop {
        match stream.next_answer().await? {
            Received::Other(Message::ParseComplete) => {}
            Received::Other(Message::ParameterDescription(body)) => {
                has_parameters = body.parameters().count().map_err(|_| Failure::Protocol)? > 0;
            }
            Received::Other(Message::RowDescription(body)) => break Some(Described::of(&body)?),
            Received::Other(Message::NoData) => break None,
            _ => return Err(Failure::Protocol),
        }
    };
    complete(stream).await?;
    ready(stream).await?;
    let described = found.ok_or_else(returns_nothing)?;
    if has_parameters { Err(parameters().into()) } else { Ok(described) }
}

/// The rows of a small query, by their values.
pub(super) async fn rows(
    prelude: &Prelude,
    sql: &str,
    stream: &mut MessageStream,
    mut each: impl FnMut(&[Option<&[u8]>]),
) -> Result<(), Failure> {
    let mut pipeline = prelude.pipeline()?;
    pipeline.run(sql)?;
    pipeline.run(END)?;
    prelude.hold(pipeline, stream).await?;
    let mut places = Vec::new();
    loop {
        match stream.next_answer().await? {
            Received::Other(Message::ParseComplete | Message::BindComplete) => {}
            Received::Row(row) => {
                values(row, &mut places)?;
                let values: Vec<_> = places.iter().map(|place| place.clone().map(|place| &row[place])).collect();
                each(&values);
            }
            Received::Other(Message::CommandComplete(_)) => break,
            _ => return Err(Failure::Protocol),
        }
    }
    complete(stream).await?;
    ready(stream).await
}

/// What a reading needs to know.
pub(super) struct Ask<'a> {
    pub(super) prelude: &'a Prelude,
    pub(super) sql: &'a str,
    pub(super) scope: &'a Scope,
    pub(super) zone: Zone,
    pub(super) types: &'a DatabaseTypes,
}

/// The rows of the query, made into a reading, in one round trip.
pub(super) async fn read(ask: &Ask<'_>, stream: &mut MessageStream) -> Result<Taken, Failure> {
    let mut pipeline = ask.prelude.pipeline()?;
    pipeline.query(ask.sql)?;
    // After the rows, because asked before them it would fix the snapshot before the clock was read.
    pipeline.run("SELECT pg_is_in_recovery()")?;
    pipeline.run(END)?;
    let began = clock::monotonic();
    ask.prelude.hold(pipeline, stream).await?;
    let mut decoding = Decoding::begin(ask, stream, began).await?;
    decoding.rows(stream).await?;
    if !is_primary(stream).await? {
        return Err(standby().into());
    }
    ready(stream).await?;
    stream.release();
    decoding.finish()
}

/// Whether the server says that it follows no other.
async fn is_primary(stream: &mut MessageStream) -> Result<bool, Failure> {
    let mut is_primary = false;
    loop {
        match stream.next_answer().await? {
            Received::Other(Message::ParseComplete | Message::BindComplete) => {}
            // One value of one byte.
            Received::Row(row) => is_primary = row == [0, 1, 0, 0, 0, 1, 0],
            Received::Other(Message::CommandComplete(_)) => break,
            _ => return Err(Failure::Protocol),
        }
    }
    complete(stream).await?;
    Ok(is_primary)
}

/// Waits until a statement without rows is complete.
async fn complete(stream: &mut MessageStream) -> Result<(), Failure> {
    loop {
        match stream.next_answer().await? {
            Received::Other(Message::ParseComplete | Message::BindComplete) => {}
            Received::Other(Message::CommandComplete(_)) => return Ok(()),
            _ => return Err(Failure::Protocol),
        }
    }
}

/// Waits for the end of a pipeline.
async fn ready(stream: &mut MessageStream) -> Result<(), Failure> {
    match stream.next_answer().await? {
        Received::Other(Message::ReadyForQuery(_)) => Ok(()),
        _ => Err(Failure::Protocol),
    }
}

fn returns_nothing() -> Failure {
    let text = "the query returns nothing; it must be one SELECT that returns the columns of the reading contract";
    ReadError::SchemaMismatch(text.to_owned()).into()
}

/// Rows as they come.
struct Decoding {
    decoder: Decoder,
    kinds: Vec<Kind>,
    zone: Zone,
    began: Duration,
    /// When the first row came, by both clocks: the snapshot and the store's clock are fixed then.
    first: Option<(Duration, f64)>,
    /// Where the values of the row are that is decoded.
    places: Vec<Option<Range<usize>>>,
}

impl Decoding {
    /// Once the columns are there.
    async fn begin(ask: &Ask<'_>, stream: &mut MessageStream, began: Duration) -> Result<Self, Failure> {
        let described = loop {
            match stream.next_answer().await? {
                Received::Other(Message::ParseComplete | Message::BindComplete) => {}
                Received::Other(Message::RowDescription(body)) => break Described::of(&body)?,
                Received::Other(Message::NoData) => return Err(returns_nothing()),
                _ => return Err(Failure::Protocol),
            }
        };
        let columns = columns(described.names())?;
        // On a connection that was kept, tables may have changed since it was opened; another one then asks anew.
        let changed = || ReadError::SchemaMismatch("a column is of another type than before".to_owned());
        let kinds = described.types().map(|oid| ask.types.kind(oid).ok_or_else(changed)).collect::<Result<_, _>>()?;
        let (decoder, places) = (Decoder::new(columns, ask.scope), Vec::new());
        Ok(Self { decoder, kinds, zone: ask.zone, began, first: None, places })
    }

    async fn rows(&mut self, stream: &mut MessageStream) -> Result<(), Failure> {
        for taken in 1.. {
            match stream.next_answer().await? {
                Received::Row(row) => self.take(row)?,
                Received::Other(Message::CommandComplete(_)) => break,
                _ => return Err(Failure::Protocol),
            }
            if taken % ROWS_AT_ONCE == 0 {
                tokio::task::coop::consume_budget().await;
            }
        }
        Ok(())
    }

    fn take(&mut self, row: &[u8]) -> Result<(), Failure> {
        let Self { decoder, kinds, zone, first, places, .. } = self;
        first.get_or_insert_with(|| (clock::monotonic(), clock::unix_seconds()));
        values(row, places)?;
        if places.len() != kinds.len() {
            return Err(Failure::Protocol);
        }
        Ok(decoder.row(|at| match (places.get(at), kinds.get(at)) {
            (Some(Some(place)), Some(kind)) => kind.value(&row[place.clone()], *zone),
            (Some(None), _) => Value::Null,
            _ => Value::Other,
        })?)
    }

    fn finish(self) -> Result<Taken, Failure> {
        let (ended, wall_clock) = self.first.ok_or_else(no_row)?;
        Ok(self.decoder.finish(At { began: self.began, ended }, wall_clock)?)
    }
}
