//! One reading: what is sent for it, and what the answer is made into.

use std::ops::Range;
use std::time::Duration;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::Message;

use super::columns::{DatabaseTypes, ResultColumns};
use super::failure::{Failure, standby};
use super::message::{MessageStream, ServerMessage, values};
use super::pipeline::Pipeline;
use super::value::Kind;
use crate::clock;
use crate::lease::{ReadInterval, Reading};
use crate::store::column::{Value, columns};
use crate::store::rows::{Decoder, no_row};
use crate::store::sql::HAS_PARAMETERS;
use crate::store::{ReadError, Scope, Zone};

/// Each time that so many rows are decoded is a unit of the task's budget (128 of them): once it is spent, other tasks run,
/// and the deadline of the reading is looked at.
const ROWS_AT_ONCE: usize = 16;

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

/// The columns of a query, asked for without running it: a statement that returns none is never run.
pub(super) async fn described(
    prelude: &Prelude,
    sql: &str,
    stream: &mut MessageStream,
) -> Result<ResultColumns, Failure> {
    let mut pipeline = prelude.pipeline()?;
    pipeline.describe(sql)?;
    pipeline.run(END)?;
    prelude.hold(pipeline, stream).await?;
    let mut has_parameters = false;
    let found = loop {
        match stream.next_answer().await? {
            ServerMessage::Other(Message::ParseComplete) => {}
            ServerMessage::Other(Message::ParameterDescription(body)) => {
                has_parameters = body.parameters().count().map_err(|_| Failure::Protocol)? > 0;
            }
            ServerMessage::Other(Message::RowDescription(body)) => break Some(ResultColumns::of(&body)?),
            ServerMessage::Other(Message::NoData) => break None,
            _ => return Err(Failure::Protocol),
        }
    };
    complete(stream).await?;
    ready(stream).await?;
    let described = found.ok_or_else(returns_nothing)?;
    if has_parameters { Err(ReadError::SchemaMismatch(HAS_PARAMETERS.into()).into()) } else { Ok(described) }
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
            ServerMessage::Other(Message::ParseComplete | Message::BindComplete) => {}
            ServerMessage::Row(row) => {
                values(row, &mut places)?;
                let values: Vec<_> = places.iter().map(|place| place.clone().map(|place| &row[place])).collect();
                each(&values);
            }
            ServerMessage::Other(Message::CommandComplete(_)) => break,
            _ => return Err(Failure::Protocol),
        }
    }
    complete(stream).await?;
    ready(stream).await
}

/// Everything that a reading depends on.
pub(super) struct ReadRequest<'a> {
    pub(super) prelude: &'a Prelude,
    pub(super) sql: &'a str,
    pub(super) scope: &'a Scope,
    pub(super) zone: Zone,
    pub(super) types: &'a DatabaseTypes,
}

/// The rows of the query, made into a reading, in one round trip.
pub(super) async fn read(request: &ReadRequest<'_>, stream: &mut MessageStream) -> Result<Reading, Failure> {
    let mut pipeline = request.prelude.pipeline()?;
    pipeline.query(request.sql)?;
    // After the rows, because asked before them it would fix the snapshot before the clock was read.
    pipeline.run("SELECT pg_is_in_recovery()")?;
    pipeline.run(END)?;
    let began = clock::monotonic();
    request.prelude.hold(pipeline, stream).await?;
    let mut decoding = Decoding::begin(request, stream, began).await?;
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
            ServerMessage::Other(Message::ParseComplete | Message::BindComplete) => {}
            // One value of one byte.
            ServerMessage::Row(row) => is_primary = row == [0, 1, 0, 0, 0, 1, 0],
            ServerMessage::Other(Message::CommandComplete(_)) => break,
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
            ServerMessage::Other(Message::ParseComplete | Message::BindComplete) => {}
            ServerMessage::Other(Message::CommandComplete(_)) => return Ok(()),
            _ => return Err(Failure::Protocol),
        }
    }
}

/// Waits for the end of a pipeline.
async fn ready(stream: &mut MessageStream) -> Result<(), Failure> {
    match stream.next_answer().await? {
        ServerMessage::Other(Message::ReadyForQuery(_)) => Ok(()),
        _ => Err(Failure::Protocol),
    }
}

fn returns_nothing() -> Failure {
    let text = "the query returns nothing, as one does that would write or set something; it must be one SELECT that \
                returns the columns of the reading contract";
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
    async fn begin(request: &ReadRequest<'_>, stream: &mut MessageStream, began: Duration) -> Result<Self, Failure> {
        let described = loop {
            match stream.next_answer().await? {
                ServerMessage::Other(Message::ParseComplete | Message::BindComplete) => {}
                ServerMessage::Other(Message::RowDescription(body)) => break ResultColumns::of(&body)?,
                ServerMessage::Other(Message::NoData) => return Err(returns_nothing()),
                _ => return Err(Failure::Protocol),
            }
        };
        let columns = columns(described.names())?;
        // On a connection that was kept, tables may have changed since it was opened; another one then asks anew.
        let changed = || ReadError::SchemaMismatch("a column is of another type than before".to_owned());
        let kinds =
            described.types().map(|oid| request.types.kind(oid).ok_or_else(changed)).collect::<Result<_, _>>()?;
        let (decoder, places) = (Decoder::new(columns, request.scope), Vec::new());
        Ok(Self { decoder, kinds, zone: request.zone, began, first: None, places })
    }

    async fn rows(&mut self, stream: &mut MessageStream) -> Result<(), Failure> {
        for taken in 1.. {
            match stream.next_answer().await? {
                ServerMessage::Row(row) => self.take(row)?,
                ServerMessage::Other(Message::CommandComplete(_)) => break,
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

    fn finish(self) -> Result<Reading, Failure> {
        let (ended, wall_clock) = self.first.ok_or_else(no_row)?;
        Ok(self.decoder.finish(ReadInterval { start: self.began, end: ended }, wall_clock)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn other_tasks_run_while_many_rows_are_decoded() {
        let row = [&b"D\0\0\0\x12\0\x01\0\0\0\x08"[..], &1_i64.to_be_bytes()].concat();
        let bytes = [row.repeat(50_000), b"C\0\0\0\x0dSELECT 1\0".to_vec()].concat();
        let (client, mut server) = duplex(bytes.len());
        server.write_all(&bytes).await.unwrap();
        let mut stream = MessageStream::new(Box::new(client));
        let scope = Scope { only_lease: "own".into(), max_leases: 100_000 };
        let mut decoding = Decoding {
            decoder: Decoder::new(columns(std::iter::once("store_now")).unwrap(), &scope),
            kinds: vec![Kind::Integer],
            zone: Zone::UTC,
            began: Duration::ZERO,
            first: None,
            places: Vec::new(),
        };
        let turns = Arc::new(AtomicUsize::new(0));
        let other = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        decoding.rows(&mut stream).await.unwrap();
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns >= 10, "{turns}");
        other.abort();
    }
}
