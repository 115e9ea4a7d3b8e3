//! The headers that the configuration adds to every response.

use hyper::header::{HeaderName, HeaderValue};

use super::problem::{Problem, Problems};
use super::raw::RawHttp;
use crate::diagnostic::QuotedValue;

/// The headers that the exporter-toolkit allows: name, allowed values if limited, and their description.
const ALLOWED: [(&str, &[&str], &str); 5] = [
    ("Content-Security-Policy", &[], "a text"),
    ("Strict-Transport-Security", &[], "a text"),
    ("X-Content-Type-Options", &["nosniff"], "`nosniff`"),
    ("X-Frame-Options", &["deny", "sameorigin"], "`deny` or `sameorigin`"),
    ("X-XSS-Protection", &[], "a text"),
];

pub(super) fn convert(http: RawHttp, problems: &mut Problems) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, value) in http.headers.unwrap_or_default() {
        let line = value.referenced.line();
        let Some(&(header, values, known)) = ALLOWED.iter().find(|(header, ..)| *header == name) else {
            let known = ALLOWED.map(|(header, ..)| header).join(", ");
            problems.note(line, Problem::Header { value: QuotedValue::new(&name), known });
            continue;
        };
        // An empty value of a limited set means not set: templates write it. The exporter-toolkit rejects it.
        if value.value.is_empty() && !values.is_empty() {
            continue;
        }
        let allowed = values.is_empty() || values.contains(&value.value.as_str());
        match (HeaderName::from_bytes(header.as_bytes()), HeaderValue::from_str(&value.value)) {
            (Ok(name), Ok(value)) if allowed => headers.push((name, value)),
            _ => problems.note(line, Problem::HeaderValue { header, known }),
        }
    }
    headers
}
