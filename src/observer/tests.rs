//! Reads that take long, fail, panic or never end. The clock of tokio is paused.

mod observed_source;

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::timeout_at;

use super::*;
use crate::expose::{Encoding, Format};
use crate::lease::{
    Clock, Columns, Epoch, LeaseKind, LeaseRecord, Policies, Policy, ReadFailure, ReadInterval, Reading, Reason,
    RecordSet, Rules, SourceEvaluator, State, StoreTime, TokenKey,
};
use crate::store::{ReadError, ReadResult, Store};

/// The behavior of a store when it is read.
#[derive(Clone, Copy, Debug)]
enum FakeRead {
    Answer(Duration),
    Fail,
    Panic,
    /// Responds only long after its deadline.
    IgnoreDeadline,
}

#[derive(Debug)]
struct Fake {
    read: Arc<Mutex<FakeRead>>,
    reads: Arc<AtomicUsize>,
}

impl Store for Fake {
    fn read(&mut self, deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>> {
        let behavior = *self.read.lock().unwrap();
        let read = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move {
            match behavior {
                FakeRead::Answer(takes) => match timeout_at(deadline, tokio::time::sleep(takes)).await {
                    Ok(()) => Ok(reading(read as u64)),
                    Err(_) => Err(ReadError::Timeout("slow".into())),
                },
                FakeRead::Fail => Err(ReadError::Refused("no".into())),
                FakeRead::Panic => panic!("a store that panics"),
                FakeRead::IgnoreDeadline => {
                    tokio::time::sleep(Duration::from_secs(3_600)).await;
                    Ok(reading(read as u64))
                }
            }
        })
    }
}

/// A reading with one lease, whose epoch is the number of the read.
fn reading(read: u64) -> Reading {
    let now = StoreTime::from_unix_seconds(1_800_000_000).unwrap();
    let row = LeaseRecord {
        lease: Some("a".into()),
        holder: Some("h".into()),
        epoch: Some(Epoch(read)),
        expires_at: Some(now.plus(Duration::from_secs(10))),
        progress_at: Some(now),
        progress_epoch: Some(Epoch(read)),
        ..LeaseRecord::default()
    };
    let interval = ReadInterval { start: Duration::from_secs(read), end: Duration::from_secs(read) };
    let records = RecordSet { accepted: vec![row], ..RecordSet::default() };
    Reading { interval, store_now: now, clock_offset: 0.0, columns: Columns::all(), records }
}

#[derive(Debug)]
struct OneExpectedLease;

impl Policies for OneExpectedLease {
    fn policy(&self, _: &str) -> Arc<Policy> {
        Arc::default()
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        vec!["a".into()]
    }
}

struct Handle {
    read: Arc<Mutex<FakeRead>>,
    reads: Arc<AtomicUsize>,
}

impl Handle {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    fn set_read(&self, read: FakeRead) {
        *self.read.lock().unwrap() = read;
    }
}

fn source(name: &str, read: FakeRead) -> (SourceSetup, Handle) {
    let read = Arc::new(Mutex::new(read));
    let reads = Arc::new(AtomicUsize::new(0));
    let rules = Rules {
        kind: LeaseKind::Standing,
        clock: Clock::Store,
        clock_skew: Rules::CLOCK_SKEW,
        max_leases: 10,
        resolution: Duration::ZERO,
    };
    let observable = SourceSetup {
        name: name.into(),
        store: Box::new(Fake { read: Arc::clone(&read), reads: Arc::clone(&reads) }),
        evaluator: SourceEvaluator::new(name.into(), rules, TokenKey::new(b"key"), Arc::new(OneExpectedLease)),
        timeout: Duration::from_secs(5),
        reuse_for: Duration::from_secs(1),
    };
    (observable, Handle { read, reads })
}

fn observer<const N: usize>(read: [FakeRead; N]) -> (Arc<Observer>, [Handle; N]) {
    let mut number = 0;
    let (sources, handles): (Vec<_>, Vec<_>) = read
        .into_iter()
        .map(|read| {
            number += 1;
            source(&format!("source-{number}"), read)
        })
        .unzip();
    let observer = Observer::new(Exposition::without(|_| false), sources);
    (Arc::new(observer), handles.try_into().ok().unwrap())
}

fn state_of(observed: &CachedReading) -> (State, Reason) {
    let verdict = observed.snapshot.leases[0].verdict;
    (verdict.state, verdict.reason)
}

fn plain(body: EncodedText) -> String {
    let EncodedText::Plain(pieces) = body else { panic!("not plain: {body:?}") };
    String::from_utf8(pieces.concat()).unwrap()
}

fn within(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds)
}

const ACTIVE: (State, Reason) = (State::Active, Reason::Progressing);
const TIMEOUT: (State, Reason) = (State::Unknown, Reason::StoreTimeout);
const REFUSED: (State, Reason) = (State::Unknown, Reason::StoreRefused);

