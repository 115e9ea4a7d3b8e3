//! Everybody who is at work all the time: clients, who writes to the places, who watches what the exporter uses.

use std::thread::{self, Scope};
use std::time::Duration;

use super::honest::{self, Scraper};
use super::place::Place;
use super::random::Random;
use super::rude;
use super::stage::Stage;

/// What a client does, over and over.
type Act = fn(&Stage, &mut Random);

/// Each of these is a client of its own, and does what it does in turn.
const CLIENTS: [&[Act]; 4] = [
    &[honest::one_source, honest::json, honest::others],
    &[honest::page, honest::json_lease, honest::probe],
    &[honest::live],
    &[rude::guess, rude::break_off],
];
/// How many scrapers there are beside them.
const SCRAPERS: u64 = 3;

/// Lets all of them begin. They go on until the stage is stopped.
pub(super) fn begin<'scope>(scope: &'scope Scope<'scope, '_>, stage: &'scope Stage) {
    for number in 0..SCRAPERS {
        let (mut scraper, random) = (Scraper::default(), stage.random(100 + number));
        scope.spawn(move || goes_on(stage, random, |random| scraper.scrape(stage, random)));
    }
    for (number, acts) in (0..).zip(CLIENTS) {
        let mut turn = 0;
        let act = move |random: &mut Random| {
            acts[turn % acts.len()](stage, random);
            turn += 1;
        };
        scope.spawn(move || goes_on(stage, stage.random(200 + number), act));
    }
    for place in &stage.places {
        scope.spawn(|| write_on(stage, place));
    }
    scope.spawn(|| {
        let _stops = stage.stops_with_guard();
        while !stage.is_stopped() {
            stage.peak.look(stage.pid);
            thread::sleep(Duration::from_millis(200));
        }
    });
}

fn goes_on(stage: &Stage, mut random: Random, mut act: impl FnMut(&mut Random)) {
    let _stops = stage.stops_with_guard();
    while !stage.is_stopped() {
        act(&mut random);
        thread::sleep(random.millis(2, 40));
    }
}

/// Lets the leases of a place come and go, but for the times when something befalls it.
fn write_on(stage: &Stage, place: &Place) {
    let _stops = stage.stops_with_guard();
    // To a server it is a program of its own that writes.
    let pause = if place.turn().connections().is_some() { 250 } else { 60 };
    while !stage.is_stopped() {
        place.turn().write();
        thread::sleep(Duration::from_millis(pause));
    }
}
