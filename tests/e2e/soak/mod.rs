//! The soak test: constant scraping while stores fail and recover and the configuration changes. Resource usage must stay
//! flat, and every response must be correct.
//!
//! A run consists of rounds. In each round, every store has a few faults and the exporter a few reloads, concurrently and
//! in an order that a seed determines, while clients of every kind send requests. A round ends at a quiet point: clients
//! pause, all stores work, and the first configuration is in use. Only measurements at quiet points are compared, so the
//! result does not depend on the speed of the machine.
//!
//! `SOAK_MINUTES` sets the length (`make soak`), `SOAK_SEED` another order, and `SOAK_PROGRAM` another build. A run of half
//! an hour shows leaks of a few bytes for each removed lease, which a run of a minute does not.
#![allow(clippy::print_stdout, reason = "progress of a long run, and details if a short one fails")]

mod client;
mod clients;
mod counters;
mod environment;
mod fault;
mod misbehaving;
#[path = "../../simulation/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the simulation, which uses all of it")]
mod random;
mod reload;
mod run;
mod scraper;
mod shuffle;
mod stores;
mod unreadable;
mod usage;

use std::path::PathBuf;
use std::time::Duration;

/// The length of a run.
#[derive(Clone, Copy, Debug)]
enum Length {
    /// A number of rounds.
    Rounds(usize),
    /// All rounds that begin within a time.
    Time(Duration),
}

/// The settings of a run, from environment variables.
struct Choices {
    length: Length,
    seed: u64,
    program: Option<PathBuf>,
}

impl Choices {
    fn from_environment() -> Self {
        let number = |name: &str| -> Option<u64> {
            let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is no whole number: {text}")))
        };
        let length = number("SOAK_MINUTES").map_or(Length::Rounds(6), |minutes| {
            assert!(minutes > 0, "SOAK_MINUTES is at least 1");
            Length::Time(Duration::from_secs(60 * minutes))
        });
        let program = std::env::var_os("SOAK_PROGRAM").filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { length, seed: number("SOAK_SEED").unwrap_or(5), program }
    }
}

#[test]
fn faults_and_reloads_change_neither_correct_answers_nor_resource_usage() {
    run::run(&Choices::from_environment());
}
