//! Queries and paths, against a reading of them byte by byte.

use proptest::prelude::*;

use crate::expose::page::View;
use crate::fuzz::{QUERY, hostile, mutation::mutated};
use crate::observer::SourceSelection;
use crate::web::asked;

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

/// What percent signs stand for; those that stand for nothing are themselves.
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

#[test]
fn query_and_path_name_what_a_plain_reading_of_them_names() {
    let known = ["source=a&source=b+c", "documents/planner", "state=idle&q=caf%C3%A9&page=3", "source=s&lease=l%2Fm"];
    let known = known.map(|text| text.as_bytes().to_vec()).to_vec();
    QUERY.run((mutated(known, TOKENS), hostile::name(), hostile::name()), |(bytes, source, lease)| {
        let text = String::from_utf8_lossy(&bytes);
        let form = |text: &str| decoded(&text.replace('+', " ")).unwrap_or_default();
        let mut names = Vec::new();
        for pair in text.split('&') {
            let at = pair.find('=').unwrap_or(pair.len());
            if form(&pair[..at]) == "source" {
                names.push(form(pair.get(at + 1..).unwrap_or("")));
            }
        }
        let expected = if names.is_empty() { SourceSelection::All } else { SourceSelection::Named(names) };
        prop_assert_eq!(asked::sources(&text), expected);

        let expected = text.find('/').and_then(|at| Some((decoded(&text[..at])?, decoded(&text[at + 1..])?)));
        prop_assert_eq!(asked::lease(&text), expected);

        // What can be named is named, whatever it is.
        let path = format!("{}/{}", encoded(&source), encoded(&lease));
        prop_assert_eq!(asked::lease(&path), Some((source.clone(), lease.clone())));
        let query = format!("source={}&x&source={}", encoded(&source), encoded(&lease));
        prop_assert_eq!(asked::sources(&query), SourceSelection::Named(vec![source.clone(), lease.clone()]));
        let query = format!("source={}&lease={}", encoded(&source), encoded(&lease));
        prop_assert_eq!(View::lease(&query), View::Lease { source, lease });
        Ok(())
    });
}
