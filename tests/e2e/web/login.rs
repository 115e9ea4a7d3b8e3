//! Basic authentication.

use super::client::{Answer, login, plainly};
use super::{configure, start, user};
use crate::harness::store::folder;
use crate::harness::{Exporter, eventually};

const PASSWORD: &str = "planted-password";

fn ask(exporter: &Exporter, path: &str, headers: &str) -> Answer {
    plainly(exporter.address(), "GET", path, headers).unwrap()
}

fn users(more: &str) -> String {
    format!("basic_auth_users:\n{}{more}", user("prometheus", PASSWORD))
}

#[test]
fn user_is_admitted_and_others_learn_nothing() {
    let folder = folder();
    let exporter = start(folder.path(), &users(""));
    let admitted = ask(&exporter, "/metrics", &login("prometheus", PASSWORD));
    assert_eq!(admitted.status, 200);
    assert!(admitted.body.contains("lease_state"));
    let wrong = [String::new(), login("prometheus", "wrong"), login("nobody", PASSWORD), login("", "")];
    let mut answers = Vec::new();
    for path in [
        "/metrics",
        "/",
        "/lease?source=own&lease=planner",
        "/live",
        "/live?source=own&lease=planner",
        "/api/v1/leases",
        "/-/reload",
        "/style.css",
        "/nowhere",
        "/-/healthy/",
        "//-/ready",
    ] {
        for headers in &wrong {
            let refused = ask(&exporter, path, headers);
            assert_eq!(refused.status, 401, "{path} {headers}");
            assert!(refused.header("www-authenticate").unwrap().starts_with("Basic "), "{}", refused.head);
            let head = refused.head.lines().filter(|line| !line.starts_with("date")).collect::<String>();
            answers.push((head, refused.body));
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "all refusals are one: {answers:?}");
    assert!(!exporter.log().contains(PASSWORD));
}

#[test]
fn health_endpoint_needs_no_password_and_shows_nothing() {
    let folder = folder();
    let exporter = start(folder.path(), &users("rate_limit: {interval: 1h, burst: 1}\n"));
    for path in ["/-/healthy", "/-/ready", "/-/ready?x"] {
        for headers in ["", &login("nobody", "x")] {
            let answer = ask(&exporter, path, headers);
            assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"), "{path}");
            assert!(!answer.head.contains("prometheus") && !answer.head.to_lowercase().contains("server:"));
        }
        assert_eq!(plainly(exporter.address(), "POST", path, "").unwrap().status, 405, "{path}");
    }
}

#[test]
fn users_come_and_go_without_a_restart_and_a_wrong_file_keeps_them() {
    let folder = folder();
    let exporter = start(folder.path(), &users(""));
    let of = |name: &str, password: &str| ask(&exporter, "/metrics", &login(name, password)).status;
    assert_eq!((of("prometheus", PASSWORD), of("second", "x")), (200, 401));
    configure(folder.path(), &format!("basic_auth_users:\n{}", user("second", "x")));
    eventually("the second user", || (of("second", "x") == 200).then_some(()));
    assert_eq!(of("prometheus", PASSWORD), 401, "whose verdict was kept");
    configure(folder.path(), "basic_auth_users:\n  second: planted-password\n");
    eventually("the wrong file to be told", || {
        assert_eq!(of("second", "x"), 200);
        exporter.log().contains("the web configuration cannot be used").then_some(())
    });
    assert!(!exporter.log().contains(PASSWORD), "{}", exporter.log());
    let told = || ask(&exporter, "/metrics", &login("second", "x")).body;
    assert!(told().contains("\nlease_exporter_web_config_last_reload_successful 0\n"), "{}", told());
    std::fs::remove_file(folder.path().join("web.yml")).unwrap();
    eventually("the file that is gone to be told", || {
        assert_eq!(of("second", "x"), 200, "nobody is let in because a file is gone");
        (exporter.log().matches("the web configuration cannot be used").count() == 2).then_some(())
    });
    configure(folder.path(), &users(""));
    eventually("the first user again", || (of("prometheus", PASSWORD) == 200).then_some(()));
    let metrics = ask(&exporter, "/metrics", &login("prometheus", PASSWORD)).body;
    assert!(metrics.contains("\nlease_exporter_web_config_last_reload_successful 1\n"), "{metrics}");
}

#[test]
fn empty_or_half_written_file_admits_no_client() {
    let folder = folder();
    let exporter = start(folder.path(), &users(""));
    for (nth, text) in ["", "http_server_config: {headers: {X-Frame-Options: deny}}\n"].into_iter().enumerate() {
        configure(folder.path(), text);
        eventually("the file to be told", || {
            assert_eq!(ask(&exporter, "/metrics", "").status, 401, "{text:?}");
            (exporter.log().matches("restart the exporter").count() == nth + 1).then_some(())
        });
        assert_eq!(ask(&exporter, "/metrics", "").status, 401, "{text:?}");
    }
    let metrics = ask(&exporter, "/metrics", &login("prometheus", PASSWORD)).body;
    assert!(metrics.contains("\nlease_exporter_web_config_last_reload_successful 0\n"), "{metrics}");
    let log = exporter.log();
    assert!(log.contains("level=error") && log.contains("web.yml"), "{log}");
}

#[test]
fn configured_headers_are_sent_with_every_response() {
    let folder = folder();
    let exporter = start(
        folder.path(),
        &users(
            "http_server_config:\n  headers:\n    X-Frame-Options: deny\n    Strict-Transport-Security: max-age=60\n",
        ),
    );
    for (path, headers) in
        [("/metrics", login("prometheus", PASSWORD)), ("/metrics", String::new()), ("/-/healthy", String::new())]
    {
        let answer = ask(&exporter, path, &headers);
        assert_eq!(answer.header("x-frame-options"), Some("deny"), "{}", answer.head);
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=60"), "{}", answer.head);
    }
}

#[test]
fn requests_beyond_the_rate_are_refused() {
    let folder = folder();
    let exporter = start(folder.path(), "rate_limit: {interval: 1h, burst: 3}\n");
    let statuses: Vec<_> = (0..5).map(|_| ask(&exporter, "/metrics", "").status).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    let after = ask(&exporter, "/metrics", "").header("retry-after").unwrap().parse::<u64>().unwrap();
    assert!((3_500..=3_600).contains(&after), "{after}");
    assert_eq!(ask(&exporter, "/-/healthy", "").status, 200);
    assert_eq!(ask(&exporter, "/leases/own/steady/live", "").status, 429, "without probes it is a path like others");
}
