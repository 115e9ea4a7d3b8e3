//! The page with a keyboard, a screen reader, a phone, and without script.

use std::time::Duration;

use rustix::process::Signal;

use super::browser::Browser;
use super::fixture::{EACH_STATE, PageFixture, unreadable};
use crate::servers;

const PAGES: [&str; 4] =
    ["/", "/lease?source=own&lease=retention", "/?q=no-such", "/?state=stalled&state=idle&source=own&q=e"];

#[test]
fn axe_finds_no_violation_in_light_or_dark_wide_or_narrow() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    let axe = std::fs::read_to_string(servers::program("axe.min.js")).unwrap();
    for page in PAGES {
        for (dark, width) in [(false, 1200), (true, 1200), (false, 400)] {
            browser.dark(dark);
            browser.size(width, 900);
            browser.open(&fixture.address(page));
            assert_no_violation(&mut browser, &axe, &format!("{page} dark: {dark}, {width} px"));
        }
    }
    browser.open(&fixture.address("/"));
    fixture.exporter.process().signal(Signal::STOP);
    browser.until("the page to say that it is old", "document.body.classList.contains('old')");
    for dark in [false, true] {
        browser.dark(dark);
        assert_no_violation(&mut browser, &axe, &format!("not live, dark: {dark}"));
    }
    fixture.exporter.process().signal(Signal::CONT);
}

fn assert_no_violation(browser: &mut Browser, axe: &str, what: &str) {
    browser.value(&format!("{axe}; 1"));
    let report = browser.value(
        "axe.run(document, { resultTypes: ['violations'] }).then(report => ({ passes: report.passes.length, \
         violations: report.violations.map(it => [it.id, it.nodes.map(node => node.html + node.failureSummary)]) }))",
    );
    assert_eq!(report["violations"], serde_json::json!([]), "{what}");
    assert!(report["passes"].as_u64().unwrap() > 20, "it did look: {report}");
}

#[test]
fn page_can_be_used_with_a_keyboard_alone() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    browser.open(&fixture.address("/"));
    browser.press("Tab");
    assert_eq!(browser.text("document.activeElement.textContent"), "Skip to the leases");
    assert!(
        browser.value("document.activeElement.getBoundingClientRect().width > 50") == true,
        "it shows once it is reached"
    );
    browser.press("Enter");
    browser.until("the leases to have the focus", "document.activeElement.id === 'main'");
    browser.tab_to("it.textContent.includes('stalled')");
    browser.press("Enter");
    browser.until("the stalled alone", "document.querySelectorAll('li.lease').length === 1");
    browser.tab_to("it.textContent === 'retention'");
    assert!(browser.text("getComputedStyle(document.activeElement).outlineStyle") != "none", "one sees where one is");
    browser.press("Enter");
    browser.until("the lease", "document.getElementById('why') !== null");
    browser.tab_to("it.textContent === 'All leases'");
    browser.press("Enter");
    browser.until("all leases", "document.querySelectorAll('li.lease').length === 5");
}

#[test]
fn page_is_complete_and_can_be_filtered_without_script() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    browser.without_script();
    browser.open(&fixture.address("/"));
    assert_eq!(browser.value("document.querySelectorAll('li.lease').length"), EACH_STATE.len());
    assert!(browser.value("document.querySelector('noscript meta[http-equiv=refresh]') !== null") == true);
    assert_eq!(browser.text("document.getElementById('live').textContent"), "As of when it was loaded");
    browser.tab_to("it.name === 'q'");
    browser.write("retent");
    browser.press("Enter");
    browser.until("the filtered list", "document.querySelectorAll('li.lease').length === 1");
    assert_eq!(browser.text("location.search"), "?q=retent&source=");
    assert_eq!(browser.text("document.querySelector('input[name=q]').value"), "retent");
    browser.open(&fixture.address("/lease?source=own&lease=retention"));
    assert!(browser.text("document.getElementById('main').textContent").contains("Observed as stalled since"));
    browser.assert_no_complaints();
}

#[test]
fn nothing_reaches_beyond_the_width_of_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let long = unreadable(["a-source-".to_owned() + &"x".repeat(91)]);
    let fixture =
        PageFixture::beside("INSERT INTO work (lease) VALUES ('retention');", Duration::from_secs(300), &long);
    for name in
        ["x".repeat(300), "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".into()]
    {
        fixture.table.execute("INSERT INTO work (lease) VALUES (?1)", [&name]).unwrap();
    }
    for width in [400, 320] {
        browser.size(width, 800);
        for page in PAGES.into_iter().chain(["/?q=xxxx", "/?q=Donau"]) {
            browser.open(&fixture.address(page));
            let beyond = browser.value("document.documentElement.scrollWidth");
            assert!(beyond.as_u64().unwrap() <= u64::from(width), "{page} at {width} px is {beyond} wide");
            let small = browser.value(
                "Math.min(...[...document.querySelectorAll('p, dd, dt, li')].filter(it => it.checkVisibility()) \
                 .map(it => parseFloat(getComputedStyle(it).fontSize)))",
            );
            assert!(small.as_f64().unwrap() >= 11.0, "{page}: a text of {small} px");
        }
    }
}

#[test]
fn on_a_phone_the_times_as_stored_are_read_without_scrolling_sideways() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    browser.size(360, 800);
    browser.open(&fixture.address("/lease?source=own&lease=retention"));
    let cells = browser.value(
        "[...document.querySelectorAll('td')].map(cell => ({ right: cell.getBoundingClientRect().right, \
         is: getComputedStyle(cell, '::before').content, text: cell.textContent }))",
    );
    let cells = cells.as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["right"].as_f64().unwrap() <= 360.0), "{cells:?}");
    let stored: Vec<_> = cells.iter().filter(|cell| cell["is"].as_str().unwrap().contains("As stored")).collect();
    assert_eq!(stored.len(), 4, "acquired, renewed, last progress, oldest due work: {cells:?}");
    assert!(stored.iter().all(|cell| cell["text"].as_str().unwrap().ends_with(" UTC")), "{stored:?}");
}
