//! How long a request may take.

use std::time::Duration;

use hyper::HeaderMap;

/// How long Prometheus will wait, in seconds with a fraction; it sends this with every scrape.
const HEADER: &str = "x-prometheus-scrape-timeout-seconds";

/// The time that the answer itself needs to get to Prometheus.
const RESERVE: f64 = 0.5;

/// How long sources are looked at for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScrapeTimeout {
    /// Where the request does not say.
    pub(super) by_default: Duration,
    /// Whatever the request says.
    pub(super) at_most: Duration,
}

impl ScrapeTimeout {
    /// The time that a request leaves: what Prometheus says less half a second, but no less than half of it.
    ///
    /// What is not a number of seconds above zero is taken as not said.
    pub(super) fn of(self, headers: &HeaderMap) -> Duration {
        let seconds = headers
            .get(HEADER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.trim().parse::<f64>().ok())
            .filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        let allowed = match seconds {
            // Where it does not fit a Duration, it is longer than any limit.
            Some(seconds) => {
                Duration::try_from_secs_f64((seconds - RESERVE).max(seconds / 2.0)).unwrap_or(self.at_most)
            }
            None => self.by_default,
        };
        allowed.min(self.at_most)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn the_scrape_timeout_less_a_reserve_or_else_the_default() {
        let timeout = ScrapeTimeout { by_default: Duration::from_secs(10), at_most: Duration::from_secs(60) };
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
            assert_eq!(timeout.of(&headers).as_millis(), millis, "{header:?}");
        }
    }

    #[test]
    fn a_header_that_is_no_text_is_ignored_and_the_default_is_capped_too() {
        let timeout = ScrapeTimeout { by_default: Duration::from_secs(10), at_most: Duration::from_secs(2) };
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(b"\xff1").unwrap());
        assert_eq!(timeout.of(&headers), Duration::from_secs(2));
    }
}
