//! Every route with every method.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::output::{ASKED, CollectedOutput, PLANTED};
use crate::harness::PATIENCE;

/// Requests of each route, valid and with planted secrets. The source `sound` has the active lease `planner` and
/// the stalled lease `stuck`.
fn examples(path: &str) -> Vec<String> {
    let of = |queries: &[&str]| {
        let marked = |query: &&str| format!("{path}{}", query.replace("MARK", PLANTED).replace("ASK", ASKED));
        queries.iter().map(marked).collect()
    };
    match path {
        "/" => of(&["", "?state=stalled", "?source=ASK&q=ASK&state=ASK&page=ASK", "?x=MARK"]),
        "/lease" => of(&["?source=sound&lease=planner", "?source=ASK&lease=ASK", "?source=sound&lease=ASK", "?x=MARK"]),
        "/live" => of(&["", "?source=sound&lease=planner", "?q=ASK"]),
        "/metrics" | "/api/v1/leases" => {
            of(&["", "?source=sound", "?source=MARK", "?source=sound&source=MARK", "?x=MARK"])
        }
        "/api/v1/leases/" => of(&["sound/planner", "MARK/MARK", "sound/MARK", "MARK", ""]),
        "/leases/" => of(&["sound/planner/live", "sound/stuck/live", "MARK/MARK/live", "sound/MARK/live"]),
        "/-/healthy" | "/-/ready" | "/-/reload" | "/style.css" | "/live.js" | "/favicon.ico" => of(&["", "?x=MARK"]),
        new => panic!("{new} is a new path: say here how it is asked for, and what a client may plant in that"),
    }
}

/// Unknown paths.
const NOWHERE: [&str; 5] = ["/PLANTED", "/metrics/PLANTED", "//PLANTED", "/%50LANTED", "/-/PLANTED?x=PLANTED"];

/// Further headers of clients.
const HEADERS: &str = "Host: PLANTED\r\nCookie: session=PLANTED\r\nReferer: http://h/PLANTED\r\nUser-Agent: PLANTED\r\n\
    X-Forwarded-For: PLANTED\r\nIf-None-Match: \"PLANTED\"\r\nX-Prometheus-Scrape-Timeout-Seconds: PLANTED\r\n\
    Sec-Fetch-Site: none\r\nOrigin: http://PLANTED\r\n";

/// Malformed requests.
fn garbage() -> Vec<String> {
    vec![
        "PLANTED\r\n\r\n".to_owned(),
        "GET /PLANTED HTTP/9.9\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nPLANTED\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nContent-Length: PLANTED\r\n\r\n".to_owned(),
        "GET PLANTED HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned(),
        "GET http://u:PLANTED@h/PLANTED HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", PLANTED.repeat(10_000)),
        format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", PLANTED.repeat(10_000)),
    ]
}

/// Sends all requests with all methods and collects the responses. `more` has the credentials.
pub(super) fn ask_everything(address: SocketAddr, more: &str, said: &mut CollectedOutput) -> Vec<u16> {
    let mut statuses = Vec::new();
    let paths = lease_exporter::web::paths().chain(["/metrics"]).flat_map(examples);
    for path in paths.chain(NOWHERE.map(str::to_owned)) {
        for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PLANTED"] {
            for accept in ["*/*", "application/openmetrics-text;version=1.0.0", "text/html;PLANTED=1"] {
                if accept != "*/*" && method != "GET" {
                    continue;
                }
                let request =
                    format!("{method} {path} HTTP/1.1\r\n{HEADERS}Accept: {accept}\r\n{more}Connection: close\r\n\r\n");
                let answer = ask(address, &request);
                statuses.extend(status(&answer));
                said.note(format!("{method} {path} of {accept}"), answer);
            }
        }
    }
    for request in garbage() {
        let answer = ask(address, &request);
        statuses.extend(status(&answer));
        said.note(format!("the answer to {}", request.chars().take(60).collect::<String>()), answer);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn status(answer: &str) -> Option<u16> {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok())
}

/// The whole response.
pub(super) fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The exporter may close the connection during an oversized request.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
