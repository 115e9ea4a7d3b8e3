//! Everybody who is at work all the time: clients, who writes to the stores, who watches what the exporter uses.

use std::thread::{self, Scope};
use std::time::Duration;

use super::environment::Environment;
use super::misbehaving;
use super::random::Random;
use super::scraper::{self, Scraper};
use super::stores::SharedStore;

/// What a client does, over and over.
type Act = fn(&Environment, &mut Random);

/// Each of these is a client of its own, and does what it does in turn.
const CLIENTS: [&[Act]; 4] = [
    &[scraper::one_source, scraper::json, scraper::others],
    &[scraper::page, scraper::json_lease, scraper::probe],
    &[scraper::live],
    &[misbehaving::guess, misbehaving::break_off],
];
/// How many scrapers there are beside them.
const SCRAPERS: u64 = 3;

/// Lets all of them begin. They go on until the environment is stopped.
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

/// Lets the leases of a store come and go, but for the times when something befalls it.
fn write_on(environment: &Environment, shared: &SharedStore) {
    let _stops = environment.stops_with_guard();
    // To a server it is a program of its own that writes.
    let pause = if shared.turn().connections().is_some() { 250 } else { 60 };
    while !environment.is_stopped() {
        shared.turn().write();
        thread::sleep(Duration::from_millis(pause));
    }
}
