use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;
use crate::expose::Format;
use crate::self_metrics::SelfMetrics;

/// A watcher of a file whose next check is due.
fn watched(folder: &Path, text: &str) -> Arc<WebConfigWatcher> {
    let path = folder.join("web.yml");
    std::fs::write(&path, text).unwrap();
    let watched = WebConfigWatcher::new(&path).unwrap();
    stale(&watched);
    Arc::new(watched)
}

fn stale(watched: &WebConfigWatcher) {
    watched.state().checked = None;
}

#[tokio::test]
async fn while_a_check_hangs_it_blocks_one_thread_and_requests_wait_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    let (go, wait) = mpsc::channel::<()>();
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let began = clock::monotonic();
    let first = watched.current_after(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = wait.recv();
    });
    let held = first.await;
    assert!(clock::monotonic() - began >= CHECK_TIMEOUT, "it may yet end");
    let began = clock::monotonic();
    for _ in 0..100 {
        let counted = Arc::clone(&looks);
        let other = watched
            .current_after(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            })
            .await;
        assert!(Arc::ptr_eq(&held, &other));
    }
    assert!(clock::monotonic() - began < CHECK_TIMEOUT, "a hundred waited {:?}", clock::monotonic() - began);
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    let mut ended = watched.check_ended.subscribe();
    go.send(()).unwrap();
    ended.changed().await.unwrap();
    std::fs::write(folder.path().join("web.yml"), "rate_limit: {interval: 1s, burst: 1}\n").unwrap();
    stale(&watched);
    assert!(watched.current().await.rate_limit.is_some(), "the next check reads the file");
}

#[tokio::test]
async fn a_change_is_in_effect_for_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    for burst in 1..5 {
        std::fs::write(folder.path().join("web.yml"), format!("rate_limit: {{interval: 1s, burst: {burst}}}\n"))
            .unwrap();
        stale(&watched);
        let before = watched.state().config.rate_limit;
        assert_ne!(watched.current().await.rate_limit, before, "{burst}");
    }
}

#[tokio::test]
async fn after_a_check_that_panics_the_next_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    let began = clock::monotonic();
    watched.current_after(|_| panic!("on purpose")).await;
    assert!(clock::monotonic() - began < CHECK_TIMEOUT, "nobody waits for what is over");
    std::fs::write(folder.path().join("web.yml"), "rate_limit: {interval: 1s, burst: 1}\n").unwrap();
    stale(&watched);
    assert!(watched.current().await.rate_limit.is_some());
}

