//! The configuration loaded again, and that of the web replaced.

use std::fs;
use std::sync::atomic::Ordering;

use rustix::process::Signal;

use super::client::{Request, Way};
use super::deck::Deck;
use super::place::MAX_LEASES;
use super::stage::{Stage, configuration, users, web};
use crate::harness::store::{STEADY, database};
use crate::harness::{eventually, now};

const TAKEN: &str = "the configuration was loaded again";
const REFUSED: &str = "the configuration cannot be used";
const WEB_TAKEN: &str = "the web configuration was loaded again";
const WEB_REFUSED: &str = "the web configuration cannot be used";

type Change = (&'static str, fn(&Stage, &mut Deck));

/// What can be changed.
const CHANGES: [Change; 11] = [
    ("the same again, by a signal", |stage, _| by_signal(stage, Some(&base(stage)), true)),
    ("the same again, by a request", |stage, _| by_request(stage, &base(stage), true)),
    ("sources added", added),
    ("a source removed, and another limit", |stage, _| {
        let kept = &stage.places[..stage.places.len() - 1];
        by_request(stage, &configuration(kept, "", "3s"), true);
    }),
    ("sources that are read otherwise, and fewer families", |stage, _| {
        let other = base(stage).replace("LEFT JOIN lease ON true", "LEFT JOIN lease ON 1 = 1");
        by_signal(stage, Some(&format!("{other}metrics: {{ drop: [lease_holders, lease_due] }}\n")), true);
    }),
    ("one that cannot be used, by a signal", |stage, _| by_signal(stage, Some("sources: ["), false)),
    ("one that cannot be used, by a request", |stage, deck| {
        let wrong = format!("  - {{ name: wrong-{}, store: 'sqlite://x.db', preset: none }}\n", deck.random().next());
        by_request(stage, &configuration(&stage.places, &wrong, "2s"), false);
    }),
    ("a file that is not there", |stage, _| by_signal(stage, None, false)),
    ("a certificate renewed", |stage, _| renewed(stage)),
    ("a user added and removed, and a file that cannot be used", |stage, _| {
        let more = web("  another: $2y$04$bSDTnxBmLk8dPS2vGhdO.eMVGMZHjY3pnDnwVQaVVcp.0TB.IWxvq\n");
        web_changed(stage, &more, WEB_TAKEN);
        web_changed(stage, "tls_server_config: {}\nnonsense: true\n", WEB_REFUSED);
        web_changed(stage, &web(""), WEB_TAKEN);
    }),
    ("TLS given up, which takes a restart", |stage, _| {
        web_changed(stage, &users(""), WEB_REFUSED);
        web_changed(stage, &web(""), WEB_TAKEN);
    }),
];

/// How many changes there are.
pub(super) const KINDS: usize = CHANGES.len();

/// Makes a change, and sees that it has come about.
pub(super) fn change(stage: &Stage, deck: &mut Deck) {
    let (name, change) = CHANGES[deck.draw()];
    let began = now();
    stage.generation.fetch_add(1, Ordering::SeqCst);
    change(stage, deck);
    stage.generation.fetch_add(1, Ordering::SeqCst);
    stage.reloads.count(name, now() - began);
}

/// Goes back to what was first.
pub(super) fn restore(stage: &Stage) {
    stage.generation.fetch_add(1, Ordering::SeqCst);
    by_request(stage, &base(stage), true);
    stage.generation.fetch_add(1, Ordering::SeqCst);
}

fn base(stage: &Stage) -> String {
    configuration(&stage.places, "", "2s")
}

fn put(stage: &Stage, file: &str, content: &[u8]) {
    let next = stage.folder.path().join(format!("{file}.next"));
    fs::write(&next, content).unwrap();
    fs::rename(&next, stage.folder.path().join(file)).unwrap();
}

/// How often the log has had this in it.
fn told(stage: &Stage, what: &str) -> usize {
    stage.exporter.process().stderr.count(what)
}

fn by_signal(stage: &Stage, yaml: Option<&str>, taken: bool) {
    match yaml {
        Some(yaml) => put(stage, "exporter.yml", yaml.as_bytes()),
        // The change before may have been the same.
        None => drop(fs::remove_file(stage.folder.path().join("exporter.yml"))),
    }
    let what = if taken { TAKEN } else { REFUSED };
    let before = told(stage, what);
    stage.exporter.process().signal(Signal::HUP);
    eventually("a signal to have the configuration loaded again", || (told(stage, what) > before).then_some(()));
    is_successful(stage, taken);
}

fn by_request(stage: &Stage, yaml: &str, taken: bool) {
    put(stage, "exporter.yml", yaml.as_bytes());
    let answer = stage.ask("reload", Way::Tcp, &Request { method: "POST", ..Request::get("/-/reload") });
    assert_eq!(answer.status, if taken { 200 } else { 500 }, "{}", answer.head);
    is_successful(stage, taken);
}

fn is_successful(stage: &Stage, taken: bool) {
    let metrics = stage.scrape();
    let successful = metrics.value("lease_exporter_config_last_reload_successful", &[]);
    assert_eq!(successful, Some(if taken { 1.0 } else { 0.0 }));
}

/// Sources of names that never come again: one that can be read, and one that cannot.
fn added(stage: &Stage, deck: &mut Deck) {
    let number = deck.random().next();
    let file = stage.folder.path().join(format!("added-{number}.db"));
    drop(database(&file, "CREATE TABLE t (x)"));
    let more = format!(
        "  - {{ name: added-{number}, store: 'sqlite://{}', max_leases: {MAX_LEASES}, query: \"{STEADY}\" }}\n  \
         - {{ name: absent-{number}, store: 'sqlite://absent-{number}.db', preset: reference }}\n",
        file.display()
    );
    by_request(stage, &configuration(&stage.places, &more, "2s"), true);
    let source = format!("added-{number}");
    stage.scrape_until("a source that was added to be read", |metrics| {
        metrics.source("lease_source_up", &source) == Some(1.0)
    });
    by_signal(stage, Some(&base(stage)), true);
    let metrics = stage.scrape();
    assert!(!metrics.text().contains(&source), "it is still there:\n{}", metrics.text());
    fs::remove_file(file).unwrap();
}

/// Another certificate and key. Between the two they do not fit together, and those before must stay.
fn renewed(stage: &Stage) {
    let next = stage.certificates.next_server(&["localhost", "127.0.0.1"]);
    let before = told(stage, WEB_TAKEN);
    put(stage, "server.pem", &fs::read(next.certificate_file).unwrap());
    stage.ask("healthy", Way::Tcp, &Request::get("/-/healthy"));
    put(stage, "server.key", &fs::read(next.key_file).unwrap());
    web_told(stage, WEB_TAKEN, before);
}

fn web_changed(stage: &Stage, yaml: &str, outcome: &str) {
    let before = told(stage, outcome);
    put(stage, "web.yml", yaml.as_bytes());
    web_told(stage, outcome, before);
}

/// It is looked at when somebody asks.
fn web_told(stage: &Stage, outcome: &str, before: usize) {
    eventually("the web configuration to be looked at", || {
        stage.ask("healthy", Way::Tcp, &Request::get("/-/healthy"));
        (told(stage, outcome) > before).then_some(())
    });
}
