use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::{self, sleep};

use super::*;
use crate::lease::{Columns, ReadInterval, Reading, RecordSet, StoreTime};

/// The reaction of a server to one step.
#[derive(Clone, Copy, Debug)]
enum Reaction {
    Answer,
    Fail,
    Miss,
    Refuse,
    Nothing,
}

#[derive(Debug, Default)]
struct Script {
    connects: Vec<Reaction>,
    reads: Vec<Reaction>,
    connected: AtomicUsize,
    read: AtomicUsize,
    open: Arc<()>,
}

impl Script {
    async fn step(does: Option<&Reaction>) -> Result<(), ReadError> {
        match does.unwrap_or(&Reaction::Answer) {
            Reaction::Answer => Ok(()),
            Reaction::Fail => Err(ReadError::Unreachable("gone".into())),
            Reaction::Miss => Err(ReadError::SchemaMismatch("no table".into())),
            Reaction::Refuse => Err(ReadError::Refused("no".into())),
            Reaction::Nothing => std::future::pending().await,
        }
    }
}

impl Driver for Script {
    type Connection = Arc<()>;

    async fn connect(&self, _: Instant) -> Result<Arc<()>, ReadError> {
        Self::step(self.connects.get(self.connected.fetch_add(1, Ordering::Relaxed))).await?;
        Ok(Arc::clone(&self.open))
    }

    async fn read(&mut self, _: &mut Arc<()>, _: Instant) -> ReadResult {
        Self::step(self.reads.get(self.read.fetch_add(1, Ordering::Relaxed))).await?;
        Ok(Reading {
            interval: ReadInterval { start: Duration::ZERO, end: Duration::ZERO },
            store_now: StoreTime::from_unix_seconds(0).unwrap(),
            clock_offset: 0.0,
            columns: Columns::all(),
            records: RecordSet::default(),
        })
    }
}

fn link(connects: &[Reaction], reads: &[Reaction]) -> ServerStore<Script> {
    ServerStore::new(Script { connects: connects.into(), reads: reads.into(), ..Script::default() })
}

/// Reads, and gives what came of it in a word, and how many milliseconds it took.
async fn read(link: &mut ServerStore<Script>) -> (&'static str, u128) {
    let began = Instant::now();
    let result = link.read(began + Duration::from_secs(2)).await;
    (result.map_or_else(|error| error.failure().as_str(), |_| "read"), began.elapsed().as_millis())
}

fn opened(link: &ServerStore<Script>) -> usize {
    link.driver.connected.load(Ordering::Relaxed)
}

/// How many connections are open now.
fn open(link: &ServerStore<Script>) -> usize {
    Arc::strong_count(&link.driver.open) - 1
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_from_read_to_read() {
    let mut link = link(&[], &[]);
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!((opened(&link), open(&link)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_closed_is_replaced_within_the_same_read() {
    let mut link = link(&[], &[Reaction::Answer, Reaction::Fail, Reaction::Answer]);
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!((opened(&link), open(&link)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_table_missing_on_a_kept_connection_is_looked_for_once_on_a_new_connection() {
    let mut link = link(&[], &[Reaction::Answer, Reaction::Miss, Reaction::Answer, Reaction::Miss, Reaction::Miss]);
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!(read(&mut link).await, ("read", 0));
    assert_eq!(read(&mut link).await, ("schema_mismatch", 0));
    assert_eq!((opened(&link), open(&link)), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_that_fails_is_not_retried() {
    let mut link = link(&[], &[Reaction::Fail]);
    assert_eq!(read(&mut link).await, ("store_unreachable", 0));
    assert_eq!((opened(&link), open(&link)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_the_connection_is_given_up() {
    for (does, word) in [(Reaction::Refuse, "store_refused"), (Reaction::Nothing, "store_timeout")] {
        let mut link = link(&[], &[Reaction::Answer, does]);
        read(&mut link).await;
        assert_eq!(read(&mut link).await.0, word);
        assert_eq!((opened(&link), open(&link)), (1, 0), "{word}");
        assert_eq!(read(&mut link).await.0, "read");
        assert_eq!(opened(&link), 2, "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_costs_the_deadline_and_no_more() {
    assert_eq!(read(&mut link(&[Reaction::Nothing], &[])).await, ("store_timeout", 2_000));
    assert_eq!(read(&mut link(&[], &[Reaction::Nothing])).await, ("store_timeout", 2_000));
}

#[tokio::test(start_paused = true)]
async fn attempts_at_a_server_that_is_down_grow_apart_up_to_a_limit_below_any_scrape_interval() {
    let mut link = link(&[Reaction::Fail; 7], &[]);
    let mut waits = Vec::new();
    for _ in 0..7 {
        let (word, waited) = read(&mut link).await;
        assert_eq!(word, "store_unreachable");
        waits.push(waited);
    }
    assert_eq!(waits, [0, 50, 100, 200, 400, 400, 400]);
    assert_eq!(read(&mut link).await, ("read", 400));
}

#[tokio::test(start_paused = true)]
async fn a_scrape_after_the_pause_does_not_wait() {
    let mut link = link(&[Reaction::Fail; 6], &[]);
    for _ in 0..6 {
        read(&mut link).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(read(&mut link).await, ("read", 0));
}

#[tokio::test(start_paused = true)]
async fn a_scrape_that_cannot_wait_for_the_pause_is_told_at_once_what_the_last_was_told() {
    for (does, reason) in [(Reaction::Fail, "store_unreachable"), (Reaction::Refuse, "store_refused")] {
        let mut link = link(&[does; 6], &[]);
        for _ in 0..6 {
            read(&mut link).await;
        }
        let began = time::Instant::now();
        let error = link.read(began + Duration::from_millis(300)).await.unwrap_err();
        assert_eq!((error.failure().as_str(), began.elapsed().as_millis()), (reason, 0));
        assert_eq!(opened(&link), 6);
    }
}
