//! Streams of what the page shows.

use super::client::{Client, ask, login};
use super::content::Fake;
use super::*;
use crate::web::live::MOST;

fn open(server: &Server, query: &str) -> Client {
    open_with(server, query, "")
}

/// With further headers, each with its end of line.
fn open_with(server: &Server, query: &str, headers: &str) -> Client {
    let mut client = Client::connect(server.address);
    client.send(&format!("GET /live{query} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n"));
    client
}

#[tokio::test]
async fn a_stream_brings_the_view_that_was_asked_for_and_ends_with_the_server() {
    let mut server = Server::with(Fake::plain()).await;
    let list = open(&server, "?state=stalled&source=documents");
    let lease = open(&server, "?source=documents&lease=mailer");
    let (silent, list) = list.silent_for(LONG).await;
    assert!(!silent, "it begins at once");
    // What was on its way is still sent.
    tokio::time::sleep(SHORT).await;
    server.shutdown.cancel();
    tokio::time::timeout(LONG / 4, &mut server.task).await.unwrap().unwrap();
    let (list, lease) = (String::from_utf8(list.rest().await).unwrap(), String::from_utf8(lease.rest().await).unwrap());
    for (stream, shows, hides) in [(&list, "retention", "mailer"), (&lease, "mailer", "retention")] {
        assert!(stream.contains("content-type: text/event-stream\r\n"), "{stream}");
        assert!(!stream.contains("content-length") && !stream.contains("content-encoding"), "{stream}");
        assert!(
            stream.contains("retry: 2000\n\n") && stream.contains("event: page\ndata: <main id=\"main\""),
            "{stream}"
        );
        assert!(stream.contains(shows) && !stream.contains(hides), "{stream}");
    }
}

#[tokio::test]
async fn a_compressed_stream_can_be_read_as_it_comes_and_has_an_end() {
    let server = Server::with(Fake::plain()).await;
    let (silent, stream) = open_with(&server, "", "Accept-Encoding: gzip\r\n").silent_for(LONG).await;
    assert!(!silent);
    tokio::time::sleep(SHORT).await;
    server.shutdown.cancel();
    let answer = stream.answer().await;
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
    assert!(answer.body.starts_with("retry: 2000\n\nevent: page\ndata: <main id=\"main\""), "{}", answer.body);
    assert!(answer.body.contains("data: </main>\n\n"), "{}", answer.body);
    assert!(answer.length * 2 < answer.body.len(), "{} of {}", answer.length, answer.body.len());
}

#[tokio::test]
async fn a_stream_ends_when_its_user_is_none_any_more_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yml");
    std::fs::write(&file, users("old")).unwrap();
    let server = Server::watched(&file, Limits::default()).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let (silent, stream) = open_with(&server, "", &login("old")).silent_for(LONG).await;
        assert!(!silent);
        streams.push(stream);
    }
    let more = format!("{}http_server_config: {{headers: {{X-Frame-Options: deny}}}}\n", users("old"));
    std::fs::write(&file, more).unwrap();
    let (open, stream) = streams.pop().unwrap().stays_open_for(SHORT * 10).await;
    assert!(open, "its user is one still");
    streams.push(stream);
    std::fs::write(&file, users("new")).unwrap();
    for stream in streams {
        let rest = String::from_utf8(stream.rest().await).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "it comes to an end: {rest}");
    }
    assert_eq!(ask(server.address, "GET", "/live").await.status, 401);
    let (silent, stream) = open_with(&server, "", &login("new")).silent_for(LONG).await;
    assert!(!silent);
    std::fs::write(&file, "").unwrap();
    let (open, stream) = stream.stays_open_for(SHORT * 10).await;
    assert!(open, "a file that was emptied ends nothing");
    stream.close();
}

#[tokio::test]
async fn a_stream_that_anybody_could_open_ends_when_users_alone_may() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yml");
    std::fs::write(&file, "").unwrap();
    let server = Server::watched(&file, Limits::default()).await;
    let (silent, nobody) = open(&server, "").silent_for(LONG).await;
    assert!(!silent);
    let (silent, login) = open_with(&server, "", &login("right")).silent_for(LONG).await;
    assert!(!silent);
    std::fs::write(&file, users("right")).unwrap();
    for stream in [nobody, login] {
        // Whoever logged in where nobody asked for it was not checked.
        assert!(stream.rest().await.ends_with(b"\r\n0\r\n\r\n"));
    }
}

#[tokio::test]
async fn connections_that_say_nothing_do_not_throw_out_a_stream() {
    let limits = Limits { connections: 2, taking: SHORT, ..Limits::default() };
    let server = Server::start(Fake::plain(), Settings::default(), limits).await;
    let (silent, stream) = open(&server, "").silent_for(LONG).await;
    assert!(!silent);
    // By now it could long have taken an answer.
    tokio::time::sleep(SHORT * 2).await;
    let idle: Vec<_> = (0..3).map(|_| Client::connect(server.address)).collect();
    for _ in 0..2 {
        assert_eq!(ask(server.address, "GET", "/metrics").await.status, 200);
    }
    let (open, stream) = stream.stays_open_for(SHORT).await;
    assert!(open);
    stream.close();
    drop(idle);
}

#[tokio::test]
async fn a_stream_takes_no_turn_of_a_request() {
    let (content, waits) = Fake::looking();
    let settings = Settings { max_requests: 1, ..Settings::default() };
    let server = Server::start(content, settings, Limits::default()).await;
    let stream = open(&server, "");
    waits.acquire().await.unwrap().forget();
    assert_eq!(ask(server.address, "GET", "/metrics").await.status, 200, "while the stream looks");
    stream.close();
}

#[tokio::test]
async fn there_are_only_so_many_streams_and_one_that_nobody_reads_any_more_makes_room() {
    let server = Server::with(Fake::plain()).await;
    let mut streams = Vec::new();
    for _ in 0..MOST {
        let (silent, stream) = open(&server, "").silent_for(LONG).await;
        assert!(!silent);
        streams.push(stream);
    }
    let refused = ask(server.address, "GET", "/live").await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(ask(server.address, "GET", "/").await.status, 200, "pages are not counted");
    streams.pop().unwrap().close();
    let began = tokio::time::Instant::now();
    while ask(server.address, "HEAD", "/live").await.status != 200 {
        assert!(began.elapsed() < LONG);
        tokio::time::sleep(SHORT / 10).await;
    }
}
