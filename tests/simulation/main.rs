//! The truth against what the exporter says, in virtual time.
//!
//! Two or three schedulers follow the reference protocol on one SQLite store whose clock is virtual, with random pauses,
//! freezes, crashes, steps of their own clocks and outages of the store. Several exporters watch them, each through
//! another view of the same tables, with scrape gaps, failed reads and restarts. An oracle beside them keeps its own
//! account of who holds the lease, what was planned and what is due, from what the schedulers did and not from the
//! store, and checks every scrape:
//!
//! * `active`: progress truly happened under the epoch in force within `stall_after`;
//! * `stalled`: it truly did not, and work was due for longer than that;
//! * `idle`: someone holds the lease, and nothing was due for longer than that;
//! * `no_leader`: nobody held it;
//! * `unknown`: only for a reason that the story gives;
//! * ages: the truth lies within the bounds;
//! * never two winners of one epoch, epochs strictly grow, no fenced write lands, each occurrence is planned once.
//!
//! A failing seed is printed: `SIMULATION_SEED=42 cargo test --test simulation` replays it alone, and
//! `SIMULATION_SEEDS=100000` tries more of them.
//!
//! # Mutations
//! A simulation that notices nothing proves nothing. [`mutations`] breaks one rule at a time, of the protocol, of an
//! exporter's view, or of what an exporter does with what it saw, and demands that the oracle notices each. Those that
//! break the exporter's own source are listed, with what noticed them, in `mutations/source.txt` beside this file;
//! `tests/simulation/mutations/run` tries them all again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends at the first thing that is wrong"
)]
#![allow(unreachable_pub, reason = "the modules of a test have nobody outside to keep apart from")]

mod exporter;
mod mutations;
mod oracle;
mod random;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use world::{Script, World};

/// What the seeds are tried with unless the environment says otherwise.
const SEEDS: u64 = 2_000;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} must be a whole number")))
}

#[test]
fn what_the_exporter_says_is_true_in_every_story() {
    if let Some(seed) = from_environment("SIMULATION_SEED") {
        let mut world = World::new(seed, Script::default());
        let result = world.run();
        println!("{}", world.diary());
        result.unwrap_or_else(|lie| panic!("seed {seed}: {lie}"));
        return;
    }
    let seeds = from_environment("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let seen = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let mut world = World::new(seed, Script::default());
                    if let Err(lie) = world.run() {
                        next.store(u64::MAX / 2, Ordering::Relaxed);
                        panic!("{lie}\nreplay it: SIMULATION_SEED={seed} cargo test --test simulation -- --nocapture");
                    }
                    let mut seen = seen.lock().unwrap();
                    for (verdict, count) in world.oracle.verdicts {
                        *seen.entry(verdict).or_insert(0) += count;
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    println!("{seeds} seeds: {seen:#?}");
    // A story in which something never happens proves nothing of it.
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
        assert!(seen.contains_key(verdict), "no story led to {verdict}: {seen:#?}");
    }
}
