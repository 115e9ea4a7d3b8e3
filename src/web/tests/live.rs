//! The main part of the status page.

use super::client::{ask, ask_with};
use super::content::Fake;
use super::*;

#[tokio::test]
async fn the_fragment_shows_the_requested_view() {
    let server = Server::with(Fake::plain()).await;
    for (query, shows, hides) in [
        ("?state=stalled&source=documents", "retention", "mailer"),
        ("?source=documents&lease=mailer", "mailer", "retention"),
    ] {
        let answer = ask(server.address, "GET", &format!("/live{query}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
        assert!(answer.body.starts_with("<main id=\"main\""), "{}", answer.body);
        assert!(answer.body.contains(shows) && !answer.body.contains(hides), "{}", answer.body);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn if_none_match_gives_304_in_every_encoding() {
    let server = Server::with(Fake::plain()).await;
    let first = ask(server.address, "GET", "/live").await;
    let tag = first.header("etag").unwrap();
    for headers in [format!("If-None-Match: {tag}\r\n"), format!("If-None-Match: {tag}\r\nAccept-Encoding: gzip\r\n")] {
        let same = ask_with(server.address, "GET", "/live", &headers).await;
        assert_eq!((same.status, same.length, same.header("etag")), (304, 0, Some(tag)));
        assert_eq!(same.header("vary"), Some("Accept-Encoding"));
        assert_eq!((same.header("content-type"), same.header("content-length")), (None, None));
    }
    let packed = ask_with(server.address, "GET", "/live", "Accept-Encoding: gzip\r\n").await;
    assert_eq!((packed.header("content-encoding"), packed.header("etag")), (Some("gzip"), Some(tag)));
    assert!(packed.length * 2 < first.length && packed.body == first.body);
    let other = ask_with(server.address, "GET", "/live?state=stalled", &format!("If-None-Match: {tag}\r\n")).await;
    assert_eq!(other.status, 200, "another view has another tag");
}

#[tokio::test]
async fn the_fragment_has_its_own_request_limit_and_rejects_a_removed_user() {
    let (content, waits) = Fake::with_pending_readings();
    let settings = Settings { max_requests: 1, ..Settings::default() };
    let server = Server::start(content, settings, Limits::default()).await;
    let mut client = super::client::Client::connect(server.address);
    client.send("GET /live HTTP/1.1\r\nHost: test\r\n\r\n");
    waits.acquire().await.unwrap().forget();
    assert_eq!(ask(server.address, "GET", "/metrics").await.status, 200, "while the page is looked at");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yml");
    std::fs::write(&file, users("old")).unwrap();
    let server = Server::watched(&file, Limits::default()).await;
    let login = super::client::login("old");
    assert_eq!(ask_with(server.address, "GET", "/live", &login).await.status, 200);
    std::fs::write(&file, users("new")).unwrap();
    let began = tokio::time::Instant::now();
    while ask_with(server.address, "GET", "/live", &login).await.status != 401 {
        assert!(began.elapsed() < LONG);
        tokio::time::sleep(SHORT / 10).await;
    }
}
