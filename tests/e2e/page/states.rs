//! The content of the page.

use std::time::Duration;

use serde_json::{Value, json};

use super::browser::Browser;
use super::fixture::{EACH_STATE, PageFixture, unreadable};
use crate::harness::now;

const ROWS: &str = "[...document.querySelectorAll('li.lease')].map(row => ({ \
    name: row.querySelector('h2').textContent, \
    word: row.querySelector('.state b').textContent, \
    shape: row.querySelector('.state use').getAttribute('href'), \
    colour: getComputedStyle(row.querySelector('.state .shape')).fill, \
    facts: [...row.querySelectorAll('dt')].slice(0, 2).map(fact => fact.textContent), \
    holder: /holder [0-9a-f]{16}/.test(row.textContent), epoch: /epoch 7/.test(row.textContent) }))";

/// The number of different values of a member.
fn different(rows: &[Value], member: &str) -> usize {
    let mut values: Vec<_> = rows.iter().map(|row| row[member].to_string()).collect();
    values.sort();
    values.dedup();
    values.len()
}

#[test]
fn each_state_is_shown_by_word_shape_and_colour_worst_first() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    for dark in [false, true] {
        browser.dark(dark);
        browser.open(&fixture.address("/"));
        let rows = browser.value(ROWS);
        let rows = rows.as_array().unwrap();
        let said: Vec<_> =
            rows.iter().map(|row| (row["name"].as_str().unwrap(), row["word"].as_str().unwrap())).collect();
        assert_eq!(said, EACH_STATE);
        for member in ["word", "shape", "colour"] {
            assert_eq!(different(rows, member), EACH_STATE.len(), "{member}: {rows:?}");
        }
        for row in rows {
            assert_eq!(row["facts"], json!(["authority", "progress"]), "{row}");
            assert_eq!(row["holder"], row["name"] != "mailer", "{row}");
            assert_eq!(row["epoch"], true, "{row}");
        }
        // The bars of a fresh lease with old progress: one is short, the other exceeds the limit mark.
        let widths = browser.value(
            "[...document.querySelectorAll('li.lease.stalled .picture rect:not(.perhaps)')].filter((_, at) => at % 2 === 0) \
             .map(bar => bar.getBoundingClientRect().width / bar.ownerSVGElement.getBoundingClientRect().width)",
        );
        assert!(widths[0].as_f64().unwrap() < 0.1 && widths[1].as_f64().unwrap() > 0.9, "{widths}");
    }
    browser.assert_no_complaints();
}

#[test]
fn lease_page_has_its_own_address_and_shows_the_evidence() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    browser.open(&fixture.address("/"));
    browser.value("document.querySelector('li.lease.stalled h2 a').click()");
    browser.until("the lease to open", "document.getElementById('why') !== null");
    let text = browser.text("document.getElementById('main').innerText");
    for shown in [
        "no_progress",
        "stall_after 5m",
        "a time in the store",
        "Observed as stalled since",
        "None.",
        "thread dump",
        "LeaseWorkStalled",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert_eq!(browser.text("location.pathname + location.search"), "/lease?source=own&lease=retention");
    // The lease page, with the open evidence, stays the same while it is updated.
    let made = browser.text("document.querySelector('.made').textContent");
    browser.until("it to be renewed", &format!("document.querySelector('.made').textContent !== {made:?}"));
    assert!(browser.value("document.getElementById('why') !== null") == true);
    browser.assert_no_complaints();
}

#[test]
fn unreadable_store_shows_a_banner_instead_of_an_empty_table() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    browser.open(&fixture.address("/"));
    fixture.table.execute_batch("DROP TABLE work").unwrap();
    browser.until("a banner", "document.querySelector('.banner.failed') !== null");
    let banner = browser.text("document.querySelector('.banner.failed').innerText");
    assert!(
        banner.contains("own could not be read") && banner.contains("Nothing is known of its 5 leases"),
        "{banner}"
    );
    let states = browser.value("[...document.querySelectorAll('li.lease .state b')].map(state => state.textContent)");
    assert_eq!(states, json!(vec!["unknown"; 5]));
    browser.open(&fixture.address("/lease?source=own&lease=planner"));
    browser.until("what was seen", "document.querySelector('.strip rect.unreadable') !== null");
    assert!(browser.text("document.querySelector('.seen').innerText").contains("lacks a table or column"));
    browser.assert_no_complaints();
}

