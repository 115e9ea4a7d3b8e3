//! The threads that run all the time: clients, writers to the stores, and the watcher of resource usage.

use std::thread::{self, Scope};
use std::time::Duration;

use super::environment::Environment;
use super::misbehaving;
use super::random::Random;
use super::scraper::{self, Scraper};
use super::stores::SharedStore;

/// An action that a client repeats.
type Act = fn(&Environment, &mut Random);

/// The actions of each client, which it takes in turn.
const CLIENTS: [&[Act]; 4] = [
    &[scraper::one_source, scraper::json, scraper::others],
    &[scraper::page, scraper::json_lease, scraper::probe],
    &[scraper::live],
    &[misbehaving::guess, misbehaving::break_off],
];
/// The number of scrapers beside these clients.
const SCRAPERS: u64 = 3;

/// Starts all clients. They run until the environment is stopped.
pub(super) fn begin<'scope>(scope: &'scope Scope<'scope, '_>, environment: &'scope Environment) {
    for number in 0..SCRAPERS {
        let (mut scraper, random) = (Scraper::default(), environment.random(100 + number));
        scope.spawn(move || goes_on(environment, random, |random| scraper.scrape(environment, random)));
    }
    for (number, acts) in (0..).zip(CLIENTS) {
        let mut turn = 0;
        let act = move |random: &mut Random| {
            acts[turn % acts.len()](environment, random);
            turn += 1;
        };
        scope.spawn(move || goes_on(environment, environment.random(200 + number), act));
    }
    for shared in &environment.stores {
        scope.spawn(|| write_on(environment, shared));
    }
    scope.spawn(|| {
        let _stops = environment.stops_with_guard();
        while !environment.is_stopped() {
            environment.peak.look(environment.pid);
            thread::sleep(Duration::from_millis(200));
        }
    });
}

fn goes_on(environment: &Environment, mut random: Random, mut act: impl FnMut(&mut Random)) {
    let _stops = environment.stops_with_guard();
    while !environment.is_stopped() {
        act(&mut random);
        thread::sleep(random.millis(2, 40));
    }
}

/// Changes the leases of a store, except during a fault.
fn write_on(environment: &Environment, shared: &SharedStore) {
    let _stops = environment.stops_with_guard();
    // Servers are written to by a separate program.
    let pause = if shared.turn().connections().is_some() { 250 } else { 60 };
    while !environment.is_stopped() {
        shared.turn().write();
        thread::sleep(Duration::from_millis(pause));
    }
}
