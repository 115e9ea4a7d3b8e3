//! What is said with every answer.

use hyper::header::{HeaderName, HeaderValue};

use super::problem::{Faults, Problem};
use super::raw::RawHttp;
use crate::diagnostic::QuotedValue;

/// The headers that may be set, as with every exporter: their names, what they may say, and that in words.
const ALLOWED: [(&str, &[&str], &str); 5] = [
    ("Content-Security-Policy", &[], "a text"),
    ("Strict-Transport-Security", &[], "a text"),
    ("X-Content-Type-Options", &["nosniff"], "`nosniff`"),
    ("X-Frame-Options", &["deny", "sameorigin"], "`deny` or `sameorigin`"),
    ("X-XSS-Protection", &[], "a text"),
];

pub(super) fn checked(http: RawHttp, faults: &mut Faults) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, value) in http.headers.unwrap_or_default() {
        let line = value.referenced.line();
        let Some(&(header, values, known)) = ALLOWED.iter().find(|(header, ..)| *header == name) else {
            let known = ALLOWED.map(|(header, ..)| header).join(", ");
            faults.note(line, Problem::Header { value: QuotedValue::new(&name), known });
            continue;
        };
        // A blank one of few values is not set. The exporter-toolkit refuses it; a template leaves it for a value not given.
        if value.value.is_empty() && !values.is_empty() {
            continue;
        }
        let allowed = values.is_empty() || values.contains(&value.value.as_str());
        match (HeaderName::from_bytes(header.as_bytes()), HeaderValue::from_str(&value.value)) {
            (Ok(name), Ok(value)) if allowed => headers.push((name, value)),
            _ => faults.note(line, Problem::HeaderValue { header, known }),
        }
    }
    headers
}
