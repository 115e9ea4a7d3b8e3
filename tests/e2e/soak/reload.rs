//! Reloads of the configuration, and replacements of the web configuration.

use std::fs;
use std::sync::atomic::Ordering;

use rustix::process::Signal;

use super::client::{Request, Transport};
use super::environment::{Environment, configuration, users, web};
use super::shuffle::Shuffle;
use super::stores::MAX_LEASES;
use crate::harness::store::{STEADY, database};
use crate::harness::{eventually, now};

const TAKEN: &str = "the configuration was loaded again";
const REFUSED: &str = "the configuration cannot be used";
const WEB_TAKEN: &str = "the web configuration was loaded again";
const WEB_REFUSED: &str = "the web configuration cannot be used";

type Change = (&'static str, fn(&Environment, &mut Shuffle));

/// The changes.
const CHANGES: [Change; 11] = [
    ("the same again, by a signal", |environment, _| by_signal(environment, Some(&base(environment)), true)),
    ("the same again, by a request", |environment, _| by_request(environment, &base(environment), true)),
    ("sources added", added),
    ("a source removed, and another limit", |environment, _| {
        let kept = &environment.stores[..environment.stores.len() - 1];
        by_request(environment, &configuration(kept, "", "3s"), true);
    }),
    ("sources that are read otherwise, and fewer families", |environment, _| {
        let other = base(environment).replace("LEFT JOIN lease ON true", "LEFT JOIN lease ON 1 = 1");
        by_signal(environment, Some(&format!("{other}metrics: {{ drop: [lease_holders, lease_due] }}\n")), true);
    }),
    ("one that cannot be used, by a signal", |environment, _| by_signal(environment, Some("sources: ["), false)),
    ("one that cannot be used, by a request", |environment, deck| {
        let wrong = format!("  - {{ name: wrong-{}, store: 'sqlite://x.db', preset: none }}\n", deck.random().next());
        by_request(environment, &configuration(&environment.stores, &wrong, "2s"), false);
    }),
    ("a file that is not there", |environment, _| by_signal(environment, None, false)),
    ("a certificate renewed", |environment, _| renewed(environment)),
    ("a user added and removed, and a file that cannot be used", |environment, _| {
        let more = web("  another: $2y$04$bSDTnxBmLk8dPS2vGhdO.eMVGMZHjY3pnDnwVQaVVcp.0TB.IWxvq\n");
        web_changed(environment, &more, WEB_TAKEN);
        web_changed(environment, "tls_server_config: {}\nnonsense: true\n", WEB_REFUSED);
        web_changed(environment, &web(""), WEB_TAKEN);
    }),
    ("TLS given up, which takes a restart", |environment, _| {
        web_changed(environment, &users(""), WEB_REFUSED);
        web_changed(environment, &web(""), WEB_TAKEN);
    }),
];

/// The number of changes.
pub(super) const KINDS: usize = CHANGES.len();

/// Makes a change and checks its effect.
pub(super) fn change(environment: &Environment, deck: &mut Shuffle) {
    let (name, change) = CHANGES[deck.draw()];
    let began = now();
    environment.generation.fetch_add(1, Ordering::SeqCst);
    change(environment, deck);
    environment.generation.fetch_add(1, Ordering::SeqCst);
    environment.reloads.count(name, now() - began);
}

/// Restores the first configuration.
pub(super) fn restore(environment: &Environment) {
    environment.generation.fetch_add(1, Ordering::SeqCst);
    by_request(environment, &base(environment), true);
    environment.generation.fetch_add(1, Ordering::SeqCst);
}

fn base(environment: &Environment) -> String {
    configuration(&environment.stores, "", "2s")
}

fn put(environment: &Environment, file: &str, content: &[u8]) {
    let next = environment.folder.path().join(format!("{file}.next"));
    fs::write(&next, content).unwrap();
    fs::rename(&next, environment.folder.path().join(file)).unwrap();
}

/// The number of log lines that contain a text.
fn told(environment: &Environment, what: &str) -> usize {
    environment.exporter.process().stderr.count(what)
}

fn by_signal(environment: &Environment, yaml: Option<&str>, taken: bool) {
    match yaml {
        Some(yaml) => put(environment, "exporter.yml", yaml.as_bytes()),
        // The previous change may have been the same.
        None => drop(fs::remove_file(environment.folder.path().join("exporter.yml"))),
    }
    let what = if taken { TAKEN } else { REFUSED };
    let before = told(environment, what);
    environment.exporter.process().signal(Signal::HUP);
    eventually("a signal to have the configuration loaded again", || (told(environment, what) > before).then_some(()));
    is_successful(environment, taken);
}

fn by_request(environment: &Environment, yaml: &str, taken: bool) {
    put(environment, "exporter.yml", yaml.as_bytes());
    let answer = environment.ask("reload", Transport::Tcp, &Request { method: "POST", ..Request::get("/-/reload") });
    assert_eq!(answer.status, if taken { 200 } else { 500 }, "{}", answer.head);
    is_successful(environment, taken);
}

fn is_successful(environment: &Environment, taken: bool) {
    let metrics = environment.scrape();
    let successful = metrics.value("lease_exporter_config_last_reload_successful", &[]);
    assert_eq!(successful, Some(if taken { 1.0 } else { 0.0 }));
}

/// Two sources with unique names: a readable and an unreadable one.
fn added(environment: &Environment, deck: &mut Shuffle) {
    let number = deck.random().next();
    let file = environment.folder.path().join(format!("added-{number}.db"));
    drop(database(&file, "CREATE TABLE t (x)"));
    let more = format!(
        "  - {{ name: added-{number}, store: 'sqlite://{}', max_leases: {MAX_LEASES}, query: \"{STEADY}\" }}\n  \
         - {{ name: absent-{number}, store: 'sqlite://absent-{number}.db', preset: reference }}\n",
        file.display()
    );
    by_request(environment, &configuration(&environment.stores, &more, "2s"), true);
    let source = format!("added-{number}");
    environment.scrape_until("a source that was added to be read", |metrics| {
        metrics.source("lease_source_up", &source) == Some(1.0)
    });
    by_signal(environment, Some(&base(environment)), true);
    let metrics = environment.scrape();
    assert!(!metrics.text().contains(&source), "it is still there:\n{}", metrics.text());
    fs::remove_file(file).unwrap();
}

/// Replaces certificate and key. Between the two writes they do not match, and the old pair must stay in use.
fn renewed(environment: &Environment) {
    let next = environment.certificates.next_server(&["localhost", "127.0.0.1"]);
    let before = told(environment, WEB_TAKEN);
    put(environment, "server.pem", &fs::read(next.certificate_file).unwrap());
    environment.ask("healthy", Transport::Tcp, &Request::get("/-/healthy"));
    put(environment, "server.key", &fs::read(next.key_file).unwrap());
    web_told(environment, WEB_TAKEN, before);
}

fn web_changed(environment: &Environment, yaml: &str, outcome: &str) {
    let before = told(environment, outcome);
    put(environment, "web.yml", yaml.as_bytes());
    web_told(environment, outcome, before);
}

/// The file is checked at each request.
fn web_told(environment: &Environment, outcome: &str, before: usize) {
    eventually("the web configuration to be looked at", || {
        environment.ask("healthy", Transport::Tcp, &Request::get("/-/healthy"));
        (told(environment, outcome) > before).then_some(())
    });
}