#[tokio::test(start_paused = true)]
async fn scrapes_at_once_and_close_together_share_one_reading() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::from_millis(100))]);
    let scrapes: Vec<_> = (0..16)
        .map(|_| {
            let observer = Arc::clone(&observer);
            tokio::spawn(async move { observer.observe(within(10.0)).await })
        })
        .collect();
    for scrape in scrapes {
        assert_eq!(state_of(&scrape.await.unwrap()[0]), ACTIVE);
    }
    assert_eq!(source.reads(), 1);
    tokio::time::advance(Duration::from_millis(900)).await;
    observer.observe(within(10.0)).await;
    assert_eq!(source.reads(), 1, "within reuse_for");
    tokio::time::advance(Duration::from_millis(200)).await;
    observer.observe(within(10.0)).await;
    assert_eq!(source.reads(), 2, "beyond reuse_for");
}

#[tokio::test(start_paused = true)]
async fn a_slow_source_delays_no_other_and_is_unknown_by_the_deadline() {
    let slow = FakeRead::Answer(Duration::from_secs(60));
    let (observer, [_slow, _quick]) = observer([slow, FakeRead::Answer(Duration::from_millis(1))]);
    let began = Instant::now();
    let observed = observer.observe(within(2.0)).await;
    assert!(began.elapsed() <= Duration::from_millis(2_010), "{:?}", began.elapsed());
    assert_eq!((state_of(&observed[0]), state_of(&observed[1])), (TIMEOUT, ACTIVE));
    let began = Instant::now();
    let observed = observer.observe(within(60.0)).await;
    assert!(began.elapsed() <= Duration::from_millis(5_010), "its own timeout: {:?}", began.elapsed());
    assert_eq!((state_of(&observed[0]), state_of(&observed[1])), (TIMEOUT, ACTIVE));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_wait_for_the_pending_read_gets_unknown_leases_and_starts_no_second_read() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::from_secs(3))]);
    let patient = tokio::spawn({
        let observer = Arc::clone(&observer);
        async move { observer.observe(within(10.0)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(state_of(&observer.observe(within(0.5)).await[0]), TIMEOUT);
    assert_eq!(state_of(&patient.await.unwrap()[0]), ACTIVE);
    assert_eq!(source.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_short_deadline_makes_only_its_own_response_unknown_and_neither_ends_nor_fails_the_read() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::from_millis(800))]);
    let impatient = observer.observe(within(0.0005)).await;
    assert_eq!(state_of(&impatient[0]), TIMEOUT);
    assert!(impatient[0].snapshot.health.outcome.is_err());
    assert_eq!(impatient[0].snapshot.health.failures, [0; ReadFailure::ALL.len()], "it is no failure of the source");
    let patient = observer.observe(within(9.5)).await;
    assert_eq!(state_of(&patient[0]), ACTIVE);
    assert_eq!(patient[0].snapshot.health.failures, [0; ReadFailure::ALL.len()]);
    assert_eq!(patient[0].history.periods("a").len(), 1, "the impatient answer is no part of the history");
    assert_eq!(state_of(&observer.observe(within(0.0005)).await[0]), ACTIVE, "the reading is shared");
    assert_eq!(source.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_has_the_timeout_of_its_source_however_short_the_deadline_of_the_request_that_started_it() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::from_secs(60))]);
    observer.observe(within(0.1)).await;
    let began = Instant::now();
    let timed_out = observer.observe(within(60.0)).await;
    assert!(began.elapsed() > Duration::from_millis(4_800), "{:?}", began.elapsed());
    assert_eq!(state_of(&timed_out[0]), TIMEOUT);
    assert_eq!(timed_out[0].snapshot.health.failures[ReadFailure::Timeout as usize], 1, "of the source this time");
    assert_eq!(source.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_that_cannot_wait_for_one_read_share_one_reading_and_its_renderings() {
    let (observer, [_]) = observer([FakeRead::IgnoreDeadline]);
    let first = observer.observe(within(0.1)).await;
    for _ in 0..3 {
        let other = observer.observe(within(0.1)).await;
        assert!(Arc::ptr_eq(&first[0], &other[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_read_leases_are_unknown_until_the_next_successful_read() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::ZERO)]);
    assert_eq!(state_of(&observer.observe(within(1.0)).await[0]), ACTIVE);
    source.set_read(FakeRead::Fail);
    tokio::time::advance(Duration::from_secs(2)).await;
    let observed = observer.observe(within(1.0)).await;
    assert_eq!(state_of(&observed[0]), REFUSED);
    assert_eq!(observed[0].snapshot.health.failures[ReadFailure::Refused as usize], 1);
    source.set_read(FakeRead::Answer(Duration::ZERO));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(state_of(&observer.observe(within(1.0)).await[0]), ACTIVE);
}

#[tokio::test(start_paused = true)]
async fn leases_of_a_store_that_panics_are_unknown_and_it_can_be_read_again() {
    let (observer, [source, _other]) = observer([FakeRead::Panic, FakeRead::Answer(Duration::ZERO)]);
    let observed = observer.observe(within(1.0)).await;
    assert_eq!((state_of(&observed[0]), state_of(&observed[1])), (REFUSED, ACTIVE));
    assert_eq!(observed[0].snapshot.health.failures[ReadFailure::Refused as usize], 1, "counted as the source's");
    source.set_read(FakeRead::Answer(Duration::ZERO));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(state_of(&observer.observe(within(1.0)).await[0]), ACTIVE);
    assert_eq!(source.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_ignores_its_deadline_is_never_joined_by_a_second_one() {
    let (observer, [source]) = observer([FakeRead::IgnoreDeadline]);
    for _ in 0..100 {
        assert_eq!(state_of(&observer.observe(within(1.0)).await[0]), TIMEOUT);
    }
    assert_eq!(source.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_scrape_does_not_cancel_the_read() {
    let (observer, [source]) = observer([FakeRead::Answer(Duration::from_secs(1))]);
    let impatient = observer.observe(within(10.0));
    assert!(timeout_at(within(0.2), impatient).await.is_err());
    assert_eq!(state_of(&observer.observe(within(10.0)).await[0]), ACTIVE);
    assert_eq!(source.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_continued_source_keeps_its_store_and_its_state_and_other_sources_start_without() {
    let (before, [kept, _]) = observer([FakeRead::Answer(Duration::ZERO), FakeRead::Answer(Duration::ZERO)]);
    before.observe(within(1.0)).await;
    let (continued, unused) = source("source-1", FakeRead::Fail);
    let (anew, fresh) = source("source-2", FakeRead::Fail);
    let (added, _) = source("source-3", FakeRead::Answer(Duration::ZERO));
    let sources = vec![(added, Continuity::Continue), (anew, Continuity::Restart), (continued, Continuity::Continue)];
    let after = before.reconfigure(Exposition::without(|_| false), sources).await.unwrap();
    let observed = after.observe(within(1.0)).await;
    let names: Vec<_> = observed.iter().map(|observed| &*observed.snapshot.source).collect();
    assert_eq!(names, ["source-3", "source-2", "source-1"], "in the order of the new configuration");
    assert_eq!(observed.iter().map(|observed| state_of(observed)).collect::<Vec<_>>(), [ACTIVE, REFUSED, ACTIVE]);
    assert_eq!((kept.reads(), unused.reads(), fresh.reads()), (2, 0, 1));
    let epoch = |observed: &CachedReading| observed.snapshot.leases[0].holder().unwrap().epoch;
    assert_eq!(epoch(&observed[2]), Some(Epoch(2)), "read again by the same store");
}

#[tokio::test(start_paused = true)]
async fn a_reconfiguration_waits_for_the_pending_read_and_each_observer_keeps_its_metric_families() {
    let (before, [store]) = observer([FakeRead::Answer(Duration::from_secs(2))]);
    let under_way = tokio::spawn({
        let before = Arc::clone(&before);
        async move { before.observe(within(10.0)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let fewer = Exposition::without(|family| family == "lease_epoch");
    let (continued, _) = source("source-1", FakeRead::Fail);
    let began = Instant::now();
    let after = before.reconfigure(fewer, vec![(continued, Continuity::Continue)]).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    assert_eq!(state_of(&under_way.await.unwrap()[0]), ACTIVE);
    store.set_read(FakeRead::Answer(Duration::ZERO));
    tokio::time::advance(Duration::from_secs(2)).await;
    for (observer, has_epoch) in [(&*before, true), (&after, false), (&*before, true)] {
        let observed = observer.observe(within(1.0)).await;
        let text = plain(observer.metrics(&observed, Format::Text, Encoding::Identity, Vec::new()).await);
        assert_eq!(text.contains("\nlease_epoch{"), has_epoch, "{text}");
        assert_eq!(text.matches("# TYPE lease_state gauge\n").count(), 1, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_does_not_end_prevents_a_reconfiguration_and_delays_no_other_source() {
    let (before, [stuck, _]) = observer([FakeRead::IgnoreDeadline, FakeRead::Answer(Duration::ZERO)]);
    before.observe(within(1.0)).await;
    let continued =
        || ["source-1", "source-2"].map(|name| (source(name, FakeRead::Fail).0, Continuity::Continue)).into();
    let following = before.reconfigure(Exposition::without(|_| false), continued());
    let failed = tokio::time::timeout(Duration::from_secs(60), following).await.unwrap().unwrap_err();
    assert_eq!(&*failed.source_name, "source-1");
    assert_eq!(state_of(&before.observe(within(1.0)).await[1]), ACTIVE, "it holds no other source still");
    assert_eq!(stuck.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_no_longer_configured_loses_its_state() {
    let (before, [_, _]) = observer([FakeRead::Answer(Duration::ZERO); 2]);
    before.observe(within(1.0)).await;
    let without = before.reconfigure(Exposition::without(|_| false), Vec::new()).await.unwrap();
    let (back, _) = source("source-1", FakeRead::Answer(Duration::ZERO));
    let again = without.reconfigure(Exposition::without(|_| false), vec![(back, Continuity::Continue)]).await.unwrap();
    let observed = again.observe(within(1.0)).await;
    assert_eq!(observed[0].snapshot.leases[0].holder().unwrap().epoch, Some(Epoch(1)), "the new store's first read");
}
