//! Changes while the page is open.

use std::time::Duration;

use rustix::process::Signal;

use super::browser::Browser;
use super::fixture::PageFixture;
use crate::harness::{now, sleep_until};

const STALL_AFTER: Duration = Duration::from_secs(4);

/// Two leases with progress.
fn two_at_work() -> PageFixture {
    PageFixture::new("INSERT INTO work (lease) VALUES ('index'), ('planner')", STALL_AFTER)
}

#[test]
fn stalled_lease_shows_without_a_reload_and_without_moving_the_focus() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.value("window.loaded = 'once'");
    browser.tab_to("it.textContent === 'planner'");
    assert_eq!(browser.text("document.querySelector('li.lease h2').textContent"), "index");
    fixture.let_hang("planner");
    browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
    assert_eq!(browser.text("document.querySelector('li.lease h2').textContent"), "planner", "the worst first");
    assert_eq!(browser.text("window.loaded"), "once");
    assert_eq!(browser.text("document.activeElement.textContent"), "planner");
    assert!(browser.text("document.title").starts_with("1 stalled"));
    let said = "document.getElementById('changed').textContent";
    assert_eq!(browser.text(said), "planner: stalled; 1 stalled", "it is said, too");
    let since = browser.text("document.querySelector('li.lease.stalled .since').innerText");
    assert!(since.starts_with("for ") && !since.contains('\u{2265}'), "it was seen to become so: {since}");
    assert_eq!(browser.text("document.getElementById('live').textContent"), "Live");
    // The title does not change if another lease stalls instead, but the change is announced.
    fixture.let_work("planner");
    fixture.let_hang("index");
    browser.until("the other to be said", &format!("{said}.includes('index: stalled')"));
    browser.assert_no_complaints();
}

#[test]
fn page_reports_a_failed_reading_and_then_shows_a_gap() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/lease?source=own&lease=planner"));
    // The page knows the usual interval after a few updates.
    browser.until("it to be watched", "/ ([6-9]|[1-9][0-9])s/.test(document.querySelector('.seen').textContent)");
    assert_eq!(browser.value("document.querySelectorAll('.strip rect:not(.floor)').length"), 1);
    fixture.exporter.process().signal(Signal::STOP);
    let stopped = now();
    browser.until("the page to say that it is old", "document.body.classList.contains('old')");
    assert!(browser.text("document.title").starts_with("(not live) active: planner"));
    let as_of = browser.text("document.querySelector('.made time').textContent");
    let said = browser.text("document.getElementById('trouble').textContent");
    assert!(said.contains(&format!("What is below was so at {as_of}, not now.")) && as_of.ends_with(" UTC"), "{said}");
    // The failure is announced once.
    browser.value(
        "window.announced = 0; new MutationObserver(() => announced++).observe(document.getElementById('trouble'), \
         { childList: true, characterData: true, subtree: true })",
    );
    sleep_until(stopped + Duration::from_secs(12));
    let lasted = browser.text("document.getElementById('lasting').textContent");
    assert!(lasted.ends_with(" s ago") && browser.value("announced <= 1") == true, "{lasted}");
    fixture.exporter.process().signal(Signal::CONT);
    browser.until("the gap to show", "document.querySelector('.seen .gap') !== null");
    browser.until("the page to be live again", "!document.body.classList.contains('old')");
    let seen = browser.text("[...document.querySelectorAll('.seen b')].map(seen => seen.textContent).join()");
    assert_eq!(seen, "active (progressing),not observed,active (progressing)");
    let open = browser.value(
        "(([one, other]) => other.getBoundingClientRect().left - one.getBoundingClientRect().right) \
         (document.querySelectorAll('.strip rect:not(.floor)'))",
    );
    assert!(open.as_f64().unwrap() > 1.0, "nothing is drawn between the two: {open}");
    assert!(browser.text("document.querySelector('.since').innerText").contains('\u{2265}'), "honest after a gap");
    browser.assert_no_complaints();
}

#[test]
fn a_page_that_does_not_change_is_asked_for_by_its_tag_and_stays_live() {
    let Some(mut browser) = Browser::start() else { return };
    // Readings are reused for a minute, so nothing can change.
    let fixture = PageFixture::reused("INSERT INTO work (lease) VALUES ('planner')", STALL_AFTER, "1m");
    browser.open(&fixture.address("/"));
    browser.until("a tag", "tag !== null");
    let first = browser.text("tag");
    browser.value("window.taken = take; take = () => { throw new Error('it has not changed'); }; 1");
    browser.until("further answers", "answers > 3");
    assert_eq!(browser.text("tag"), first);
    assert_eq!(browser.text("document.getElementById('live').textContent"), "Live");
    assert_eq!(browser.value("failed"), false);
    browser.assert_no_complaints();
}

