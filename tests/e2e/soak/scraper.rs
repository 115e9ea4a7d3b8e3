//! Scrapers that must be answered, and the checks of every response.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::client::{Request, Transport};
use super::environment::Environment;
use super::random::Random;
use super::stores::{LEADER, STUCK};
use crate::harness::{Metrics, now};

/// Sources that no configuration of the soak leaves out.
const ALWAYS: [&str; 2] = ["documents", "ledger"];

/// Scrapes one after the other, as a Prometheus does.
#[derive(Default)]
pub(super) struct Scraper {
    /// The epochs of leaders in the scrape before, and under which configuration that was.
    before: Option<(u64, BTreeMap<&'static str, f64>)>,
}

fn way(random: &mut Random) -> Transport {
    if random.once_in(4) { Transport::Unix } else { Transport::Tcp }
}

fn compressed(request: Request, random: &mut Random) -> (Request, &'static str) {
    if random.once_in(2) { (request.with("Accept-Encoding: gzip"), " compressed") } else { (request, "") }
}

impl Scraper {
    pub(super) fn scrape(&mut self, environment: &Environment, random: &mut Random) {
        let open = random.once_in(2);
        let accept = if open { "application/openmetrics-text; version=1.0.0" } else { "text/plain; version=0.0.4" };
        let request = Request::get("/metrics").with(&format!("Accept: {accept}"));
        let (request, how) = compressed(request.with("X-Prometheus-Scrape-Timeout-Seconds: 3"), random);
        let generation = environment.generation.load(Ordering::SeqCst);
        let unread = environment.unreadable.now();
        let what = if open { "openmetrics" } else { "metrics" };
        let answer = environment.ask(&format!("{what}{how}"), way(random), &request);
        let unread = environment.unreadable.ever_since(&unread);
        assert_eq!(answer.status, 200, "{}", answer.head);
        let text = answer.text();
        assert_eq!(text.ends_with("# EOF\n"), open, "the end is not what {accept} has");
        let metrics = Metrics::parse(&text);
        self.is_true(environment, &metrics, &unread, generation);
    }