#[tokio::test]
async fn each_load_is_reported_to_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let own = SelfMetrics::new().unwrap();
    let path = folder.path().join("web.yml");
    std::fs::write(&path, "").unwrap();
    let watched = Arc::new(WebConfigWatcher::new(&path).unwrap().with_metrics(own.web_config().unwrap()));
    let told = || {
        let text = own.text(Format::Text);
        let name = "lease_exporter_web_config_last_reload_successful ";
        text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    let sound = "rate_limit: {interval: 1s, burst: 1}\n";
    for (text, successful) in
        [("rate_limit: 1\n", "0"), (sound, "1"), ("nonsense: 1\n", "0"), (sound, "1"), ("", "0"), (sound, "1")]
    {
        std::fs::write(&path, text).unwrap();
        stale(&watched);
        watched.current().await;
        assert_eq!(told().as_deref(), Some(successful), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    stale(&watched);
    watched.current().await;
    assert_eq!(told().as_deref(), Some("0"), "a file that is gone");
}

/// A folder with a pair `server.pem` and `server.key`, and an authority `ca.pem`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    for (name, content) in
        [("server.pem", &certificate), ("ca.pem", &certificate), ("server.key", &key.serialize_pem())]
    {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

const TLS: &str = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
const CLIENTS: &str = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n";
const USERS: &str = "basic_auth_users:\n  prometheus: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi\n";
const HEADERS: &str = "http_server_config: {headers: {X-Frame-Options: deny}}\n";

fn refusal(watched: &WebConfigWatcher) -> Option<String> {
    watched.state().rejected.as_ref().map(|rejected| rejected.error.to_string())
}

/// Changes the file. Returns why the change was rejected.
fn changed(watched: &WebConfigWatcher, text: &str) -> Option<String> {
    std::fs::write(&watched.path, text).unwrap();
    watched.check_twice(|| ());
    refusal(watched)
}

#[test]
fn a_file_with_less_protection_is_accepted_only_at_startup() {
    let all = [TLS, CLIENTS, USERS, HEADERS].concat();
    for (before, after, taken) in [
        (all.as_str(), "", false),
        (&all, "# nothing yet\n", false),
        (HEADERS, "", false),
        (TLS, HEADERS, false),
        (USERS, HEADERS, false),
        (&all, &[TLS, USERS].concat(), false),
        (&all, &[TLS, CLIENTS].concat(), false),
        (&all, &[USERS, HEADERS].concat(), false),
        (TLS, &[TLS, USERS].concat(), true),
        (&all, &[TLS, CLIENTS, USERS].concat(), true),
        ("", &all, true),
        ("", HEADERS, true),
    ] {
        let folder = folder();
        let watched = watched(folder.path(), before);
        let held = watched.last();
        let refused = changed(&watched, after);
        assert_eq!(refused.is_none(), taken, "{before:?} then {after:?}: {refused:?}");
        assert_eq!(Arc::ptr_eq(&held, &watched.last()), !taken, "{before:?} then {after:?}");
        assert!(refused.is_none_or(|told| told.contains("web.yml: ") && told.contains("restart the exporter")));
        if !taken {
            assert_eq!(changed(&watched, before), None, "what holds already is what it says again");
        }
        std::fs::write(&watched.path, after).unwrap();
        assert!(WebConfigWatcher::new(&watched.path).is_ok(), "a start takes it");
    }
}

#[test]
fn a_file_is_not_accepted_until_it_stays_unchanged() {
    let folder = folder();
    let watched = watched(folder.path(), HEADERS);
    let half = "rate_limit: {interval: 1s, burst: 1}\n";
    std::fs::write(&watched.path, half).unwrap();
    let whole = format!("{half}{USERS}");
    watched.check_twice(|| std::fs::write(&watched.path, &whole).unwrap());
    assert!(watched.last().rate_limit.is_none() && watched.last().users.is_none(), "neither was seen twice");
    watched.check_twice(|| ());
    assert!(watched.last().rate_limit.is_some() && watched.last().users.is_some());
    std::fs::write(&watched.path, "rate_li").unwrap();
    watched.check_twice(|| std::fs::write(&watched.path, &whole).unwrap());
    watched.check_twice(|| ());
    assert_eq!(refusal(&watched), None, "and what is not whole is not told of");
}

#[test]
fn a_pipe_is_read_once_and_its_content_is_kept_until_another_file_replaces_it() {
    use rustix::fs::{CWD, FileType, mknodat};

    let folder = folder();
    let path = folder.path().join("web.yml");
    mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
    let (to, text) = (path.clone(), [TLS, USERS].concat());
    let writer = thread::spawn(move || std::fs::write(to, text).unwrap());
    let watched = WebConfigWatcher::new(&path).unwrap();
    writer.join().unwrap();
    let held = watched.last();
    assert!(held.users.is_some());
    watched.check_twice(|| panic!("nothing is another"));
    assert!(Arc::ptr_eq(&held, &watched.last()) && refusal(&watched).is_none());
    let other = self::folder();
    for name in ["server.pem", "server.key"] {
        std::fs::copy(other.path().join(name), folder.path().join(name)).unwrap();
    }
    watched.check_twice(|| ());
    assert!(!Arc::ptr_eq(&held, &watched.last()) && refusal(&watched).is_none(), "a new pair is taken all the same");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(changed(&watched, &[TLS, USERS, HEADERS].concat()), None);
    assert!(!watched.last().headers.is_empty());
}

#[test]
fn an_invalid_file_is_logged_again_until_it_is_fixed() {
    let folder = folder();
    let watched = watched(folder.path(), HEADERS);
    let logged = || watched.state().rejected.as_ref().map(|rejected| rejected.logged);
    changed(&watched, "nonsense: 1\n").unwrap();
    let first = logged().unwrap();
    watched.log_rejection_again(REMINDER_INTERVAL);
    assert_eq!(logged(), Some(first), "not at each check");
    watched.state().rejected.as_mut().unwrap().logged = Duration::ZERO;
    watched.log_rejection_again(clock::monotonic());
    assert!(logged() >= Some(first), "the last time is long ago");
    assert_eq!(changed(&watched, HEADERS), None);
    watched.log_rejection_again(Duration::ZERO);
    assert_eq!(logged(), None);
}

#[tokio::test]
async fn a_reload_reports_the_latest_change() {
    let folder = folder();
    let watched = watched(folder.path(), HEADERS);
    assert!(watched.is_up_to_date().await);
    std::fs::write(&watched.path, "").unwrap();
    assert!(!watched.is_up_to_date().await, "at once, although it was looked at just before");
    std::fs::write(&watched.path, HEADERS).unwrap();
    assert!(watched.is_up_to_date().await);
}

#[tokio::test]
async fn the_metrics_have_the_expiry_of_the_certificate_in_effect() {
    let folder = folder();
    let own = SelfMetrics::new().unwrap();
    std::fs::write(folder.path().join("web.yml"), TLS).unwrap();
    let watched =
        WebConfigWatcher::new(&folder.path().join("web.yml")).unwrap().with_metrics(own.web_config().unwrap());
    let told = || {
        let text = own.text(Format::Text);
        let name = "lease_exporter_web_certificate_not_after_timestamp_seconds ";
        text.lines().find_map(|line| line.strip_prefix(name)).map(|time| time.parse::<f64>().unwrap())
    };
    // The default of rcgen: the first second of the year 4096.
    assert_eq!(told(), Some(67_090_118_400.0));
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2030, 1, 1);
    std::fs::write(folder.path().join("server.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    watched.check_twice(|| ());
    assert!(refusal(&watched).is_some(), "its key is not there yet");
    assert_eq!(told(), Some(67_090_118_400.0), "which is presented still");
    std::fs::write(folder.path().join("server.key"), key.serialize_pem()).unwrap();
    watched.check_twice(|| ());
    assert_eq!(told(), Some(1_893_456_000.0));
}