#[test]
fn a_page_recovers_by_itself_when_the_exporter_is_there_again() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.until("an answer", "answers > 0");
    fixture.exporter.process().signal(Signal::STOP);
    let stopped = now();
    browser.until("the page to say that it is old", "document.title.startsWith('(not live)')");
    let after = now() - stopped;
    assert!(after < Duration::from_secs(20), "{after:?}");
    fixture.exporter.process().signal(Signal::CONT);
    browser.until("the page to be live again", "document.getElementById('live').textContent === 'Live'");
    assert_eq!(browser.value("document.title.startsWith('(not live)')"), false);
    assert_eq!(browser.value("document.getElementById('lost').hidden"), true);
}

#[test]
fn an_open_page_does_not_keep_the_exporter_from_ending() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.until("an answer", "document.getElementById('live').textContent === 'Live' && answers > 0");
    let began = now();
    assert_eq!(fixture.exporter.stop().code, Some(0));
    assert!(now() - began < Duration::from_secs(10), "{:?}", now() - began);
    browser.until("the page to say so", "!document.getElementById('lost').hidden");
}

#[test]
fn a_clock_that_is_set_back_does_not_make_an_old_page_live() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.until("an answer", "answers > 0");
    fixture.exporter.process().signal(Signal::STOP);
    browser.value("Date.now = () => 0");
    browser.until("the page to say that it is old", "document.getElementById('live').textContent === 'Not live'");
    fixture.exporter.process().signal(Signal::CONT);
}

#[test]
fn selected_text_stays_while_the_title_is_updated() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.until("an answer", "answers > 0");
    browser.value("getSelection().selectAllChildren(document.querySelector('.sentence'))");
    fixture.let_hang("planner");
    browser.until("the title to tell", "document.title.startsWith('1 stalled')");
    assert_eq!(browser.value("document.querySelector('li.lease.stalled') === null"), true, "the selection is kept");
    assert!(browser.value("getSelection().toString().length > 10") == true);
    assert_eq!(browser.value("document.body.classList.contains('old')"), false);
    let held = browser.text("document.getElementById('held').innerText");
    let as_of = browser.text("document.querySelector('.made time').textContent");
    assert!(held.contains(&as_of), "{held}");
    browser.value("getSelection().removeAllRanges()");
    browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
    assert_eq!(browser.value("document.getElementById('held').hidden"), true);
    browser.assert_no_complaints();
}

#[test]
fn hidden_tab_has_a_current_title() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    browser.open(&fixture.address("/"));
    browser.until("an answer", "answers > 0");
    browser.cover();
    fixture.let_hang("planner");
    browser.until("the title to tell", "document.title.startsWith('1 stalled')");
    fixture.exporter.process().signal(Signal::KILL);
    browser.until("the title to say that it is not live", "document.title.startsWith('(not live) 1 stalled')");
}

#[test]
fn a_seventh_window_opens_and_all_of_them_are_live() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = two_at_work();
    // Six visible windows beside the focused one use all connections of the browser to a host.
    for _ in 0..6 {
        browser.window(false);
        browser.open(&fixture.address("/"));
    }
    browser.window(true);
    browser.open(&fixture.address("/"));
    browser.until("an answer", "answers > 0");
    let all = browser.windows();
    assert_eq!(all.len(), 7);
    fixture.let_hang("planner");
    for window in all {
        browser.turn_to(window);
        browser.until("the lease to be stalled", "document.querySelector('li.lease.stalled') !== null");
        assert_eq!(browser.text("document.getElementById('live').textContent"), "Live");
    }
    browser.assert_no_complaints();
}

#[test]
fn focus_follows_a_lease_that_moves_in_the_list() {
    let Some(mut browser) = Browser::start() else { return };
    let leases: Vec<_> = (10..60).map(|number| format!("('lease-{number}')")).collect();
    let fixture = PageFixture::new(&format!("INSERT INTO work (lease) VALUES {};", leases.join(", ")), STALL_AFTER);
    browser.open(&fixture.address("/"));
    browser.value("[...document.querySelectorAll('h2 a')].at(-1).focus()");
    assert_eq!(browser.text("document.activeElement.textContent"), "lease-59");
    fixture.let_hang("lease-59");
    browser.until("it to be the first", "document.querySelector('li.lease h2').textContent === 'lease-59'");
    let top = browser.value("document.activeElement.getBoundingClientRect().top");
    assert_eq!(browser.text("document.activeElement.textContent"), "lease-59");
    assert!((0.0..900.0).contains(&top.as_f64().unwrap()), "it is in sight: {top}");
}