    fn is_true(&mut self, environment: &Environment, metrics: &Metrics, unread: &[String], generation: u64) {
        for source in unread {
            assert_ne!(
                metrics.source("lease_source_up", source),
                Some(1.0),
                "{source} cannot be read:\n{}",
                metrics.text()
            );
            let of_source = format!("source=\"{source}\"");
            let claimed = metrics.text().lines().find(|line| {
                line.starts_with("lease_state{")
                    && line.contains(&of_source)
                    && !line.contains("state=\"unknown\"")
                    && line.ends_with(" 1")
            });
            assert_eq!(claimed, None, "{source} cannot be read");
        }
        let mut epochs = BTreeMap::new();
        for source in environment.sources() {
            let state = |lease: &str| metrics.says(source, lease).map(|(state, _)| state);
            assert_ne!(state(STUCK), Some("active"), "{source}");
            assert_ne!(state(LEADER), Some("stalled"), "{source}");
            if let Some(epoch) = metrics.of("lease_epoch", source, LEADER) {
                epochs.insert(source, epoch);
            }
        }
        // Under one configuration readings follow each other, and so do their epochs.
        if let Some((_, before)) = self.before.take().filter(|(of, _)| *of == generation) {
            for (source, epoch) in before {
                let now = epochs.get(source).copied().unwrap_or(epoch);
                assert!(now >= epoch, "the epoch of {source} went back from {epoch} to {now}");
                epochs.insert(source, now);
            }
        }
        let settled = environment.generation.load(Ordering::SeqCst);
        self.before = (settled == generation && generation.is_multiple_of(2)).then_some((generation, epochs));
    }
}

/// Some sources alone.
pub(super) fn one_source(environment: &Environment, random: &mut Random) {
    let request = Request::get(format!("/metrics?source={}", ALWAYS[random.once_in(2) as usize]));
    let (request, how) = compressed(request, random);
    let answer = environment.ask(&format!("metrics of a source{how}"), way(random), &request);
    assert_eq!(answer.status, 200, "{}", answer.head);
    Metrics::parse(&answer.text());
}

/// All leases as JSON.
pub(super) fn json(environment: &Environment, random: &mut Random) {
    let (request, how) = compressed(Request::get("/api/v1/leases"), random);
    let unread = environment.unreadable.now();
    let answer = environment.ask(&format!("json{how}"), way(random), &request);
    let unread = environment.unreadable.ever_since(&unread);
    assert_eq!(answer.status, 200, "{}", answer.head);
    let json: Value = serde_json::from_str(&answer.text()).unwrap();
    for source in json["sources"].as_array().unwrap() {
        let leases = source["leases"].as_array().unwrap();
        if unread.iter().any(|unread| *unread == *source["source"].as_str().unwrap()) {
            assert_eq!(source["up"], false, "{source}");
            assert!(leases.iter().all(|lease| lease["state"] == "unknown"), "{source}");
        }
    }
}

/// One lease as JSON: one that is always there, or one that never was.
pub(super) fn json_lease(environment: &Environment, random: &mut Random) {
    let (lease, status) =
        if random.once_in(2) { (LEADER.to_owned(), 200) } else { (format!("never-{}", random.next()), 404) };
    let path = format!("/api/v1/leases/{}/{lease}", ALWAYS[random.once_in(2) as usize]);
    let answer = environment.ask("json of a lease", way(random), &Request::get(path));
    assert_eq!(answer.status, status, "{lease}: {}", answer.head);
}

/// The page, whole or filtered, or that of a lease.
pub(super) fn page(environment: &Environment, random: &mut Random) {
    let (kind, path) = match random.below(3) {
        0 => ("page", "/".to_owned()),
        1 => ("page filtered", format!("/?state=stalled&q={}", random.next())),
        _ => ("page of a lease", format!("/lease?source={}&lease={STUCK}", ALWAYS[random.once_in(2) as usize])),
    };
    let (request, how) = compressed(Request::get(path), random);
    let answer = environment.ask(&format!("{kind}{how}"), way(random), &request);
    assert_eq!(answer.status, 200, "{}", answer.head);
    assert!(answer.text().trim_end().ends_with("</html>"));
}

/// The main part of the page, as its script asks for it: whole, and then only if it has changed.
pub(super) fn live(environment: &Environment, random: &mut Random) {
    let (request, how) = compressed(Request::get(format!("/live?q={}", random.next())), random);
    let answer = environment.ask(&format!("live{how}"), way(random), &request);
    assert_eq!(answer.status, 200, "{}", answer.head);
    let tag = format!("If-None-Match: {}", answer.header("etag").unwrap());
    assert!(answer.text().starts_with("<main "));
    let again = environment.ask("live again", way(random), &request.with(&tag));
    assert!([200, 304].contains(&again.status), "{}", again.head);
}

/// A probe: only of a lease that is stalled does it fail.
pub(super) fn probe(environment: &Environment, random: &mut Random) {
    let source = ALWAYS[random.once_in(2) as usize];
    let answer =
        environment.ask("probe of the leader", way(random), &Request::get(format!("/leases/{source}/{LEADER}/live")));
    assert_eq!(answer.status, 200, "{}", answer.head);
    let answer =
        environment.ask("probe of what is stuck", way(random), &Request::get(format!("/leases/{source}/{STUCK}/live")));
    assert!([200, 503].contains(&answer.status), "{}", answer.head);
}

/// The head of what is there, a path that is not, and whether it is well: each on one connection that is kept.
pub(super) fn others(environment: &Environment, random: &mut Random) {
    let _asking = environment.asking();
    let mut stream = environment.endpoint.open(way(random)).unwrap();
    let number = random.next();
    for (kind, request, status) in [
        ("head", Request { method: "HEAD", ..Request::get("/metrics") }, 200),
        ("not found", Request::get(format!("/nowhere/{number}?{number}=1")), 404),
        ("no such source", Request::get(format!("/metrics?source=never-{number}")), 404),
        ("healthy", Request { headers: String::new(), ..Request::get("/-/healthy") }, 200),
    ] {
        let began = now();
        request.send(&mut *stream).unwrap();
        let answer = super::client::Answer::read(&mut *stream, request.method).unwrap();
        assert_eq!(answer.status, status, "{kind}: {}", answer.head);
        environment.requests.count(kind, now() - began);
        // After the certificate was renewed it is closed.
        if answer.header("connection") == Some("close") {
            return;
        }
    }
}
