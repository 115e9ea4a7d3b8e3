//! A hanging source beside a working one: the page waits for neither.

use std::net::TcpListener;
use std::time::Duration;

use super::browser::Browser;
use super::fixture::PageFixture;
use crate::harness::{PATIENCE, http, now};

const STALL_AFTER: Duration = Duration::from_secs(4);
/// The limit of a response that does not wait for the hanging source, which takes a minute.
const AT_ONCE: Duration = Duration::from_secs(20);
/// The scrape timeout: longer than the timeout of the source.
const PATIENT: (&str, &str) = ("X-Prometheus-Scrape-Timeout-Seconds", "90");

/// A working source, and a source whose server accepts connections and never answers.
struct Beside {
    fixture: PageFixture,
    _hung: TcpListener,
}

impl Beside {
    fn start() -> Self {
        let hung = TcpListener::bind("127.0.0.1:0").unwrap();
        let source = format!(
            "  - name: hung\n    store: redis://{}/0\n    preset: reference\n    timeout: 60s\n\
             leases:\n  - match: {{ source: hung, lease: locked }}\n",
            hung.local_addr().unwrap()
        );
        let fixture = PageFixture::beside("INSERT INTO work (lease) VALUES ('planner')", STALL_AFTER, &source);
        Self { fixture, _hung: hung }
    }

    /// The response to a request, which must arrive at once.
    fn get(&self, path: &str) -> String {
        let reply = http::get(self.fixture.exporter.address(), path, &[(PATIENT.0, PATIENT.1.to_owned())]);
        assert!(reply.took < AT_ONCE, "{path} took {:?}", reply.took);
        assert_eq!(reply.status, 200, "{path}");
        reply.body
    }
}

/// The seconds without an answer, as shown in the banner.
fn unanswered(page: &str) -> Option<u64> {
    let (_, after) = page.split_once("Source <bdi>hung</bdi></b> has not answered for ")?;
    let (time, _) = after.split_once(" (store_timeout)")?;
    let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap_or(("0", time.trim_end_matches('s')));
    Some(minutes.parse::<u64>().unwrap() * 60 + seconds.parse::<u64>().unwrap_or_default())
}

/// The time of the page, in seconds of the day.
fn as_of(page: &str) -> u64 {
    let (_, after) = page.split_once("as of <time>").unwrap();
    let time = after.split_once(" UTC</time>").unwrap().0.split_once(' ').unwrap().1;
    time.split(':').fold(0, |all, part| all * 60 + part.parse::<u64>().unwrap())
}

#[test]
fn pages_appear_at_once_with_known_states_and_wait_for_no_other_source() {
    let beside = Beside::start();
    for path in ["/", "/?q=planner", "/?source=own", "/lease?source=own&lease=planner", "/api/v1/leases/own/planner"] {
        let page = beside.get(path);
        assert!(page.contains("planner") && page.contains("active"), "{path}: {page}");
        let of_all = !path.contains("own");
        assert_eq!(unanswered(&page).is_some(), of_all, "{path}: {page}");
        assert_eq!(page.contains("<option value=\"hung\">"), path.starts_with("/?") || path == "/", "{path}");
    }
    let page = beside.get("/lease?source=hung&lease=locked");
    assert!(page.contains("<code>store_timeout</code>") && unanswered(&page).is_some(), "{page}");
    // A scrape meanwhile reports the same, within its own timeout.
    let metrics = beside.fixture.exporter.scrape_within(Some(2.0));
    assert_eq!(metrics.says("hung", "locked"), Some(("unknown", "store_timeout")));
    assert_eq!(metrics.says("own", "planner"), Some(("active", "progressing")));
}

#[test]
fn the_main_part_tells_that_a_lease_stalls_while_another_source_hangs() {
    let beside = Beside::start();
    // The request of the script, which must not wait.
    let mut pages = std::iter::from_fn(|| {
        let page = beside.get("/live");
        std::thread::sleep(Duration::from_secs(2));
        Some(page)
    });
    let first = pages.next().unwrap();
    assert!(first.contains("lease active"), "{first}");
    beside.fixture.let_hang("planner");
    let began = now();
    let (mut waited, mut times) = (vec![unanswered(&first).unwrap()], vec![as_of(&first)]);
    let stalled = loop {
        let page = pages.next().unwrap();
        waited.push(unanswered(&page).expect("it still hangs"));
        times.push(as_of(&page));
        if page.contains("lease stalled") {
            break page;
        }
        assert!(now() - began < PATIENCE, "{page}");
    };
    assert!(waited.is_sorted() && waited.last() > waited.first(), "it grows: {waited:?}");
    assert!(times.is_sorted_by(|one, other| one < other || *other < 60), "each is of another reading: {times:?}");
    assert!(stalled.contains("1 stalled") && stalled.contains("store_timeout"), "{stalled}");
    let stored: f64 = beside.fixture.table.query_row("SELECT progress_at FROM work", [], |row| row.get(0)).unwrap();
    let (_, moved) = stalled.split_once("moved ").unwrap();
    let moved: f64 = moved.split_once("s ago").unwrap().0.parse().unwrap();
    let off = (stored + moved).rem_euclid(86_400.0) - f64::from(u32::try_from(*times.last().unwrap()).unwrap());
    assert!(off.abs() < 2.0, "ages are as of the time that the page is of, {off} s off");
}

#[test]
fn a_page_stays_live_beside_a_source_that_hangs() {
    let Some(mut browser) = Browser::start() else { return };
    let beside = Beside::start();
    browser.open(&beside.fixture.address("/"));
    browser.value(
        "window.old = 0; new MutationObserver(() => { window.old += document.body.classList.contains('old'); }) \
         .observe(document.body, { attributes: true }); 1",
    );
    browser.until("an answer", "document.getElementById('live').textContent === 'Live'");
    beside.fixture.let_hang("planner");
    browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
    // A reading for a page ends after ten seconds. The next one goes on counting.
    let banner = "document.querySelector('.banner.failed').textContent";
    browser.until("time to pass", &format!("/hung has not answered for (1[3-9]|[2-9][0-9])s/.test({banner})"));
    assert_eq!(browser.value("window.old"), 0, "it was never said to be old");
    assert_eq!(browser.text("document.querySelector('li.lease.unknown h2').textContent"), "locked");
    browser.assert_no_complaints();
}
