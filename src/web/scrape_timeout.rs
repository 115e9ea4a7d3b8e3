//! The time limit of a request.

use std::time::Duration;

use hyper::HeaderMap;

/// The scrape timeout in seconds, as a decimal number. Prometheus sends it with every scrape.
const HEADER: &str = "x-prometheus-scrape-timeout-seconds";

/// The time that is left for sending the response, in seconds.
const RESERVE: f64 = 0.5;

/// How long sources are read for a request: its scrape timeout less half a second, but at least half of it. The default is
/// for requests without a valid header.
pub(super) fn scrape_timeout(headers: &HeaderMap, default: Duration, max: Duration) -> Duration {
    let seconds = headers
        .get(HEADER)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.trim().parse::<f64>().ok())
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    let timeout = match seconds {
        // A value too large for a Duration is above any maximum.
        Some(seconds) => Duration::try_from_secs_f64((seconds - RESERVE).max(seconds / 2.0)).unwrap_or(max),
        None => default,
    };
    timeout.min(max)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn the_timeout_is_the_scrape_timeout_less_a_reserve_or_the_default() {
        let (default, max) = (Duration::from_secs(10), Duration::from_secs(60));
        for (header, millis) in [
            (None, 10_000),
            (Some("10"), 9_500),
            (Some("10.000000"), 9_500),
            (Some(" 3.5 "), 3_000),
            (Some("1e1"), 9_500),
            (Some("1"), 500),
            (Some("0.6"), 300),
            (Some("0.001"), 0),
            (Some("61"), 60_000),
            (Some("1e300"), 60_000),
            (Some("inf"), 10_000),
            (Some("NaN"), 10_000),
            (Some("-5"), 10_000),
            (Some("0"), 10_000),
            (Some(""), 10_000),
            (Some("10s"), 10_000),
            (Some("1_0"), 10_000),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(HEADER, HeaderValue::from_static(header));
            }
            assert_eq!(scrape_timeout(&headers, default, max).as_millis(), millis, "{header:?}");
        }
    }

    #[test]
    fn a_header_that_is_not_text_is_ignored_and_the_maximum_applies_to_the_default() {
        let (default, max) = (Duration::from_secs(10), Duration::from_secs(2));
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(b"\xff1").unwrap());
        assert_eq!(scrape_timeout(&headers, default, max), Duration::from_secs(2));
    }
}
