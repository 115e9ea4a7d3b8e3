//! Limits of clients.

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};

use super::client::{Client, ask, ask_with};
use super::content::Fake;
use super::*;

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn a_client_that_sends_nothing_is_disconnected() {
    let limits = Limits { head: SHORT, ..Limits::default() };
    let server = Server::start(Fake::plain(), Settings::default(), limits).await;
    for said in ["", "GET / HTT", "GET /-/healthy HTTP/1.1\r\nHost: test\r\n\r\n", "PRI * HTTP/2.0\r\n"] {
        let began = Instant::now();
        let mut client = Client::connect(server.address);
        client.send(said);
        client.rest().await;
        assert!(began.elapsed() < LONG / 2, "{said:?} took {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let answer = vec![Bytes::from(vec![b'x'; 1 << 20]); 64];
    let limits = Limits { connections: 1, write: SHORT, ..Limits::default() };
    let server = Server::start(Fake::with_metrics(answer), Settings::default(), limits).await;
    let mut client = Client::connect(server.address);
    client.send(GET);
    // The only slot is free after the first client is disconnected.
    assert_eq!(timeout(LONG, ask(server.address, "GET", "/-/healthy")).await.unwrap().status, 200);
    assert!(client.rest().await.len() < 32 << 20);
}

#[tokio::test]
async fn a_large_response_in_many_chunks_arrives_whole() {
    let pieces = (0..1_000).map(|piece| Bytes::from(format!("{piece:099}\n").repeat(100))).collect::<Vec<_>>();
    let whole: String = pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect();
    let server = Server::with(Fake::with_metrics(pieces)).await;
    let answer = ask(server.address, "GET", "/metrics").await;
    assert_eq!(answer.header("content-length"), Some("10000000"));
    assert!(answer.body == whole);
}

#[tokio::test]
async fn when_all_slots_are_in_use_an_idle_connection_is_closed() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let server = Server::start(Fake::plain(), Settings::default(), limits).await;
    let (first, _second) = (Client::connect(server.address), Client::connect(server.address));
    for _ in 0..3 {
        assert_eq!(timeout(LONG, ask(server.address, "GET", "/metrics")).await.unwrap().status, 200);
    }
    assert_eq!(first.rest().await, b"", "the one that was idle longest");
}

#[tokio::test]
async fn a_connection_with_a_running_request_is_not_closed_for_another() {
    let (content, entered, go) = Fake::with_blocked_metrics();
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::start(content, Settings::default(), limits).await;
    let mut first = Client::connect(server.address);
    first.send(GET);
    entered.acquire().await.unwrap().forget();
    let mut second = Client::connect(server.address);
    second.send("GET /-/healthy HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    // Longer than an idle connection would be kept.
    let (silent, second) = second.silent_for(SHORT * 5).await;
    assert!(silent);
    go.add_permits(1);
    assert_eq!(first.answer().await.body, "a 1\nb 2\n");
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn requests_above_the_limit_are_rejected_and_health_is_not_limited() {
    let (content, entered, go) = Fake::with_blocked_metrics();
    let settings = Settings { max_requests: 1, ..Settings::default() };
    let server = Server::start(content, settings, Limits::default()).await;
    let mut first = Client::connect(server.address);
    first.send(GET);
    entered.acquire().await.unwrap().forget();
    for path in ["/metrics", "/", "/api/v1/leases"] {
        let refused = ask(server.address, "GET", path).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{path}");
    }
    assert_eq!(ask(server.address, "GET", "/-/healthy").await.status, 200);
    go.add_permits(1);
    assert_eq!(first.answer().await.body, "a 1\nb 2\n");
    assert_eq!(ask(server.address, "GET", "/").await.status, 200);
}

#[tokio::test]
async fn clients_that_never_read_do_not_block_other_clients() {
    const MOST: usize = 3;
    let answer = vec![Bytes::from(vec![b'x'; 1 << 20]); 64];
    let settings = Settings { max_requests: MOST, ..Settings::default() };
    let server = Server::start(Fake::with_metrics(answer), settings, Limits::default()).await;
    let mut stuck = Vec::new();
    for _ in 0..MOST {
        let mut client = Client::connect(server.address);
        client.send(GET);
        let (silent, client) = client.silent_for(LONG).await;
        assert!(!silent, "the answer is on its way");
        stuck.push(client);
    }
    for path in ["/", "/api/v1/leases", "/metrics"] {
        assert_eq!(ask(server.address, "GET", path).await.status, 200, "{path}");
    }
    drop(stuck);
}

#[tokio::test]
async fn a_client_that_disconnects_releases_its_permit() {
    let (content, entered, go) = Fake::with_blocked_metrics();
    let settings = Settings { max_requests: 1, ..Settings::default() };
    let server = Server::start(content, settings, Limits::default()).await;
    let mut first = Client::connect(server.address);
    first.send(GET);
    entered.acquire().await.unwrap().forget();
    first.close();
    go.add_permits(1);
    let began = Instant::now();
    while ask(server.address, "GET", "/").await.status != 200 {
        assert!(began.elapsed() < LONG);
        sleep(SHORT / 10).await;
    }
}

#[tokio::test]
async fn while_rendering_is_blocked_other_paths_respond() {
    let router = Router::new(Arc::new(Fake::plain()), Settings::default());
    let permits = router.render_pool.clone().all_permits().await;
    let server = Server::behind(Authenticator::unrestricted(router), Limits::default()).await;
    let mut waiting = Vec::new();
    for path in ["/", "/lease?source=documents&lease=planner"] {
        let mut client = Client::connect(server.address);
        client.send(&format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"));
        for path in ["/-/healthy", "/metrics", "/api/v1/leases"] {
            assert_eq!(ask(server.address, "GET", path).await.status, 200, "{path}");
        }
        let (silent, client) = client.silent_for(SHORT).await;
        assert!(silent, "{path} was rendered where requests are answered");
        waiting.push(client);
    }
    drop(permits);
    for client in waiting {
        assert_eq!(client.answer().await.status, 200);
    }
}

#[tokio::test]
async fn a_panic_ends_only_its_own_connection() {
    let server = Server::with(Fake::panicking()).await;
    let mut client = Client::connect(server.address);
    client.send(GET);
    assert_eq!(client.rest().await, b"");
    assert_eq!(ask(server.address, "GET", "/-/healthy").await.status, 200);
}

#[tokio::test]
async fn shutdown_lets_a_request_finish_and_accepts_no_new_one() {
    let (content, entered, go) = Fake::with_blocked_metrics();
    let mut server = Server::with(content).await;
    let idle = Client::connect(server.address);
    let mut client = Client::connect(server.address);
    client.send(GET);
    entered.acquire().await.unwrap().forget();
    server.shutdown.cancel();
    assert_eq!(idle.rest().await, b"", "a connection without a request is closed");
    assert!(timeout(SHORT, &mut server.task).await.is_err(), "the request is still under way");
    assert!(std::net::TcpStream::connect(server.address).is_err());
    go.add_permits(1);
    assert_eq!(client.answer().await.body, "a 1\nb 2\n");
    timeout(LONG, &mut server.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_does_not_wait_for_the_rest_of_a_head() {
    let mut server = Server::with(Fake::plain()).await;
    let mut halves = Vec::new();
    for before in ["", "GET /-/healthy HTTP/1.1\r\nHost: test\r\n\r\n"] {
        let mut client = Client::connect(server.address);
        client.send(&format!("{before}GET /metrics HTTP/1.1\r\nHo"));
        if !before.is_empty() {
            let (silent, answered) = client.silent_for(LONG).await;
            assert!(!silent);
            client = answered;
        }
        halves.push(client);
    }
    // When a later client gets a response, the first one has been accepted.
    assert_eq!(ask(server.address, "GET", "/-/healthy").await.status, 200);
    server.shutdown.cancel();
    let limit = Limits::default().drain / 3;
    timeout(limit, &mut server.task).await.unwrap().unwrap();
    drop(halves);
}

#[tokio::test]
async fn a_connection_frees_its_slot_at_once_after_its_response() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::start(Fake::plain(), Settings::default(), limits).await;
    let mut clients = Vec::new();
    let began = Instant::now();
    for _ in 0..5 {
        let mut client = Client::connect(server.address);
        client.send("GET /-/healthy HTTP/1.1\r\nHost: test\r\n\r\n");
        let (silent, client) = client.silent_for(LONG).await;
        assert!(!silent);
        clients.push(client);
    }
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn clients_that_read_nothing_delay_others_only_briefly() {
    let limits = Limits { response_bytes: 0, ..Limits::default() };
    let server = Server::start(Fake::with_copied_metrics(64, 1 << 20), Settings::default(), limits).await;
    let mut stuck = Vec::new();
    for _ in 0..4 {
        let mut client = Client::connect(server.address);
        client.send(GET);
        let (silent, client) = client.silent_for(LONG).await;
        assert!(!silent, "the answer is on its way");
        stuck.push(client);
    }
    let began = Instant::now();
    assert_eq!(ask(server.address, "GET", "/metrics").await.body.len(), 64 << 20);
    assert!(began.elapsed() < limits.stall + LONG / 4, "{:?}", began.elapsed());
    let mut lengths = Vec::new();
    for client in stuck {
        lengths.push(client.rest().await.len());
    }
    let whole: Vec<_> = lengths.iter().map(|length| *length > 64 << 20).collect();
    assert_eq!(whole, [false, false, false, true], "nobody waited for the last one's: {lengths:?}");
}

#[tokio::test]
async fn slow_readers_are_never_disconnected_however_many_there_are() {
    // The whole transfer takes longer than the stall limit; between two reads a twentieth of it passes. With paused time,
    // `connection::stream` tests the same of a client that reads only just in time.
    let stall = Duration::from_secs(1);
    let limits = Limits { response_bytes: 0, stall, ..Limits::default() };
    let server = Server::start(Fake::with_copied_metrics(16, 1 << 20), Settings::default(), limits).await;
    let mut slow = Client::connect(server.address);
    slow.send(GET);
    let slow = tokio::task::spawn_blocking(move || slow.read_slowly(512 * 1024, stall / 20));
    let fast: Vec<_> = (0..12).map(|_| tokio::spawn(ask(server.address, "GET", "/metrics"))).collect();
    for answer in fast {
        let answer = answer.await.unwrap();
        assert_eq!((answer.status, answer.body.len()), (200, 16 << 20));
    }
    assert!(slow.await.unwrap() > 16 << 20);
}

#[tokio::test]
async fn a_request_that_waits_beyond_its_timeout_is_rejected() {
    let limits = Limits { response_bytes: 0, ..Limits::default() };
    let server = Server::start(Fake::with_copied_metrics(64, 1 << 20), Settings::default(), limits).await;
    let mut stuck = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(server.address);
        client.send(GET);
        let (silent, client) = client.silent_for(LONG).await;
        assert!(!silent, "the answer is on its way");
        stuck.push(client);
    }
    let impatient = "X-Prometheus-Scrape-Timeout-Seconds: 0.1\r\n";
    let refused = ask_with(server.address, "GET", "/metrics", impatient).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(ask(server.address, "GET", "/-/healthy").await.status, 200, "a short one needs no turn");
    drop(stuck);
}

#[tokio::test]
async fn shutdown_aborts_a_request_that_does_not_finish() {
    let (content, entered, _go) = Fake::with_blocked_metrics();
    let limits = Limits { drain: SHORT, ..Limits::default() };
    let mut server = Server::start(content, Settings::default(), limits).await;
    let mut client = Client::connect(server.address);
    client.send(GET);
    entered.acquire().await.unwrap().forget();
    server.shutdown.cancel();
    timeout(LONG, &mut server.task).await.unwrap().unwrap();
    assert_eq!(client.rest().await, b"");
}
