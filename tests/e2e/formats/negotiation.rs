//! Content negotiation: the response has the requested format.

use super::{OPEN_METRICS, PROMETHEUS_2_42, Served, TEXT, series};
use crate::harness::{http, promtool};

#[test]
fn each_client_gets_its_format_with_the_same_series() {
    let served = Served::new(&["planner"], 3);
    let text = served.scrape("/metrics", "", "identity");
    promtool::accepts(&text.body);
    let expected = series(&text.body);
    for (accept, content_type) in [
        (PROMETHEUS_2_42, OPEN_METRICS),
        ("text/plain;version=0.0.4;q=1,*/*;q=0.1", TEXT),
        ("*/*", TEXT),
        ("text/html", TEXT),
    ] {
        for encoding in ["identity", "gzip", "", "br;q=1, gzip;q=0.1"] {
            let reply = served.scrape("/metrics", accept, encoding);
            assert_eq!(reply.header("content-type"), Some(content_type), "{accept}");
            assert_eq!(reply.header("vary"), Some("Accept, Accept-Encoding"));
            let packed = encoding.contains("gzip").then_some("gzip");
            assert_eq!(reply.header("content-encoding"), packed, "{encoding}");
            assert_eq!(reply.body.ends_with("\n# EOF\n"), content_type == OPEN_METRICS);
            assert_eq!(series(&reply.body), expected, "{accept} {encoding}");
        }
    }
}

#[test]
fn a_source_that_is_not_asked_for_is_not_read() {
    let served = Served::new(&["planner"], 0);
    let of_documents = served.scrape("/metrics?source=documents", PROMETHEUS_2_42, "gzip").body;
    assert!(of_documents.contains("lease_source_up{source=\"documents\"} 1\n"));
    assert!(of_documents.contains("\nlease_exporter_build_info{") && !of_documents.contains("billing"));
    let address = served.exporter.address();
    let missing = |path| http::get(address, path, &[]);
    let reply = missing("/metrics?source=documents&source=nobody");
    assert_eq!((reply.status, reply.body.as_str()), (404, "no source of that name\n"));
    assert!(!served.exporter.log().contains("cannot be read"), "{}", served.exporter.log());
    let one = missing("/api/v1/leases/documents/planner");
    assert!(
        one.status == 200 && one.body.contains("\"lease\":{\"lease\":\"planner\",\"state\":\"active\""),
        "{}",
        one.body
    );
    assert!(!served.exporter.log().contains("cannot be read"), "{}", served.exporter.log());
    // A reading of the unreadable source is logged, so the scrapes above have not read it.
    served.scrape("/metrics", "", "");
    served.exporter.process().stderr.wait_for("the source cannot be read");
    let known = missing("/api/v1/leases/billing/invoices");
    assert!(known.status == 200 && known.body.contains("\"state\":\"unknown\""), "{}", known.body);
}
