//! Streams of what the page shows.

use super::client::{Client, ask};
use super::content::Fake;
use super::*;
use crate::web::live::MOST;

fn open(server: &Server, query: &str) -> Client {
    let mut client = Client::connect(server.address);
    client.send(&format!("GET /live{query} HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip, identity;q=0\r\n\r\n"));
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
