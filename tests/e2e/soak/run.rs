//! The run of a soak, and the comparison of its quiet points.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::client::LONGEST;
use super::clients;
use super::environment::{Environment, temporary};
use super::reload;
use super::shuffle::Shuffle;
use super::stores::{LEADER, MAX_LEASES, REGISTRY, STUCK, SharedStore};
use super::usage::{Usage, descriptors};
use super::{Choices, Length};
use crate::harness::{Metrics, eventually, now};

/// The number of faults of each store, and of configuration changes, in a round.
const STEPS: usize = 3;
/// The warm-up, in rounds: caches are filled and threads started. A long run takes a sixth of its rounds instead.
const WARM_UP: usize = 2;
/// The allowed growth of memory after the warm-up in KiB. An allocator keeps some free memory.
const GROWTH: u64 = 16 * 1024;
/// The most threads: workers and blocking threads, including idle ones.
const THREADS: u64 = 64;
/// The most series of a lease.
const SERIES: usize = 40;
/// The most log lines for a configuration change.
const LINES_OF_CHANGE: u64 = 8;
/// The most log lines for a fault. On a busy machine, a source may fail and recover several times
/// during one fault.
const LINES_OF_FAULT: u64 = 30;

/// The measurements at a quiet point.
struct QuietPoint {
    usage: Usage,
    descriptors: BTreeMap<String, usize>,
    series: usize,
}

pub(super) fn run(choices: &Choices) {
    println!("the soak: {:?}, SOAK_SEED={}", choices.length, choices.seed);
    let (began, environment) = (now(), Environment::set(choices));
    println!("at the start: {}", Usage::of(environment.pid));
    let mut quiet = Vec::new();
    thread::scope(|scope| {
        let _stops = environment.stops_with_guard();
        let mut lanes: Vec<_> =
            (0..).zip(&environment.stores).map(|(at, shared)| FaultLane::of(&environment, shared, at)).collect();
        let mut changes = Shuffle::of(reload::KINDS, environment.random(1));
        clients::begin(scope, &environment);
        while match choices.length {
            Length::Rounds(rounds) => quiet.len() < rounds,
            Length::Time(time) => now() - began < time,
        } {
            round(&environment, &mut lanes, &mut changes);
            let point = at_rest(&environment, quiet.last());
            let seconds = (now() - began).as_secs();
            println!("round {} at {seconds} s: {}, {} series", quiet.len() + 1, point.usage, point.series);
            quiet.push(point);
        }
    });
    let took = now() - began;
    if let Length::Time(_) = choices.length {
        threads_go(&environment);
    }
    report(&environment, &quiet, took);
    is_complete(&environment);
    is_flat(&quiet);
    ends_well(environment);
}

/// The faults of one store.
struct FaultLane<'a> {
    shared: &'a SharedStore,
    deck: Shuffle,
}

impl<'a> FaultLane<'a> {
    fn of(environment: &Environment, shared: &'a SharedStore, at: u64) -> Self {
        Self { shared, deck: Shuffle::of(shared.store.faults().len(), environment.random(10 + at)) }
    }

    /// Applies a fault, checks that it is reported and that nothing else is reported meanwhile, and repairs it.
    fn apply_fault(&mut self, environment: &Environment) {
        let (store, sources) = (&*self.shared.store, self.shared.store.sources());
        let faults = store.faults();
        let fault = &faults[self.deck.draw()];
        let mut turn = self.shared.turn();
        let (began, what) = (now(), format!("{}: {}", store.name(), fault.name));
        (fault.make)();
        let up = |metrics: &Metrics, source: &&str| metrics.source("lease_source_up", source).unwrap_or(-1.0);
        environment.scrape_until(&format!("{what}, to be told"), |metrics| {
            sources.iter().all(|source| up(metrics, source) < 1.0)
        });
        let unread = environment.unreadable.mark(sources);
        thread::sleep(self.deck.random().millis(50, 400));
        drop(unread);
        (fault.repair)();
        turn.write();
        environment.scrape_until(&format!("{what}, to be over"), |metrics| {
            sources.iter().all(|source| up(metrics, source).abs() == 1.0)
        });
        environment.faults.count(&what, now() - began);
    }
}

