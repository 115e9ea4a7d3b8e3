//! The rules of [`LeaseProtocol`] as tests that are independent of the store.
//!
//! The tests of a store implement [`Store`] and call [`contract_tests!`], which creates one test for each rule.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lease_protocol::{
    AcquireOutcome, EnqueueOutcome, Epoch, Fencing, HolderId, LeaseProtocol, MaintenanceAction, Occurrence,
    PlanOutcome, ProtocolError, ReleaseOutcome, RenewOutcome, StoreTime, Ttl,
};

/// A store to test. One value is one empty store; every connection to it shares its records and its clock.
pub(crate) trait Store: Sync {
    type Protocol: LeaseProtocol;

    /// The time to live of the leases in the tests. On a clock that has to be waited for, a short one; but long beside
    /// the time that a few steps take.
    const TTL: Duration;

    fn connect(&self) -> Self::Protocol;

    /// Lets a time pass on the store's clock. One that cannot be moved must be waited for.
    fn let_pass(&self, time: Duration);
}

/// One test for each rule, on the stores that an expression makes.
macro_rules! contract_tests {
    ($store:expr) => {
        $crate::contract::contract_tests! { $store =>
            exactly_one_of_many_acquires_each_epoch,
            a_held_lease_is_not_acquired_even_by_its_holder,
            an_expired_lease_is_acquired_with_the_next_epoch,
            a_lease_can_be_renewed_until_it_can_be_acquired,
            only_the_holder_of_the_newest_epoch_renews,
            a_released_lease_keeps_its_epoch,
            only_the_holder_of_the_newest_epoch_releases,
            leases_are_independent,
            an_occurrence_is_enqueued_once,
            the_oldest_due_occurrence_comes_first,
            an_occurrence_is_planned_once_whoever_leads,
            planning_records_progress_under_its_epoch,
            renewals_and_acquisitions_record_no_progress,
            a_stale_writer_changes_nothing,
            an_expired_writer_is_not_refused_before_a_takeover,
            a_writer_that_released_is_refused,
            an_occurrence_that_was_never_enqueued_cannot_be_planned,
            an_action_that_needs_no_fencing_needs_no_authority,
            of_many_competing_writers_one_plans,
        }
    };
    ($store:expr => $($rule:ident,)+) => {
        $(
            #[test]
            fn $rule() {
                $crate::contract::$rule(&$store);
            }
        )+
    };
}
pub(crate) use contract_tests;

const LEASE: &str = "retention";

fn ttl<S: Store>() -> Ttl {
    Ttl::new(S::TTL).unwrap()
}

fn token(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number).unwrap()
}

fn acquired(number: u64) -> AcquireOutcome {
    AcquireOutcome::Acquired { epoch: epoch(number) }
}

fn later(time: StoreTime, by: Duration) -> StoreTime {
    StoreTime::from_unix_millis(time.unix_millis() + i64::try_from(by.as_millis()).unwrap())
}

/// Enqueues an occurrence that has been due for `since`.
fn enqueue(protocol: &mut impl LeaseProtocol, key: &str, since: Duration) -> EnqueueOutcome {
    let now = protocol.store_now().unwrap().unix_millis();
    let due_at = StoreTime::from_unix_millis(now - i64::try_from(since.as_millis()).unwrap());
    let (lease, action) = (LEASE.into(), MaintenanceAction::PlanRetention);
    protocol.enqueue(&Occurrence { key: key.into(), lease, action, due_at }).unwrap()
}

pub(crate) fn exactly_one_of_many_acquires_each_epoch<S: Store>(store: &S) {
    const COMPETITORS: usize = 32;
    let barrier = Barrier::new(COMPETITORS);
    for round in 1..=5 {
        let outcomes: Vec<AcquireOutcome> = thread::scope(|scope| {
            let competitors: Vec<_> = (0..COMPETITORS)
                .map(|number| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let mut protocol = store.connect();
                        let token = token(&format!("holder-{number}"));
                        barrier.wait();
                        protocol.acquire(LEASE, &token, ttl::<S>()).unwrap()
                    })
                })
                .collect();
            competitors.into_iter().map(|competitor| competitor.join().unwrap()).collect()
        });
        let won: Vec<_> = outcomes.into_iter().filter(|outcome| *outcome != AcquireOutcome::HeldByAnother).collect();
        assert_eq!(won, [acquired(round)], "round {round}");
        store.let_pass(S::TTL);
    }
}

pub(crate) fn a_held_lease_is_not_acquired_even_by_its_holder<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    let before = protocol.read(LEASE).unwrap().lease;
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(AcquireOutcome::HeldByAnother));
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(AcquireOutcome::HeldByAnother));
    assert_eq!(protocol.read(LEASE).unwrap().lease, before);
}