#[test]
fn ten_thousand_leases_stay_usable() {
    let Some(mut browser) = Browser::start() else { return };
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
                INSERT INTO work (lease) SELECT printf('lease-%05d', i) FROM n; \
                INSERT INTO work VALUES ('zz-stuck', 'someone', unixepoch() - 3600, 1, unixepoch() - 3600);";
    let fixture = PageFixture::new(many, Duration::from_secs(300));
    let page = fixture.exporter.get("/");
    assert!(page.body.len() < 200_000, "{} bytes", page.body.len());
    let began = now();
    browser.open(&fixture.address("/"));
    let took = now() - began;
    assert!(took < Duration::from_secs(20), "{took:?}");
    // The page does not wait for a slow reading, and shows it when it is complete.
    browser.until("the worst first", "document.querySelector('li.lease h2')?.textContent === 'zz-stuck'");
    browser.value("document.querySelector('a[rel=next]').click()");
    browser.until(
        "the next page",
        "document.querySelector('.pages').innerText.includes('101 to 200 of 10000, page 2 of 100')",
    );
    browser.open(&fixture.address("/?q=lease-07777"));
    browser.until("the only one", "document.querySelectorAll('li.lease').length === 1");
    assert_eq!(browser.text("document.querySelector('.tallies .active b').textContent"), "1", "as its link shows");
    assert!(browser.text("document.querySelector('.shown').textContent").contains("Among the others: 1 stalled."));
    browser.assert_no_complaints();
}

#[test]
fn no_name_injects_into_the_page_and_each_has_an_address() {
    let Some(mut browser) = Browser::start() else { return };
    let names = [
        "<img src=x onerror=window.hit=1>",
        "\"><script>window.hit=1</script>",
        "'onmouseover='window.hit=1",
        "..",
        "a/../b?c#d&e=f%2f",
        "{{7*7}}",
        "\u{202e}gnp.evil",
    ];
    let fixture = PageFixture::new("", Duration::from_secs(300));
    for name in names.iter().copied().chain([&*"x".repeat(1_000), &*"wide ".repeat(100)]) {
        fixture.table.execute("INSERT INTO work (lease) VALUES (?1)", [name]).unwrap();
    }
    browser.open(&fixture.address("/"));
    let links = browser.value("[...document.querySelectorAll('li.lease h2 a')].map(link => link.href)");
    let links: Vec<String> = links.as_array().unwrap().iter().map(|link| link.as_str().unwrap().to_owned()).collect();
    assert_eq!(links.len(), names.len() + 2);
    let mut shown = Vec::new();
    for link in links {
        browser.open(&link);
        shown.push(browser.text("document.querySelector('article.lease h2').textContent"));
        assert_eq!(browser.value("window.hit === undefined && document.querySelectorAll('script').length === 1"), true);
    }
    for name in names {
        let expected = name.replace('\u{202e}', "\\u{202e}");
        assert!(shown.contains(&expected), "{expected} is not in {shown:?}");
    }
    browser.assert_no_complaints();
}

#[test]
fn thirty_sources_that_cannot_be_read_leave_the_worst_lease_on_the_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let down = unreadable((0..30).map(|number| format!("shard-{number:02}")));
    let rows = "INSERT INTO work VALUES ('retention', 'someone', unixepoch() - 3600, 14, unixepoch() - 3600);";
    let fixture = PageFixture::beside(rows, Duration::from_secs(300), &down);
    for width in [1200, 360] {
        browser.size(width, 800);
        browser.open(&fixture.address("/"));
        let top = browser.value("document.querySelector('li.lease.stalled').getBoundingClientRect().top");
        assert!(top.as_f64().unwrap() < 700.0, "{top} at {width} px");
    }
    assert!(browser.text("document.title").starts_with("1 stalled, 30 sources unreadable"));
    browser.value("document.querySelector('details.banner summary').click()");
    assert!(browser.text("document.querySelector('details.banner').innerText").contains("shard-29"));
    let made = browser.text("document.querySelector('.made').textContent");
    browser.until("it to be renewed", &format!("document.querySelector('.made').textContent !== {made:?}"));
    assert!(browser.value("document.querySelector('details.banner').open") == true, "what was opened stays open");
    browser.assert_no_complaints();
}

#[test]
fn a_source_that_is_not_configured_is_not_an_empty_page() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = PageFixture::of_each_state();
    assert_eq!(fixture.exporter.get("/?source=nope").status, 404);
    browser.open(&fixture.address("/?source=nope&state=Stalled"));
    let text = browser.text("document.body.innerText");
    assert!(
        text.contains("No source nope is configured.") && text.contains("Ignored in the address: an unknown state."),
        "{text}"
    );
    browser.until("it to be renewed", "answers > 0");
    assert!(browser.text("document.body.innerText").contains("No source nope is configured."));
    browser.assert_no_complaints();
}
