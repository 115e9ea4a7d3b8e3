//! The soak: the program under constant scraping, while everything around it breaks and is mended, and its configuration
//! changes. What it uses must stay flat, and what it says true.
//!
//! A run is made of rounds. In each, every store with leases has a few faults and the exporter a few reloads, all side by
//! side and in an order that a seed decides, while clients of every kind go on. At the end of a round the clients rest,
//! everything works and the first configuration holds: a quiet point, at which the exporter must be as it was at the one
//! before. Only what is found there is compared, so nothing depends on how fast a machine is.
//!
//! With `SOAK_MINUTES` it goes on for so long (`make soak`), with `SOAK_SEED` in another order, and with `SOAK_PROGRAM` it
//! is about another build. What a minute of it would not show, a leak of a few bytes for each lease that goes, half an hour
//! does.
#![allow(clippy::print_stdout, reason = "a long run is watched, and what a short one found is told if it fails")]

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

/// How long a run is.
#[derive(Clone, Copy, Debug)]
enum Length {
    /// So many rounds: always the same work, however long it takes.
    Rounds(usize),
    /// As many rounds as begin within this time.
    Time(Duration),
}

/// What whoever starts a run may choose.
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