pub(crate) fn an_expired_lease_is_acquired_with_the_next_epoch<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    store.let_pass(S::TTL);
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(acquired(2)));
    let reading = protocol.read(LEASE).unwrap();
    let lease = reading.lease.unwrap();
    assert_eq!((lease.holder, lease.epoch), (Some(token("b")), epoch(2)));
    assert_eq!(lease.renewed_at, lease.acquired_at);
    assert_eq!(lease.expires_at, lease.acquired_at.map(|time| later(time, S::TTL)));
    assert!(lease.acquired_at.unwrap() <= reading.now);
}

/// On a clock that stands still this tells the last millisecond of a lease from the first after it.
pub(crate) fn a_lease_can_be_renewed_until_it_can_be_acquired<S: Store>(store: &S) {
    let (mut protocol, a, b) = (store.connect(), token("a"), token("b"));
    assert_eq!(protocol.acquire(LEASE, &a, ttl::<S>()), Ok(acquired(1)));
    let first = protocol.read(LEASE).unwrap().lease.unwrap();

    store.let_pass(S::TTL.saturating_sub(Duration::from_millis(1)));
    // A store whose clock goes by itself may have passed the expiry by now: the two answers must fit all the same.
    let held = protocol.acquire(LEASE, &b, ttl::<S>()).unwrap() == AcquireOutcome::HeldByAnother;
    if !held {
        assert_eq!(protocol.renew(LEASE, &a, epoch(1), ttl::<S>()), Ok(RenewOutcome::Lost));
        return;
    }
    if protocol.renew(LEASE, &a, epoch(1), ttl::<S>()).unwrap() == RenewOutcome::Renewed {
        let renewed = protocol.read(LEASE).unwrap().lease.unwrap();
        assert!(renewed.renewed_at > first.renewed_at && renewed.expires_at > first.expires_at);
        assert_eq!((renewed.acquired_at, renewed.epoch), (first.acquired_at, first.epoch));
        store.let_pass(S::TTL);
    }
    let expired = protocol.read(LEASE).unwrap().lease;
    assert_eq!(protocol.renew(LEASE, &a, epoch(1), ttl::<S>()), Ok(RenewOutcome::Lost), "after expiry");
    assert_eq!(protocol.read(LEASE).unwrap().lease, expired);
    assert_eq!(protocol.acquire(LEASE, &b, ttl::<S>()), Ok(acquired(2)));
}

pub(crate) fn only_the_holder_of_the_newest_epoch_renews<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(
        protocol.renew(LEASE, &token("a"), epoch(1), ttl::<S>()),
        Ok(RenewOutcome::Lost),
        "before there is a lease"
    );
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.release(LEASE, &token("a"), epoch(1)), Ok(ReleaseOutcome::Released));
    assert_eq!(protocol.renew(LEASE, &token("a"), epoch(1), ttl::<S>()), Ok(RenewOutcome::Lost), "after the release");
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(2)));
    let before = protocol.read(LEASE).unwrap().lease;
    for (holder, number) in [("a", 1), ("a", 3), ("b", 2)] {
        assert_eq!(
            protocol.renew(LEASE, &token(holder), epoch(number), ttl::<S>()),
            Ok(RenewOutcome::Lost),
            "{holder} {number}"
        );
    }
    assert_eq!(protocol.read(LEASE).unwrap().lease, before);
    assert_eq!(protocol.renew(LEASE, &token("a"), epoch(2), ttl::<S>()), Ok(RenewOutcome::Renewed));
}

pub(crate) fn a_released_lease_keeps_its_epoch<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.release(LEASE, &token("a"), epoch(1)), Ok(ReleaseOutcome::Released));
    let reading = protocol.read(LEASE).unwrap();
    let lease = reading.lease.unwrap();
    assert_eq!((lease.holder, lease.epoch), (None, epoch(1)));
    assert!(lease.expires_at.unwrap() <= reading.now, "its time ended with the release");
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(acquired(2)));
    store.let_pass(S::TTL);
    let expired_at = protocol.read(LEASE).unwrap().lease.unwrap().expires_at;
    store.let_pass(S::TTL);
    assert_eq!(protocol.release(LEASE, &token("b"), epoch(2)), Ok(ReleaseOutcome::Released));
    let lease = protocol.read(LEASE).unwrap().lease.unwrap();
    assert_eq!((lease.holder, lease.epoch), (None, epoch(2)));
    assert_eq!(lease.expires_at, expired_at, "an end that has passed stays");
}

