//! Concurrent scrapes share one reading, one rendering and one compression.

use std::sync::Barrier;
use std::thread;

use super::{PROMETHEUS_2_42, Served};

#[test]
fn sixteen_scrapes_at_once_get_the_same_leases_in_whichever_format() {
    let served = Served::new(&[], 2_000);
    let barrier = Barrier::new(16);
    let bodies: Vec<String> = thread::scope(|scope| {
        let scrapes: Vec<_> = (0..16)
            .map(|number| {
                let (served, barrier) = (&served, &barrier);
                scope.spawn(move || {
                    let accept = if number % 2 == 0 { PROMETHEUS_2_42 } else { "text/plain" };
                    barrier.wait();
                    let reply = served.scrape("/metrics", accept, "gzip");
                    assert_eq!(reply.header("content-encoding"), Some("gzip"));
                    assert!(reply.length * 10 < reply.body.len(), "{} of {}", reply.length, reply.body.len());
                    reply.body
                })
            })
            .collect();
        scrapes.into_iter().map(|scrape| scrape.join().unwrap()).collect()
    });
    // The exporter's own metrics differ between scrapes, and comments between formats.
    let samples = |body: &String| -> Vec<String> {
        body.lines().filter(|line| line.starts_with("lease_") && line.contains("source=")).map(str::to_owned).collect()
    };
    let first = samples(&bodies[0]);
    assert!(first.len() > 2_000 * 30);
    assert!(bodies.iter().all(|body| samples(body) == first));
}
