//! A real Prometheus stores the same samples from each format.

use std::collections::BTreeMap;

use super::recording_proxy::RecordingProxy;
use super::{NAMES, PROMETHEUS_2_42, Served, series};
use crate::harness::eventually;
use crate::harness::metrics::Series;
use crate::servers::{Prometheus, PrometheusApi};

/// The stored series of a job, without those that Prometheus adds.
fn stored(api: PrometheusApi, job: &str) -> BTreeMap<Series, f64> {
    let samples = api.query(&format!("{{job=\"{job}\",__name__!~\"up|scrape_.*\"}}"));
    samples
        .into_iter()
        .map(|mut sample| {
            let name = sample.labels.remove("__name__").unwrap();
            sample.labels.retain(|label, _| !["job", "instance"].contains(&&**label));
            ((name, sample.labels), sample.value)
        })
        .collect()
}

#[test]
fn prometheus_stores_what_was_written_and_the_same_from_either_format() {
    let served = Served::new(&NAMES, 5);
    let (as_it_asks, as_text) = (
        RecordingProxy::before(served.exporter.address(), None),
        RecordingProxy::before(served.exporter.address(), Some("text/plain;version=0.0.4")),
    );
    let prometheus = Prometheus::start(
        &format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  \
             - {{ job_name: open_metrics, static_configs: [{{ targets: ['{}'] }}] }}\n  \
             - {{ job_name: text, static_configs: [{{ targets: ['{}'] }}] }}\n",
            as_it_asks.address, as_text.address
        ),
        &[],
    );
    let api = prometheus.api();
    for job in ["open_metrics", "text"] {
        eventually(job, || api.query("up == 1").iter().any(|up| up.labels["job"] == job).then_some(()));
    }
    for spy in [&as_it_asks, &as_text] {
        assert_eq!(spy.last("accept").as_deref(), Some(PROMETHEUS_2_42));
        assert_eq!(spy.last("accept-encoding").as_deref(), Some("gzip"));
    }
    let (open_metrics, text) = (stored(api, "open_metrics"), stored(api, "text"));
    let names = |stored: &BTreeMap<Series, f64>| stored.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&open_metrics), names(&text));
    let written = served.scrape("/metrics", "", "identity").body;
    assert_eq!(names(&text), series(&written).into_iter().collect::<Vec<_>>());
    // Values that do not change between readings are exactly equal.
    let lasting = |(name, _): &Series| {
        ["lease_state", "lease_epoch", "lease_anomalies_total", "lease_holder_info", "lease_renewed_timestamp_seconds"]
            .contains(&&**name)
    };
    let compared: Vec<_> = open_metrics.iter().filter(|(series, _)| lasting(series)).collect();
    assert!(compared.len() > NAMES.len() * 12, "{}", compared.len());
    for (series, value) in compared {
        assert_eq!(text[series].to_bits(), value.to_bits(), "{series:?}");
    }
}