pub(crate) fn only_the_holder_of_the_newest_epoch_releases<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.release(LEASE, &token("a"), epoch(1)), Ok(ReleaseOutcome::Lost));
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    store.let_pass(S::TTL);
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(2)));
    let before = protocol.read(LEASE).unwrap().lease;
    for (holder, number) in [("a", 1), ("a", 3), ("b", 2)] {
        assert_eq!(
            protocol.release(LEASE, &token(holder), epoch(number)),
            Ok(ReleaseOutcome::Lost),
            "{holder} {number}"
        );
    }
    assert_eq!(protocol.read(LEASE).unwrap().lease, before);
}

pub(crate) fn leases_are_independent<S: Store>(store: &S) {
    let (mut protocol, a) = (store.connect(), token("a"));
    assert_eq!(enqueue(&mut protocol, "1", Duration::ZERO), EnqueueOutcome::Enqueued);
    assert_eq!(protocol.acquire("other", &a, ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.read(LEASE).unwrap().lease, None);
    assert_eq!(protocol.next_due("other"), Ok(None));
    assert_eq!(protocol.plan("1", "other", &a, epoch(1)), Err(ProtocolError::NoSuchOccurrence));
    assert_eq!(protocol.plan("1", LEASE, &a, epoch(1)), Ok(PlanOutcome::Fenced));
    assert_eq!(protocol.read("other").unwrap().progress, None);
}

pub(crate) fn an_occurrence_is_enqueued_once<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(enqueue(&mut protocol, "1", S::TTL), EnqueueOutcome::Enqueued);
    let first = protocol.next_due(LEASE).unwrap();
    assert_eq!(enqueue(&mut store.connect(), "1", S::TTL * 2), EnqueueOutcome::AlreadyEnqueued);
    assert_eq!(protocol.next_due(LEASE).unwrap(), first, "the first stays as it was");
    assert_eq!(protocol.read(LEASE).unwrap().backlog.due, 1);
}

pub(crate) fn the_oldest_due_occurrence_comes_first<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.next_due(LEASE), Ok(None));
    let backlog = protocol.read(LEASE).unwrap().backlog;
    assert_eq!((backlog.due, backlog.oldest_due_at), (0, None));
    let due_at = later(protocol.store_now().unwrap(), S::TTL);
    for key in ["b", "a"] {
        let (lease, action) = (LEASE.into(), MaintenanceAction::PlanRetention);
        protocol.enqueue(&Occurrence { key: key.into(), lease, action, due_at }).map(|_| ()).unwrap();
    }
    assert_eq!(protocol.next_due(LEASE), Ok(None), "it is not due yet");
    let _ = enqueue(&mut protocol, "z", S::TTL);
    store.let_pass(S::TTL);
    assert_eq!(protocol.next_due(LEASE).unwrap().unwrap().key, "z");
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.plan("z", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Planned));
    let next = protocol.next_due(LEASE).unwrap().unwrap();
    assert_eq!((next.key.as_str(), next.due_at, next.action), ("a", due_at, MaintenanceAction::PlanRetention));
    let backlog = protocol.read(LEASE).unwrap().backlog;
    assert_eq!((backlog.due, backlog.oldest_due_at), (2, Some(due_at)));
}

pub(crate) fn an_occurrence_is_planned_once_whoever_leads<S: Store>(store: &S) {
    let mut protocol = store.connect();
    let _ = enqueue(&mut protocol, "1", Duration::ZERO);
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Planned));
    let progress = protocol.read(LEASE).unwrap().progress;
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::AlreadyPlanned));
    store.let_pass(S::TTL);
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(acquired(2)));
    assert_eq!(protocol.plan("1", LEASE, &token("b"), epoch(2)), Ok(PlanOutcome::AlreadyPlanned));
    assert_eq!(protocol.read(LEASE).unwrap().progress, progress, "what changes nothing is no progress");
    assert_eq!(
        enqueue(&mut protocol, "1", Duration::ZERO),
        EnqueueOutcome::AlreadyEnqueued,
        "planned, it is still known"
    );
    assert_eq!(protocol.next_due(LEASE), Ok(None));
}

pub(crate) fn planning_records_progress_under_its_epoch<S: Store>(store: &S) {
    let mut protocol = store.connect();
    for key in ["1", "2"] {
        let _ = enqueue(&mut protocol, key, Duration::ZERO);
    }
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.read(LEASE).unwrap().progress, None);
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Planned));
    let first = protocol.read(LEASE).unwrap().progress.unwrap();
    assert_eq!((first.epoch, first.cursor), (epoch(1), 1));
    store.let_pass(S::TTL);
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(acquired(2)));
    assert_eq!(protocol.read(LEASE).unwrap().progress, Some(first), "a new epoch has no progress of its own yet");
    assert_eq!(protocol.plan("2", LEASE, &token("b"), epoch(2)), Ok(PlanOutcome::Planned));
    let second = protocol.read(LEASE).unwrap().progress.unwrap();
    assert_eq!((second.epoch, second.cursor), (epoch(2), 2));
    assert!(second.at >= later(first.at, S::TTL));
}

