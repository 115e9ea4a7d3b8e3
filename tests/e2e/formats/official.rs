//! The reference parser of OpenMetrics reads the served text.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{NAMES, PROMETHEUS_2_42, Served, series};
use crate::harness::python::python;

/// The result of `prometheus_client.openmetrics.parser`: families with their samples, as JSON.
///
/// # Errors
/// The error of the parser, if it refuses the text.
fn parsed(text: &str) -> Result<Value, String> {
    let script = "import json, sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as families\n\
        text = sys.stdin.buffer.read().decode('utf-8')\n\
        print(json.dumps([[f.name, f.type, f.unit, [[s.name, s.labels] for s in f.samples]] for f in families(text)]))";
    python("openmetrics/prometheus_client/openmetrics/parser.py", script, text)
}

#[test]
fn the_official_parser_reads_every_sample_with_the_type_and_unit_of_its_family() {
    let served = Served::new(&NAMES, 20);
    let text = served.scrape("/metrics", PROMETHEUS_2_42, "gzip").body;
    let families = parsed(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let families = families.as_array().unwrap();
    let of = |name: &str| families.iter().find(|family| family[0] == name).unwrap_or_else(|| panic!("no {name}"));
    for (name, of_type, unit) in [
        ("lease_state", "gauge", ""),
        ("lease_holder", "info", ""),
        ("lease_source", "info", ""),
        ("lease_exporter_build", "info", ""),
        ("lease_anomalies", "counter", ""),
        ("lease_age_seconds", "gauge", "seconds"),
        ("lease_epoch", "gauge", ""),
        ("process_cpu_seconds", "counter", "seconds"),
        ("process_resident_memory_bytes", "gauge", "bytes"),
        ("lease_exporter_config_last_reload_success_timestamp_seconds", "gauge", "seconds"),
    ] {
        assert_eq!((&of(name)[1], &of(name)[2]), (&Value::from(of_type), &Value::from(unit)), "{name}");
    }
    let read: BTreeSet<_> = families.iter().flat_map(|family| family[3].as_array().unwrap()).map(of_sample).collect();
    assert_eq!(read, series(&text));
    for lease in NAMES {
        assert!(read.iter().any(|(name, labels)| name == "lease_epoch" && labels["lease"] == lease), "{lease}");
    }
}

fn of_sample(sample: &Value) -> crate::harness::metrics::Series {
    let labels = sample[1].as_object().unwrap().iter();
    let labels = labels.map(|(label, value)| (label.clone(), value.as_str().unwrap().to_owned()));
    (sample[0].as_str().unwrap().to_owned(), labels.collect())
}

#[test]
fn the_official_parser_refuses_what_this_format_does_not_have() {
    let served = Served::new(&["planner"], 0);
    let text = served.scrape("/metrics", PROMETHEUS_2_42, "identity").body;
    assert!(parsed(&text).is_ok());
    for (from, to, why) in [
        // The exporter declares state sets as gauges, because the parser requires more of a state set.
        ("# TYPE lease_state gauge", "# TYPE lease_state stateset", "Stateset missing label"),
        ("\n# EOF\n", "\n", "Missing # EOF"),
        ("# UNIT lease_age_seconds seconds", "# UNIT lease_age_seconds minutes", "Unit does not match"),
        ("# TYPE lease_anomalies counter", "# TYPE lease_anomalies_total counter", "Clashing name"),
    ] {
        assert!(text.contains(from), "{from}");
        let refusal = parsed(&text.replacen(from, to, 1)).err().unwrap_or_default();
        assert!(refusal.contains(why), "{from}: {refusal}");
    }
}
