//! Requests in every form that HTTP/1 allows, and some that it does not.

use super::client::{Client, ask_with, login, request};
use super::content::Fake;
use super::*;

#[tokio::test]
async fn every_form_of_a_request_gets_the_same_response() {
    let server = Server::with(Fake::plain()).await;
    for text in [
        "GET /metrics HTTP/1.0\r\n\r\n",
        "GET /metrics HTTP/1.0\r\nHost: test\r\n\r\n",
        "GET http://elsewhere/metrics HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n",
        "GET /metrics?# HTTP/1.1\r\nhost: [::1]:10987\r\nconnection: Close\r\n\r\n",
        "\r\nGET /metrics HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
    ] {
        let answer = request(server.address, text).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "a 1\nb 2\n"), "{text:?}");
    }
}

#[tokio::test]
async fn a_request_needs_exactly_one_host() {
    let server = Server::with(Fake::plain()).await;
    for (hosts, status) in [("", 400), ("Host: a\r\nHost: a\r\n", 400), ("Host: evil.example\r\n", 200)] {
        let text = format!("GET /-/healthy HTTP/1.1\r\nConnection: close\r\n{hosts}\r\n");
        let answer = request(server.address, &text).await;
        assert_eq!(answer.status, status, "{hosts:?}");
        // A browser must not reveal the response to a page of another site.
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let foreign = ask_with(server.address, "GET", "/api/v1/leases", "Origin: https://evil.example\r\n").await;
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (200, None));
}

#[tokio::test]
async fn pipelined_requests_are_served_in_order() {
    let server = Server::with(Fake::plain()).await;
    let mut client = Client::connect(server.address);
    let one = |path: &str, last: &str| format!("GET {path} HTTP/1.1\r\nHost: test\r\n{last}\r\n");
    client.send(&[one("/-/healthy", ""), one("/metrics", ""), one("/nowhere", "Connection: close\r\n")].concat());
    let all = String::from_utf8(client.rest().await).unwrap();
    let places: Vec<_> = ["OK\n", "a 1\nb 2\n", "not found\n"].iter().map(|body| all.find(body)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{all}");
}

#[tokio::test]
async fn each_request_of_a_connection_is_authenticated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yml");
    std::fs::write(&file, users("old")).unwrap();
    let server = Server::watched(&file, Limits::default()).await;
    let mut client = Client::connect(server.address);
    let get = |last: &str| format!("GET /metrics HTTP/1.1\r\nHost: test\r\n{}{last}\r\n", login("old"));
    client.send(&get(""));
    let (silent, mut client) = client.silent_for(LONG).await;
    assert!(!silent);
    std::fs::write(&file, users("new")).unwrap();
    // For as long as a check of the file is reused.
    tokio::time::sleep(SHORT).await;
    client.send(&get("Connection: close\r\n"));
    let both = String::from_utf8(client.rest().await).unwrap();
    let statuses: Vec<_> = both.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "401"], "{both}");
}

#[tokio::test]
async fn a_request_with_expect_100_gets_its_response_without_a_body() {
    let server = Server::with(Fake::plain()).await;
    let head = "Host: test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let answer = request(server.address, &format!("GET /metrics HTTP/1.1\r\n{head}")).await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
}

#[tokio::test]
async fn oversized_heads_are_rejected_and_unusual_ones_are_not() {
    let server = Server::with(Fake::plain()).await;
    let most = "x".repeat(100_000);
    for (path, headers, statuses) in [
        (format!("/metrics?{most}"), String::new(), &[414, 431][..]),
        ("/metrics".to_owned(), format!("X: {most}\r\n"), &[431]),
        ("/metrics".to_owned(), "X: y\r\n".repeat(200), &[431]),
        ("/metrics".to_owned(), format!("Accept: {}\r\n", "a/b;q=0.1,".repeat(3_000)), &[200]),
        (format!("/metrics?{}", "source=documents&".repeat(1_500)), String::new(), &[200]),
        ("/%6detrics".to_owned(), String::new(), &[404]),
        ("/metrics/".to_owned(), String::new(), &[404]),
        ("//metrics".to_owned(), String::new(), &[404]),
        ("/-/../metrics".to_owned(), String::new(), &[404]),
    ] {
        let answer = ask_with(server.address, "GET", &path, &headers).await;
        let short: String = path.chars().take(30).collect();
        assert!(statuses.contains(&answer.status), "{short} {}: {}", headers.len(), answer.status);
        assert_eq!(answer.header("content-length"), Some(&*answer.length.to_string()), "{short}");
    }
}

#[tokio::test]
async fn malformed_requests_are_rejected_and_the_connection_closed() {
    let server = Server::with(Fake::plain()).await;
    for text in ["\0\u{1}\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", "GET /metrics\r\n\r\n"] {
        let answer = request(server.address, text).await;
        assert_eq!((answer.status, answer.header("connection")), (400, Some("close")), "{text:?}");
        assert_eq!((answer.header("content-length"), answer.length), (Some("0"), 0), "{text:?}");
    }
}
