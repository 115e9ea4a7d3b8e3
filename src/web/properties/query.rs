//! Queries and paths, compared with a second implementation of percent-decoding.

use proptest::prelude::*;

use crate::expose::page::PageRequest;
use crate::observer::SourceSelection;
use crate::testing::{cases, hostile, mutation::mutated};
use crate::web::route;

const TOKENS: &[&str] = &[
    "&",
    "=",
    "%",
    "%2",
    "%2f",
    "%00",
    "%ff",
    "%C3%A9",
    "+",
    "%2B",
    ";",
    "?",
    "#",
    "/",
    "..",
    "source=",
    "lease=",
    "state=stalled",
    "state=",
    "page=0",
    "page=99999999999999999999",
    "page=-1",
    "q=",
    "source",
    "%73ource=",
    "%zz",
    "\u{e9}",
];

/// Decodes percent-encoding. A percent sign without two hex digits stands for itself.
fn decoded(text: &str) -> Option<String> {
    let (bytes, mut at, mut decoded) = (text.as_bytes(), 0, Vec::new());
    while at < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap());
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn texts() -> impl Strategy<Value = String> {
    let known = ["source=a&source=b+c", "documents/planner", "state=idle&q=caf%C3%A9&page=3", "source=s&lease=l%2Fm"];
    mutated(&known, TOKENS)
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn sources_and_lease_are_those_of_the_decoded_text(text in texts()) {
        let form = |text: &str| decoded(&text.replace('+', " ")).unwrap_or_default();
        let mut names = Vec::new();
        for pair in text.split('&') {
            let end = pair.find('=').unwrap_or(pair.len());
            if form(&pair[..end]) == "source" {
                names.push(form(pair.get(end + 1..).unwrap_or("")));
            }
        }
        let expected = if names.is_empty() { SourceSelection::All } else { SourceSelection::Named(names) };
        prop_assert_eq!(route::selected_sources(&text), expected);

        let expected = text.find('/').and_then(|at| Some((decoded(&text[..at])?, decoded(&text[at + 1..])?)));
        prop_assert_eq!(route::lease_name(&text), expected);
    }

    #[test]
    fn any_name_can_be_asked_for(source in hostile::name(), lease in hostile::name()) {
        let path = format!("{}/{}", encoded(&source), encoded(&lease));
        prop_assert_eq!(route::lease_name(&path), Some((source.clone(), lease.clone())));
        let query = format!("source={}&x&source={}", encoded(&source), encoded(&lease));
        prop_assert_eq!(route::selected_sources(&query), SourceSelection::Named(vec![source.clone(), lease.clone()]));
        let query = format!("source={}&lease={}", encoded(&source), encoded(&lease));
        prop_assert_eq!(PageRequest::lease(&query), PageRequest::Lease { source, lease });
    }
}
