//! A simulation that compares the exporter with the truth, in virtual time.
//!
//! Two or three schedulers follow the reference protocol on one SQLite store with a virtual clock. They pause, freeze and
//! crash at random, their own clocks are stepped, and the store has outages. Several exporters read the same tables, each
//! with other columns, with scrape gaps, failed reads and restarts. An oracle records who holds the lease, what was planned
//! and what is due, from the actions of the schedulers and not from the store. It checks every scrape:
//!
//! * `active`: there was progress under the epoch in force within `stall_after`;
//! * `stalled`: there was none, and work was due for longer than that;
//! * `idle`: the lease has a holder, and no work was due for longer than that;
//! * `no_leader`: the lease has no holder;
//! * `unknown`: only for a reason that the view of this exporter allows;
//! * ages: the true age is within the bounds;
//! * an epoch has one holder, epochs grow strictly, a fenced write has no effect, each occurrence is planned once.
//!
//! The seed of a failed run is printed. `SIMULATION_SEED=42 cargo test --test simulation` repeats it alone, and
//! `SIMULATION_SEEDS=100000` runs more seeds.
//!
//! # Mutations
//! [`mutations`] breaks one rule at a time, of the protocol, of an exporter's view, or of the evaluation, and requires that
//! the oracle notices. Mutations of the exporter's source code are listed in `mutations/source.txt`;
//! `tests/simulation/mutations/run` tries them all, every night in CI.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test ends at the first error")]
#![allow(unreachable_pub, reason = "a test binary has no public API")]

mod exporter;
mod mutations;
mod oracle;
mod random;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use world::{Script, World};

/// The default number of seeds.
const SEEDS: u64 = 2_000;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} must be a whole number")))
}

#[test]
fn every_status_is_true_for_every_seed() {
    if let Some(seed) = from_environment("SIMULATION_SEED") {
        let mut world = World::new(seed, Script::default());
        let result = world.run();
        println!("{}", world.log());
        result.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        return;
    }
    let seeds = from_environment("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let verdicts = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let mut world = World::new(seed, Script::default());
                    if let Err(error) = world.run() {
                        next.store(u64::MAX / 2, Ordering::Relaxed);
                        panic!(
                            "{error}\nto repeat it: SIMULATION_SEED={seed} cargo test --test simulation -- --nocapture"
                        );
                    }
                    let mut totals = verdicts.lock().unwrap();
                    for (verdict, count) in world.oracle.verdicts {
                        *totals.entry(verdict).or_insert(0) += count;
                    }
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap();
    println!("{seeds} seeds: {verdicts:#?}");
    // Runs without a verdict prove nothing about it.
    for verdict in [
        "active progressing",
        "idle nothing_due",
        "stalled no_progress",
        "stalled never_progressed",
        "no_leader absent",
        "no_leader released",
        "no_leader expired",
        "unknown awaiting_first_progress",
        "unknown progress_without_authority",
        "unknown not_observed_yet",
        "unknown observation_gap",
        "unknown store_timeout",
    ] {
        assert!(verdicts.contains_key(verdict), "no run led to {verdict}: {verdicts:#?}");
    }
}
