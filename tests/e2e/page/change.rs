//! What happens while somebody looks.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;

use super::browser::Browser;
use super::stage::Stage;
use crate::harness::{now, sleep_until};

const STALL_AFTER: Duration = Duration::from_secs(4);

/// Two leases whose work moves.
fn two_at_work() -> Stage {
    Stage::new("INSERT INTO work (lease) VALUES ('index'), ('planner')", STALL_AFTER)
}

#[test]
fn a_lease_that_stalls_is_seen_to_without_a_reload_and_the_focus_stays_where_it_was() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = two_at_work();
    browser.open(&stage.address("/"));
    browser.value("window.loaded = 'once'");
    browser.tab_to("it.textContent === 'planner'");
    assert_eq!(browser.text("document.querySelector('li.lease h2').textContent"), "index");
    stage.let_hang("planner");
    browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
    assert_eq!(browser.text("document.querySelector('li.lease h2').textContent"), "planner", "the worst first");
    assert_eq!(browser.text("window.loaded"), "once");
    assert_eq!(browser.text("document.activeElement.textContent"), "planner");
    assert!(browser.text("document.title").starts_with("1 stalled"));
    assert_eq!(browser.text("document.getElementById('changed').textContent"), "1 stalled", "it is said, too");
    let since = browser.text("document.querySelector('li.lease.stalled .since').innerText");
    assert!(since.starts_with("for ") && !since.contains('\u{2265}'), "it was seen to become so: {since}");
    assert_eq!(browser.text("document.getElementById('live').textContent"), "Live");
    browser.assert_no_complaints();
}

#[test]
fn while_nobody_could_look_the_page_says_so_and_afterwards_there_is_a_gap() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = two_at_work();
    browser.open(&stage.address("/lease?source=own&lease=planner"));
    // Once a few looks have followed each other, it is known how far apart they usually are.
    browser.until("it to be watched", "/ ([6-9]|[1-9][0-9])s/.test(document.querySelector('.seen').textContent)");
    assert_eq!(browser.value("document.querySelectorAll('.strip rect:not(.floor)').length"), 1);
    stage.exporter.process().signal(Signal::STOP);
    let stopped = now();
    browser.until("the page to say that it is old", "document.body.classList.contains('old')");
    assert!(browser.text("document.getElementById('lost').innerText").contains("was so then, not now"));
    sleep_until(stopped + Duration::from_secs(12));
    stage.exporter.process().signal(Signal::CONT);
    browser.until("the gap to show", "document.querySelector('.seen .gap') !== null");
    browser.until("the page to be live again", "!document.body.classList.contains('old')");
    let seen = browser.text("[...document.querySelectorAll('.seen b')].map(seen => seen.textContent).join()");
    assert_eq!(seen, "active (progressing),nobody looked,active (progressing)");
    let open = browser.value(
        "(([one, other]) => other.getBoundingClientRect().left - one.getBoundingClientRect().right) \
         (document.querySelectorAll('.strip rect:not(.floor)'))",
    );
    assert!(open.as_f64().unwrap() > 1.0, "nothing is drawn between the two: {open}");
    assert!(browser.text("document.querySelector('.since').innerText").contains('\u{2265}'), "honest after a gap");
    browser.assert_no_complaints();
}

#[test]
fn where_there_is_no_stream_to_be_had_the_page_asks_again_and_again() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = two_at_work();
    let streams: Vec<_> = (0..32)
        .map(|_| {
            let mut stream = TcpStream::connect(stage.exporter.address()).unwrap();
            stream.write_all(b"GET /live HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
            let mut begun = [0];
            std::io::Read::read_exact(&mut stream, &mut begun).unwrap();
            stream
        })
        .collect();
    assert_eq!(stage.exporter.get("/live").status, 503);
    browser.open(&stage.address("/"));
    browser.value("window.loaded = 'once'");
    stage.let_hang("planner");
    browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
    assert_eq!(browser.text("window.loaded"), "once");
    browser.assert_no_complaints();
    drop(streams);
}

#[test]
fn an_open_page_does_not_keep_the_exporter_from_ending() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = two_at_work();
    browser.open(&stage.address("/"));
    browser.until("a stream", "document.getElementById('live').textContent === 'Live' && streamed > 0");
    let began = now();
    assert_eq!(stage.exporter.stop().code, Some(0));
    assert!(now() - began < Duration::from_secs(10), "{:?}", now() - began);
    browser.until("the page to say so", "!document.getElementById('lost').hidden");
}
