//! Sends the statements of a reading and decodes the response.

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

/// The number of rows that cost one unit of the task's budget of 128. When the budget is spent, other tasks run and the
/// deadline is checked.
const ROWS_AT_ONCE: usize = 16;

/// The statements that begin a transaction.
pub(super) struct Prelude(pub(super) Vec<String>);

impl Prelude {
    /// A pipeline that begins with the prelude.
    fn pipeline(&self) -> Result<Pipeline, Failure> {
        let mut pipeline = Pipeline::new();
        self.0.iter().try_for_each(|sql| pipeline.run(sql))?;
        Ok(pipeline)
    }

    /// Sends a pipeline that begins with the prelude, and waits until the prelude is complete.
    async fn hold(&self, pipeline: Pipeline, stream: &mut MessageStream) -> Result<(), ReadError> {
        stream.send(&pipeline.finish()).await.map_err(Failure::before_query)?;
        for _ in &self.0 {
            complete(stream).await.map_err(Failure::before_query)?;
        }
        Ok(())
    }
}

/// Ends a transaction. There is nothing to commit.
const END: &str = "COMMIT";

/// The columns of a query, which is not run. A statement without columns is thus never run.
pub(super) async fn described(
    prelude: &Prelude,
    sql: &str,
    stream: &mut MessageStream,
) -> Result<ResultColumns, Failure> {
    let mut pipeline = prelude.pipeline()?;
    pipeline.describe(sql)?;
    pipeline.run(END)?;
    prelude.hold(pipeline, stream).await?;
    let parameters = match stream.next_answer().await? {
        ServerMessage::Other(Message::ParameterDescription(body)) => {
            body.parameters().count().map_err(|_| Failure::Protocol)?
        }
        _ => return Err(Failure::Protocol),
    };
    let described = columns_of_result(stream).await?;
    complete(stream).await?;
    ready(stream).await?;
    if parameters > 0 { Err(ReadError::SchemaMismatch(HAS_PARAMETERS.into()).into()) } else { Ok(described) }
}

/// Runs a small query and calls `each` with the values of each row.
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

/// The parameters of a reading.
pub(super) struct ReadRequest<'a> {
    pub(super) prelude: &'a Prelude,
    pub(super) sql: &'a str,
    pub(super) scope: &'a Scope,
    pub(super) zone: Zone,
    pub(super) types: &'a DatabaseTypes,
}

/// Runs the query and decodes its rows into a reading, in one round trip.
pub(super) async fn read(request: &ReadRequest<'_>, stream: &mut MessageStream) -> Result<Reading, Failure> {
    let mut pipeline = request.prelude.pipeline()?;
    pipeline.query(request.sql)?;
    // This is sent after the query, because it would create the snapshot before the query reads the clock.
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

/// Whether the server is a primary.
async fn is_primary(stream: &mut MessageStream) -> Result<bool, Failure> {
    // A row with one value of one byte.
    let is_primary = matches!(stream.next_answer().await?, ServerMessage::Row([0, 1, 0, 0, 0, 1, 0]));
    complete(stream).await?;
    complete(stream).await?;
    Ok(is_primary)
}

/// Waits until a statement without rows is complete.
async fn complete(stream: &mut MessageStream) -> Result<(), Failure> {
    match stream.next_answer().await? {
        ServerMessage::Other(Message::CommandComplete(_)) => Ok(()),
        _ => Err(Failure::Protocol),
    }
}

/// Waits for the end of a pipeline.
async fn ready(stream: &mut MessageStream) -> Result<(), Failure> {
    match stream.next_answer().await? {
        ServerMessage::Other(Message::ReadyForQuery(_)) => Ok(()),
        _ => Err(Failure::Protocol),
    }
}

/// The columns of a result. A statement without a result is refused.
async fn columns_of_result(stream: &mut MessageStream) -> Result<ResultColumns, Failure> {
    let text = "the query returns nothing, as one does that would write or set something; it must be one SELECT that \
                returns the columns of the reading contract";
    match stream.next_answer().await? {
        ServerMessage::Other(Message::RowDescription(body)) => ResultColumns::of(&body),
        ServerMessage::Other(Message::NoData) => Err(ReadError::SchemaMismatch(text.into()).into()),
        _ => Err(Failure::Protocol),
    }
}

/// Decodes rows while they arrive.
struct Decoding {
    decoder: Decoder,
    kinds: Vec<Kind>,
    zone: Zone,
    began: Duration,
    /// When the first row arrived, by both clocks: the snapshot and the store's clock are fixed then.
    first: Option<(Duration, f64)>,
    /// The positions of the values of the current row.
    places: Vec<Option<Range<usize>>>,
}

impl Decoding {
    /// Waits for the columns.
    async fn begin(request: &ReadRequest<'_>, stream: &mut MessageStream, began: Duration) -> Result<Self, Failure> {
        let described = columns_of_result(stream).await?;
        let columns = columns(described.names())?;
        // The tables may have changed since the connection was opened. The next connection looks the types up again.
        let changed = || ReadError::SchemaMismatch("a column is of another type than before".into());
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
