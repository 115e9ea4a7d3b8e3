//! `Accept` headers that Prometheus and others send, and the rules behind.

use hyper::header::HeaderValue;
use proptest::prelude::*;

use super::*;

fn of(accept: Option<&str>) -> (Format, &'static str) {
    let mut headers = HeaderMap::new();
    if let Some(accept) = accept {
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
    }
    metrics_format(&headers)
}

fn format(accept: &str) -> Format {
    of(Some(accept)).0
}

/// Prometheus 2.42, by default.
const PROMETHEUS_2_42: &str = "application/openmetrics-text;version=1.0.0,\
    application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
/// Prometheus 3, by default.
const PROMETHEUS_3: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
    application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
    text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
/// Prometheus 3 with native histograms.
const PROMETHEUS_3_PROTOBUF: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
    encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
    application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
    text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
/// Prometheus 3 with `scrape_protocols: [PrometheusText1.0.0, PrometheusText0.0.4, OpenMetricsText1.0.0]`.
const PROMETHEUS_3_TEXT_FIRST: &str = "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,\
    text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.3";

#[test]
fn the_format_is_the_preferred_one() {
    use Format::{OpenMetrics, Text};
    for (accept, expected) in [
        (PROMETHEUS_2_42, OpenMetrics),
        (PROMETHEUS_3, OpenMetrics),
        (PROMETHEUS_3_PROTOBUF, OpenMetrics),
        (PROMETHEUS_3_TEXT_FIRST, Text),
        // Prometheus before 2.5, VictoriaMetrics, Telegraf, a browser, curl, Java.
        ("text/plain;version=0.0.4;q=1,*/*;q=0.1", Text),
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.6", Text),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", Text),
        ("*/*", Text),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", Text),
        // Named without a version, with a charset, in capitals, quoted.
        ("application/openmetrics-text", OpenMetrics),
        ("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=UTF-8", OpenMetrics),
        ("application/openmetrics-text; charset=utf-16", Text),
        ("text/plain", Text),
        // What is not offered is not given, and the last resort is the text.
        ("application/openmetrics-text;version=0.0.1", Text),
        ("application/openmetrics-text;version=2.0.0", Text),
        ("application/openmetrics-text;version=0.0.1, application/openmetrics-text;version=1.0.0;q=0.1", OpenMetrics),
        ("application/vnd.google.protobuf", Text),
        ("text/html", Text),
        ("", Text),
        (";;,,=", Text),
        // Refusals.
        ("application/openmetrics-text;q=0, */*;q=0.1", Text),
        ("text/plain;q=0, */*;q=0.1", OpenMetrics),
        ("text/plain;q=0, application/openmetrics-text;q=0", Text),
        ("*/*;q=0", Text),
        // The most exact of what fits tells, not the greatest.
        ("text/plain;q=0.2, text/*;q=0.9, application/openmetrics-text;q=0.5", OpenMetrics),
        ("text/plain;version=0.0.4;q=0.2, text/plain;q=0.9, application/openmetrics-text;q=0.5", OpenMetrics),
        ("application/*;q=0.9, text/*;q=0.8", OpenMetrics),
        // Ties: more exactly, then earlier.
        ("application/openmetrics-text, */*", OpenMetrics),
        ("application/openmetrics-text;version=1.0.0, text/plain", OpenMetrics),
        ("text/plain, application/openmetrics-text;version=1.0.0", OpenMetrics),
        ("text/plain, application/openmetrics-text", Text),
        ("application/openmetrics-text, text/plain", OpenMetrics),
        // What has no quality that could be read is not there.
        ("application/openmetrics-text;q=high, text/plain;q=0.1", Text),
    ] {
        assert_eq!(format(accept), expected, "{accept}");
    }
    assert_eq!(of(None).0, Text);
}

#[test]
fn the_content_type_repeats_the_escaping_parameter() {
    for (accept, content_type) in [
        (PROMETHEUS_2_42, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        (PROMETHEUS_3, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8"),
        (
            "application/openmetrics-text;version=1.0.0;escaping=underscores",
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
        ),
        (
            "application/openmetrics-text;escaping=anything\u{20}else",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (PROMETHEUS_3_TEXT_FIRST, "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*;escaping=dots", "text/plain; version=0.0.4; charset=utf-8"),
    ] {
        assert_eq!(of(Some(accept)).1, content_type, "{accept}");
    }
}

proptest! {
    #[test]
    fn any_header_gets_a_format_with_its_media_type(accept in "[ -~]{0,120}") {
        let (format, content_type) = of(Some(&accept));
        prop_assert!(content_type.starts_with(format.content_type()));
    }

    #[test]
    fn of_two_qualities_the_greater_counts(open_metrics in 0u16..=1000, text in 0u16..=1000, first in any::<bool>()) {
        let members = [
            format!("application/openmetrics-text;version=1.0.0;q=0.{open_metrics:03}").replace("0.1000", "1"),
            format!("text/plain;version=0.0.4;q=0.{text:03}").replace("0.1000", "1"),
        ];
        let accept = if first { members.join(",") } else { format!("{},{}", members[1], members[0]) };
        let expected = match open_metrics.cmp(&text) {
            _ if open_metrics == 0 => Format::Text,
            std::cmp::Ordering::Less => Format::Text,
            std::cmp::Ordering::Greater => Format::OpenMetrics,
            std::cmp::Ordering::Equal => if first { Format::OpenMetrics } else { Format::Text },
        };
        prop_assert_eq!(format(&accept), expected, "{}", accept);
    }

    #[test]
    fn other_accepted_types_change_nothing(others in proptest::collection::vec("(image|application|text)/[a-d]{3}(;q=0\\.[0-9])?", 0..5)) {
        let accept = [others, vec!["application/openmetrics-text;q=0.3,text/plain;q=0.2".to_owned()]].concat().join(",");
        prop_assert_eq!(format(&accept), Format::OpenMetrics);
    }
}