fn round(environment: &Environment, lanes: &mut [FaultLane<'_>], changes: &mut Shuffle) {
    thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(|| {
                for _ in 0..STEPS {
                    lane.apply_fault(environment);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..STEPS {
                reload::change(environment, changes);
                thread::sleep(changes.random().millis(0, 300));
            }
            reload::restore(environment);
        });
    });
}

/// Waits until no request is open and all sources are up, and measures.
fn at_rest(environment: &Environment, before: Option<&QuietPoint>) -> QuietPoint {
    let _nobody_asks = environment.alone();
    let began = now();
    let metrics = eventually("everything to be known", || {
        assert!(!environment.is_stopped(), "somebody else has failed");
        let metrics = environment.scrape_now();
        let otherwise = otherwise(environment, &metrics);
        assert!(now() - began < LONGEST, "{otherwise:?} in\n{}", metrics.text());
        otherwise.is_empty().then_some(metrics)
    });
    for source in environment.sources() {
        let leases = metrics.leases(source).len();
        assert!(leases <= MAX_LEASES, "{leases} leases of {source}");
    }
    assert_eq!(metrics.value("lease_exporter_panics_total", &[]), Some(0.0));
    let series = metrics.series().count();
    let most = environment.sources().count() * (MAX_LEASES + 1) * SERIES;
    assert!(series <= most, "{series} series, where {most} are enough");
    for shared in &environment.stores {
        let expected = shared.store.sources().len();
        if shared.turn().connections().is_some() {
            eventually(&format!("one connection for each source of {}", shared.store.name()), || {
                (shared.turn().connections() == Some(expected)).then_some(())
            });
        }
    }
    let left = std::fs::read_dir(temporary(environment.folder.path())).unwrap().count();
    assert_eq!(left, 0, "temporary files");
    let descriptors = as_before(environment, before);
    let usage = (0..5).fold(None, |least: Option<Usage>, _| {
        let usage = Usage::of(environment.pid);
        thread::sleep(Duration::from_millis(20));
        Some(least.map_or(usage, |least| least.each(usage, u64::min)))
    });
    let usage = usage.unwrap();
    assert!(usage.threads <= THREADS, "{} threads", usage.threads);
    is_terse(environment);
    QuietPoint { usage, descriptors, series }
}

/// The differences from the normal state without faults.
fn otherwise(environment: &Environment, metrics: &Metrics) -> Vec<String> {
    let leases = environment.sources().flat_map(|source| match source {
        REGISTRY => vec![(source, source, "active")],
        _ => vec![(source, LEADER, "active"), (source, STUCK, "stalled")],
    });
    let told = leases.map(|(source, lease, state)| (source, lease, state, metrics.says(source, lease)));
    let others = told.filter(|(_, _, state, says)| says.is_none_or(|(says, _)| says != *state));
    others.map(|(source, lease, state, says)| format!("{source}/{lease} is {says:?}, not {state}")).collect()
}

/// Checks that the log has the faults, and no line for each request.
fn is_terse(environment: &Environment) {
    let log = &environment.exporter.process().stderr;
    let of_sources = (log.count("the source cannot be read") + log.count("the source can be read again")) as u64;
    let others = log.count("") as u64 - of_sources;
    let (faults, changes) = (environment.faults.all(), environment.reloads.all());
    assert!(of_sources <= LINES_OF_FAULT * faults, "{of_sources} lines in the log of {faults} faults");
    assert!(others <= LINES_OF_CHANGE * changes, "{others} other lines in the log of {changes} changes");
}

