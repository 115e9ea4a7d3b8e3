//! Format, compression, and selection of sources and leases.

use serde_json::Value;

use super::client::{Answer, ask, ask_with};
use super::content::Fake;
use super::*;
use crate::expose::testing::snapshots::HOSTILE_NAME;
use crate::expose::{Encoding, Format};
use crate::observer::SourceSelection;

const GZIP: &str = "Accept-Encoding: gzip\r\n";
const OPEN_METRICS: &str = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n";

#[tokio::test]
async fn the_headers_and_the_query_select_the_format_encoding_and_sources_of_a_scrape() {
    let content = Fake::plain();
    let last = Arc::clone(&content.last);
    let server = Server::with(content).await;
    for (path, headers, scrape, content_type) in [
        (
            "/metrics",
            "",
            (SourceSelection::All, Format::Text, Encoding::Identity),
            "text/plain; version=0.0.4; charset=utf-8",
        ),
        (
            "/metrics?source=documents&x=y",
            "Accept: */*\r\nAccept-Encoding: br\r\nAccept-Encoding: gzip;q=0.3\r\n",
            (SourceSelection::Named(vec!["documents".to_owned()]), Format::Text, Encoding::Gzip),
            "text/plain; version=0.0.4; charset=utf-8",
        ),
        (
            "/metrics?",
            OPEN_METRICS,
            (SourceSelection::All, Format::OpenMetrics, Encoding::Identity),
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
    ] {
        let answer = ask_with(server.address, "GET", path, headers).await;
        assert_eq!(last.lock().unwrap().take(), Some(scrape), "{path} {headers}");
        assert_eq!(answer.header("content-type"), Some(content_type));
        assert_eq!(answer.header("vary"), Some("Accept, Accept-Encoding"));
        assert_eq!(answer.header("content-encoding"), None);
        assert_eq!(answer.body, "a 1\nb 2\n");
    }
}

#[tokio::test]
async fn compressed_responses_have_the_right_encoding_and_length() {
    let server = Server::with(Fake::plain()).await;
    let always = "Accept-Encoding: gzip, identity;q=0\r\n";
    for (path, headers, vary) in [
        ("/metrics", always, "Accept, Accept-Encoding"),
        ("/api/v1/leases", GZIP, "Accept-Encoding"),
        ("/api/v1/leases/documents/planner", GZIP, "Accept-Encoding"),
        ("/", GZIP, "Accept-Encoding"),
        ("/lease?source=documents&lease=planner", GZIP, "Accept-Encoding"),
    ] {
        let plain = ask(server.address, "GET", path).await;
        let packed = ask_with(server.address, "GET", path, headers).await;
        let head = ask_with(server.address, "HEAD", path, headers).await;
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        assert_eq!(plain.header("vary"), Some(vary), "{path}");
        // The encoding of a response to HEAD is known only if its content is made.
        let of_one = path.contains("planner");
        assert_eq!(head.header("content-encoding"), of_one.then_some("gzip"), "{path}");
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        for answer in [&packed, &head] {
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("vary"), Some(vary), "{path}");
            assert_eq!(answer.header("content-type"), plain.header("content-type"), "{path}");
        }
        let length = packed.length.to_string();
        assert_eq!(packed.header("content-length"), Some(&*length), "{path}");
        assert_eq!(head.length, 0);
        // The page contains its time, so its length may differ by a byte or two.
        if plain.header("content-type") != Some("text/html; charset=utf-8") {
            assert_eq!(head.header("content-length"), of_one.then_some(&*length), "{path}");
            assert_eq!(packed.body, plain.body, "{path}");
        }
    }
}

#[tokio::test]
async fn responses_are_not_compressed_if_small_or_if_gzip_is_not_accepted() {
    let server = Server::with(Fake::plain()).await;
    for path in ["/-/healthy", "/no/such/path", "/metrics"] {
        let answer = ask_with(server.address, "GET", path, GZIP).await;
        assert_eq!(answer.header("content-encoding"), None, "{path}");
    }
    for (header, length) in [("Accept-Encoding: gzip;q=0\r\n", 1), ("Accept-Encoding: identity\r\n", 1)] {
        let answer = ask_with(server.address, "GET", "/api/v1/leases", header).await;
        assert_eq!(answer.header("content-encoding"), None, "{header}");
        assert!(answer.length > length);
    }
}

#[tokio::test]
async fn the_json_can_be_limited_to_some_sources() {
    let server = Server::with(Fake::plain()).await;
    for (query, sources) in [
        ("?source=jobs", vec!["jobs"]),
        ("?source=workers&source=documents&source=jobs&source=jobs", vec!["documents", "jobs", "workers"]),
        ("?sauce=jobs", vec!["documents", "cache", "jobs", "workers", "billing"]),
    ] {
        let json = json(&ask(server.address, "GET", &format!("/api/v1/leases{query}")).await);
        let named: Vec<_> =
            json["sources"].as_array().unwrap().iter().map(|source| source["source"].as_str().unwrap()).collect();
        assert_eq!(named, sources, "{query}");
    }
}

#[tokio::test]
async fn the_json_of_one_lease_equals_its_entry_in_the_list() {
    let server = Server::with(Fake::plain()).await;
    let all = json(&ask(server.address, "GET", "/api/v1/leases").await);
    let documents = &all["sources"][0];
    let escaped =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    for lease in ["planner", "retention", HOSTILE_NAME] {
        let path = format!("/api/v1/leases/documents/{}?source=ignored", escaped(lease));
        let mut one = json(&ask(server.address, "GET", &path).await);
        let listed = documents["leases"].as_array().unwrap().iter().find(|other| other["lease"] == lease).unwrap();
        assert_eq!(one["lease"], *listed);
        let one = one.as_object_mut().unwrap();
        assert_eq!(one.remove("version"), Some(1.into()));
        one.remove("lease");
        let mut source = documents.as_object().unwrap().clone();
        source.remove("leases");
        assert_eq!(*one, source);
    }
}

#[tokio::test]
async fn unknown_sources_and_leases_are_404_with_a_short_text() {
    let server = Server::with(Fake::plain()).await;
    for (path, body) in [
        ("/metrics?source=nobody", "no source of that name\n"),
        ("/metrics?source=documents&source=", "no source of that name\n"),
        ("/api/v1/leases?source=%ff", "no source of that name\n"),
        ("/api/v1/leases/nobody/planner", "no source of that name\n"),
        ("/api/v1/leases/documents/nobody", "no lease of that name\n"),
        ("/api/v1/leases/documents/planner/", "no lease of that name\n"),
        ("/api/v1/leases/documents/", "no lease of that name\n"),
        ("/api/v1/leases/documents/%ff", "no lease of that name\n"),
        ("/api/v1/leases/documents", "no lease of that name\n"),
        ("/api/v1/leases/", "no lease of that name\n"),
    ] {
        let answer = ask_with(server.address, "GET", path, GZIP).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, body), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{path}");
        let post = ask(server.address, "POST", path).await;
        assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
}

fn json(answer: &Answer) -> Value {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}
