//! Routes and methods.

use super::client::{Client, ask, request};
use super::content::Fake;
use super::*;

const PATHS: [&str; 9] = [
    "/",
    "/lease?source=documents&lease=retention",
    "/metrics",
    "/api/v1/leases",
    "/-/healthy",
    "/-/ready",
    "/style.css",
    "/live.js",
    "/favicon.ico",
];

#[tokio::test]
async fn every_path_has_its_content_type() {
    let server = Server::with(Fake::plain()).await;
    for (path, content_type, beginning) in [
        ("/", "text/html; charset=utf-8", "<!doctype html>"),
        ("/?any=query", "text/html; charset=utf-8", "<!doctype html>"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8", "a 1\nb 2\n"),
        ("/api/v1/leases", "application/json", "{\"version\":1,\"sources\":[{\"source\":\"documents\""),
        ("/-/healthy", "text/plain; charset=utf-8", "OK\n"),
        ("/-/ready", "text/plain; charset=utf-8", "OK\n"),
        ("/style.css", "text/css; charset=utf-8", "/*"),
        ("/live.js", "text/javascript; charset=utf-8", "//"),
        ("/favicon.ico", "image/svg+xml", "<svg"),
    ] {
        let answer = ask(server.address, "GET", path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let asset = path.contains('.');
        assert_eq!(answer.header("cache-control"), Some(if asset { "max-age=60" } else { "no-store" }), "{path}");
        assert!(answer.body.starts_with(beginning), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let server = Server::with(Fake::plain()).await;
    for path in PATHS {
        let (get, head) = (ask(server.address, "GET", path).await, ask(server.address, "HEAD", path).await);
        assert_eq!(head.status, 200, "{path}");
        assert_eq!(head.body, "", "{path}");
        for name in ["content-type", "cache-control", "vary", "content-security-policy", "referrer-policy"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
        // The length is left out if the body would have to be made first.
        let made = !["/", "/metrics", "/api/v1/leases"].contains(&path);
        assert_eq!(head.header("content-length"), get.header("content-length").filter(|_| made), "{path}");
        assert_eq!(head.header("transfer-encoding"), None, "{path}");
    }
    for path in ["/metrics?source=nobody", "/api/v1/leases?source=nobody", "/api/v1/leases/documents/nobody"] {
        let (get, head) = (ask(server.address, "GET", path).await, ask(server.address, "HEAD", path).await);
        assert_eq!((get.status, head.status), (404, 404), "{path}");
    }
}

#[tokio::test]
async fn head_reads_no_source_unless_the_status_depends_on_it() {
    let (content, looks) = Fake::with_pending_readings();
    let last = Arc::clone(&content.last);
    let server = Server::start(content, Settings { max_requests: 1, ..Settings::default() }, Limits::default()).await;
    for path in ["/metrics", "/", "/api/v1/leases?source=documents"] {
        assert_eq!(ask(server.address, "HEAD", path).await.status, 200, "{path}");
    }
    assert_eq!((looks.available_permits(), last.lock().unwrap().take()), (0, None));
}

#[tokio::test]
async fn the_page_may_load_and_run_only_what_the_exporter_serves() {
    let server = Server::with(Fake::plain()).await;
    let page = ask(server.address, "GET", "/").await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("  "), "{policy}");
    let metrics = ask(server.address, "GET", "/metrics").await;
    assert_eq!(metrics.header("vary"), Some("Accept, Accept-Encoding"));
}

#[tokio::test]
async fn other_methods_and_paths_are_rejected() {
    let server = Server::with(Fake::plain()).await;
    for path in PATHS {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let answer = ask(server.address, method, path).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
    for path in ["/metrics/", "//metrics", "/api", "/../etc/passwd", "/style.css/..", "/leases/documents/a/live"] {
        let answer = ask(server.address, "GET", path).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, "not found\n"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[tokio::test]
async fn the_metrics_can_have_another_path() {
    let settings = Settings { telemetry_path: "/lease/metrics".to_owned(), ..Settings::default() };
    let server = Server::start(Fake::plain(), settings, Limits::default()).await;
    assert_eq!(ask(server.address, "GET", "/lease/metrics").await.body, "a 1\nb 2\n");
    assert_eq!(ask(server.address, "GET", "/metrics").await.status, 404);
    assert!(ask(server.address, "GET", "/").await.body.contains("<a href=\"lease/metrics\">"));
}

#[test]
fn every_path_but_that_of_the_metrics_is_taken() {
    for path in PATHS {
        let path = path.split('?').next().unwrap();
        assert_eq!(is_taken(path), path != "/metrics", "{path}");
    }
    assert!(is_taken("/live") && is_taken("/api/v1/leases/a/b") && is_taken("/leases/a/b/live"));
    assert!(!is_taken("/leases") && !is_taken("/-/elsewhere"));
}

#[tokio::test]
async fn a_request_with_a_body_is_served_and_its_connection_closed() {
    let server = Server::with(Fake::plain()).await;
    for head in [
        "GET /metrics HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let answer = request(server.address, head).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "a 1\nb 2\n"));
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let post = request(server.address, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello").await;
    assert_eq!((post.status, post.header("connection")), (405, Some("close")));
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let server = Server::with(Fake::plain()).await;
    let mut client = Client::connect(server.address);
    client.send("GET /-/healthy HTTP/1.1\r\nHost: test\r\n\r\n");
    client.send("HEAD /metrics HTTP/1.1\r\nHost: test\r\n\r\n");
    client.send("GET /-/ready HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    let all = String::from_utf8(client.rest().await).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{all}");
}

#[tokio::test]
async fn the_scrape_timeout_limits_the_read_of_sources() {
    let content = Fake::plain();
    let time_limit = Arc::clone(&content.time_limit);
    let server = Server::with(content).await;
    let head = "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n";
    for (header, most) in [("", 10.0), ("X-Prometheus-Scrape-Timeout-Seconds: 3\r\n", 2.5)] {
        request(server.address, &format!("{head}{header}\r\n")).await;
        let time_limit = time_limit.lock().unwrap().unwrap().as_secs_f64();
        assert!(time_limit <= most && time_limit > most - 0.4, "{header:?}: {time_limit}");
    }
}