/// The open descriptors, which must be those of the previous quiet point.
fn as_before(environment: &Environment, before: Option<&QuietPoint>) -> BTreeMap<String, usize> {
    let mut last = (BTreeMap::new(), now());
    // Descriptors close with a delay, so the result is taken when it has stayed the same for a while.
    let settled = || {
        let seen = descriptors(environment.pid);
        if seen != last.0 {
            last = (seen, now());
        }
        let same_for = now() - last.1;
        let is_good = before.is_none_or(|before| before.descriptors == last.0);
        let enough = Duration::from_millis(if is_good { 200 } else { 20_000 });
        (same_for >= enough).then(|| last.0.clone())
    };
    let seen = eventually("the descriptors to stay the same", settled);
    if let Some(before) = before {
        assert_eq!(seen, before.descriptors, "other descriptors than at the quiet point before");
    }
    seen
}

/// Idle threads end after a minute. Then only the threads of the start are left.
fn threads_go(environment: &Environment) {
    let least = eventually("idle threads to end", || {
        let threads = Usage::of(environment.pid).threads;
        (threads <= 4).then_some(threads)
    });
    println!("a minute later: {least} threads");
}

/// Checks that each fault and each change occurred.
fn is_complete(environment: &Environment) {
    let kinds: usize = environment.stores.iter().map(|shared| shared.store.faults().len()).sum();
    assert_eq!(environment.faults.kinds().len(), kinds, "not every fault was made");
    assert_eq!(environment.reloads.kinds().len(), reload::KINDS, "not every change was made");
}

fn report(environment: &Environment, quiet: &[QuietPoint], took: Duration) {
    let measured = after_warm_up(quiet).iter().map(|point| point.usage);
    let each = |choose: fn(u64, u64) -> u64| measured.clone().reduce(|one, other| one.each(other, choose));
    println!("{} requests in {} s:\n{}", environment.requests.all(), took.as_secs(), environment.requests);
    println!("{} faults:\n{}", environment.faults.all(), environment.faults);
    println!("{} changes of the configuration:\n{}", environment.reloads.all(), environment.reloads);
    println!("{} lines in the log", environment.exporter.process().stderr.count(""));
    if let (Some(least), Some(most), Some(last)) = (each(u64::min), each(u64::max), quiet.last()) {
        println!("at rest after the warm-up, at the least: {least}\n at the most: {most}\n at the end: {}", last.usage);
    }
    println!("at work, at the most: {}", environment.peak.so_far());
}

fn after_warm_up(quiet: &[QuietPoint]) -> &[QuietPoint] {
    quiet.get(WARM_UP.max(quiet.len() / 6)..).unwrap_or_default()
}

/// Compares the last third of the quiet points with the first.
fn is_flat(quiet: &[QuietPoint]) {
    let measured: Vec<u64> = after_warm_up(quiet).iter().map(|point| point.usage.anonymous).collect();
    assert!(measured.len() >= 3, "too short to compare anything: {} rounds", quiet.len());
    let third = measured.len() / 3;
    let least = |some: &[u64]| some.iter().copied().min().unwrap();
    let (early, late) = (least(&measured[..third]), least(&measured[measured.len() - third..]));
    println!("anonymous memory at the least: {early} KiB in the first third, {late} KiB in the last");
    assert!(late <= early + GROWTH, "memory grew from {early} KiB to {late} KiB");
}

fn ends_well(environment: Environment) {
    assert_eq!(environment.generation.load(Ordering::SeqCst) % 2, 0);
    let Environment { exporter, stores, endpoint, .. } = environment;
    let finished = exporter.stop_by(Signal::TERM);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("a bug:"), "{}", finished.stderr);
    assert!(!endpoint.socket.exists(), "its socket goes with it");
    for shared in &stores {
        if shared.turn().connections().is_some() {
            eventually("no connection to be left", || (shared.turn().connections() == Some(0)).then_some(()));
        }
    }
}
