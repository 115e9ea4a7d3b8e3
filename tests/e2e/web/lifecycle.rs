//! `/-/reload` and shutdown.

use std::io::{Read as _, Write as _};
use std::thread;

use super::client::{connect, plainly};
use super::steady;
use crate::harness::exporter::configure;
use crate::harness::store::{ENDLESS, database, folder};
use crate::harness::{Exporter, eventually};

#[test]
fn post_reloads_the_configuration_and_reports_the_result() {
    let folder = folder();
    let good = steady(folder.path());
    let exporter = Exporter::start_with(folder.path(), &good, &["--web.enable-lifecycle"]);
    let reload = |headers: &str| plainly(exporter.address(), "POST", "/-/reload", headers).unwrap();
    configure(folder.path(), &good.replace("name: own", "name: other"));
    let taken = reload("");
    assert_eq!((taken.status, taken.body.as_str()), (200, "OK\n"));
    assert_eq!((exporter.scrape().leases("other").len(), exporter.scrape().leases("own").len()), (1, 0), "at once");
    configure(folder.path(), "sources: [{name: planted, store: 'postgres://u:planted@h/d'}]");
    let refused = reload("");
    assert_eq!(refused.status, 500);
    assert!(refused.body.contains("the one before stays") && !refused.body.contains("planted"), "{}", refused.body);
    exporter.process().stderr.wait_for("the configuration cannot be used");
    let metrics = exporter.scrape();
    assert_eq!(metrics.leases("other").len(), 1);
    assert_eq!(metrics.value("lease_exporter_config_last_reload_successful", &[]), Some(0.0));
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let other = plainly(exporter.address(), method, "/-/reload", "").unwrap();
        assert_eq!((other.status, other.header("allow")), (405, Some("POST")), "{method}");
    }
    for elsewhere in ["Sec-Fetch-Site: cross-site\r\n", "Origin: http://elsewhere.example\r\n", "Origin: null\r\n"] {
        let refused = reload(elsewhere);
        assert_eq!((refused.status, refused.body.as_str()), (403, "a page of another site may not ask for this\n"));
    }
}

#[test]
fn without_the_option_no_request_reloads() {
    let folder = folder();
    let good = steady(folder.path());
    let exporter = Exporter::start(folder.path(), &good);
    configure(folder.path(), &good.replace("name: own", "name: other"));
    let refused = plainly(exporter.address(), "POST", "/-/reload", "").unwrap();
    assert_eq!((refused.status, refused.body.as_str()), (403, "reloading by request is not enabled\n"));
    assert_eq!(plainly(exporter.address(), "GET", "/-/reload", "").unwrap().status, 405);
    assert_eq!(exporter.scrape().leases("own").len(), 1);
}

#[test]
fn concurrent_reloads_run_one_after_another() {
    let folder = folder();
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &["--web.enable-lifecycle"]);
    let statuses: Vec<_> = thread::scope(|scope| {
        let asking: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| plainly(exporter.address(), "POST", "/-/reload", "").unwrap().status))
            .collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 12]);
    eventually("twelve reloads to be told", || {
        (exporter.log().matches("the configuration was loaded again").count() == 12).then_some(())
    });
    assert_eq!(exporter.scrape().leases("own").len(), 1);
}

#[test]
fn shutdown_finishes_open_requests_and_accepts_no_new_ones() {
    let folder = folder();
    database(&folder.path().join("slow.db"), "CREATE TABLE t (x)");
    let yaml = format!("sources: [{{name: slow, store: 'sqlite://slow.db', timeout: 2s, query: \"{ENDLESS}\"}}]\n");
    let exporter = Exporter::start(folder.path(), &yaml);
    let address = exporter.address();
    let mut scrape = connect(address);
    write!(scrape, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut idle = connect(address);
    // The scrape has no visible start. The listener accepts its connection before the next one.
    assert_eq!(plainly(address, "GET", "/-/healthy", "").unwrap().status, 200);
    let finished = exporter.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let mut answer = String::new();
    scrape.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("lease_source_up{source=\"slow\"} 0"), "{answer}");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
    assert!(std::net::TcpStream::connect(address).is_err());
}