pub(crate) fn renewals_and_acquisitions_record_no_progress<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.renew(LEASE, &token("a"), epoch(1), ttl::<S>()), Ok(RenewOutcome::Renewed));
    assert_eq!(protocol.release(LEASE, &token("a"), epoch(1)), Ok(ReleaseOutcome::Released));
    assert_eq!(protocol.read(LEASE).unwrap().progress, None);
}

pub(crate) fn a_stale_writer_changes_nothing<S: Store>(store: &S) {
    let (mut protocol, mut stale) = (store.connect(), store.connect());
    for key in ["1", "2"] {
        let _ = enqueue(&mut protocol, key, Duration::ZERO);
    }
    assert_eq!(stale.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Fenced), "nobody ever acquired it");
    assert_eq!(stale.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    store.let_pass(S::TTL);
    assert_eq!(protocol.acquire(LEASE, &token("b"), ttl::<S>()), Ok(acquired(2)));
    assert_eq!(protocol.plan("1", LEASE, &token("b"), epoch(2)), Ok(PlanOutcome::Planned));
    let (before, next) = (protocol.read(LEASE).unwrap(), protocol.next_due(LEASE));
    for (holder, number) in [("a", 1), ("a", 2), ("b", 1), ("b", 3)] {
        for key in ["1", "2", "none"] {
            let outcome = stale.plan(key, LEASE, &token(holder), epoch(number));
            assert_eq!(outcome, Ok(PlanOutcome::Fenced), "{holder} {number} {key}");
        }
    }
    let after = protocol.read(LEASE).unwrap();
    assert_eq!((after.lease, after.progress, after.backlog), (before.lease, before.progress, before.backlog));
    assert_eq!(protocol.next_due(LEASE), next);
}

pub(crate) fn an_expired_writer_is_not_refused_before_a_takeover<S: Store>(store: &S) {
    let mut protocol = store.connect();
    let _ = enqueue(&mut protocol, "1", Duration::ZERO);
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    store.let_pass(S::TTL * 2);
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Planned));
    assert_eq!(
        protocol.renew(LEASE, &token("a"), epoch(1), ttl::<S>()),
        Ok(RenewOutcome::Lost),
        "that gave it no time"
    );
}

pub(crate) fn a_writer_that_released_is_refused<S: Store>(store: &S) {
    let mut protocol = store.connect();
    let _ = enqueue(&mut protocol, "1", Duration::ZERO);
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.release(LEASE, &token("a"), epoch(1)), Ok(ReleaseOutcome::Released));
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Ok(PlanOutcome::Fenced));
}

pub(crate) fn an_occurrence_that_was_never_enqueued_cannot_be_planned<S: Store>(store: &S) {
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    assert_eq!(protocol.plan("1", LEASE, &token("a"), epoch(1)), Err(ProtocolError::NoSuchOccurrence));
    assert_eq!(protocol.read(LEASE).unwrap().progress, None);
}

pub(crate) fn an_action_that_needs_no_fencing_needs_no_authority<S: Store>(store: &S) {
    assert_eq!(MaintenanceAction::CountBacklog.fencing(), Fencing::NotNeeded);
    let mut protocol = store.connect();
    let _ = enqueue(&mut protocol, "1", Duration::ZERO);
    for _ in 0..2 {
        let reading = protocol.read(LEASE).unwrap();
        assert_eq!((reading.backlog.due, reading.lease, reading.progress), (1, None, None));
    }
}

pub(crate) fn of_many_competing_writers_one_plans<S: Store>(store: &S) {
    const COMPETITORS: usize = 8;
    let mut protocol = store.connect();
    let _ = enqueue(&mut protocol, "1", Duration::ZERO);
    assert_eq!(protocol.acquire(LEASE, &token("a"), ttl::<S>()), Ok(acquired(1)));
    let barrier = Barrier::new(COMPETITORS);
    let planned = thread::scope(|scope| {
        let competitors: Vec<_> = (0..COMPETITORS)
            .map(|_| {
                scope.spawn(|| {
                    let mut protocol = store.connect();
                    barrier.wait();
                    protocol.plan("1", LEASE, &token("a"), epoch(1)).unwrap()
                })
            })
            .collect();
        let outcomes = competitors.into_iter().map(|competitor| competitor.join().unwrap());
        outcomes.filter(|outcome| *outcome == PlanOutcome::Planned).count()
    });
    assert_eq!((planned, protocol.read(LEASE).unwrap().progress.unwrap().cursor), (1, 1));
}
