use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;
use crate::expose::Format;
use crate::own::Own;

/// A file that is watched, and was looked at long enough ago.
fn watched(folder: &Path, text: &str) -> Arc<Watched> {
    let path = folder.join("web.yml");
    std::fs::write(&path, text).unwrap();
    let watched = Watched::first(&path).unwrap();
    stale(&watched);
    Arc::new(watched)
}

fn stale(watched: &Watched) {
    watched.state().looked = None;
}

#[tokio::test]
async fn while_a_look_hangs_one_thread_does_and_nobody_waits_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    let (go, wait) = mpsc::channel::<()>();
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let began = clock::monotonic();
    let first = watched.now_by(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = wait.recv();
    });
    let held = first.await;
    assert!(clock::monotonic() - began >= PATIENCE, "it may yet end");
    let began = clock::monotonic();
    for _ in 0..100 {
        let counted = Arc::clone(&looks);
        let other = watched
            .now_by(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            })
            .await;
        assert!(Arc::ptr_eq(&held, &other));
    }
    assert!(clock::monotonic() - began < PATIENCE, "a hundred waited {:?}", clock::monotonic() - began);
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    let mut ended = watched.ended.subscribe();
    go.send(()).unwrap();
    ended.changed().await.unwrap();
    std::fs::write(folder.path().join("web.yml"), "rate_limit: {interval: 1s, burst: 1}\n").unwrap();
    stale(&watched);
    assert!(watched.now().await.rate.is_some(), "the next look is a look");
}

#[tokio::test]
async fn a_change_holds_for_whoever_asks_first_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    for burst in 1..20 {
        std::fs::write(folder.path().join("web.yml"), format!("rate_limit: {{interval: 1s, burst: {burst}}}\n"))
            .unwrap();
        stale(&watched);
        let before = watched.state().config.rate;
        assert_ne!(watched.now().await.rate, before, "{burst}");
    }
}

#[tokio::test]
async fn after_a_look_that_panics_there_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let watched = watched(folder.path(), "");
    let began = clock::monotonic();
    watched.now_by(|_| panic!("as asked for")).await;
    assert!(clock::monotonic() - began < PATIENCE, "nobody waits for what is over");
    std::fs::write(folder.path().join("web.yml"), "rate_limit: {interval: 1s, burst: 1}\n").unwrap();
    stale(&watched);
    assert!(watched.now().await.rate.is_some());
}

#[tokio::test]
async fn what_came_of_each_change_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::new().unwrap();
    let path = folder.path().join("web.yml");
    std::fs::write(&path, "").unwrap();
    let watched = Arc::new(Watched::first(&path).unwrap().telling(own.web_config().unwrap()));
    let told = || {
        let text = own.text(Format::Text);
        let name = "lease_exporter_web_config_last_reload_successful ";
        text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    for (text, successful) in
        [("rate_limit: 1\n", "0"), ("rate_limit: {interval: 1s, burst: 1}\n", "1"), ("nonsense: 1\n", "0"), ("", "1")]
    {
        std::fs::write(&path, text).unwrap();
        stale(&watched);
        watched.now().await;
        assert_eq!(told().as_deref(), Some(successful), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    stale(&watched);
    watched.now().await;
    assert_eq!(told().as_deref(), Some("0"), "a file that is gone");
}
