//! `Accept` and `Accept-Encoding`, compared with a second implementation.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, HeaderValue};
use proptest::prelude::*;

use crate::expose::{Encoding, Format};
use crate::testing::{cases, mutation::mutated};
use crate::web::negotiation::{encoding, metrics_format};

/// Headers of real clients.
const KNOWN: [&str; 8] = [
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;\
     q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
    "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
    "Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=UTF-8",
    "gzip, deflate, br, zstd",
    "gzip;q=0.5, identity;q=0, *;q=0.1",
    "zstd;q=1.0, x-gzip;q=0.5",
];

const TOKENS: &[&str] = &[
    ",",
    ";",
    "=",
    "q=",
    ";q=0",
    ";q=1",
    ";q=0.001",
    ";q=1.001",
    ";q=.5",
    ";q=1.",
    ";q=",
    ";Q=0.3",
    ";q=\"0.7\"",
    "\"",
    "\\",
    "\\\"",
    " ",
    "\t",
    "*",
    "*/*",
    "text/*",
    "application/*",
    "text/plain",
    "application/openmetrics-text",
    ";version=0.0.4",
    ";version=1.0.0",
    ";version=\"1.0.0\"",
    ";charset=utf-8",
    ";charset=x",
    ";escaping=dots",
    "gzip",
    "x-gzip",
    "identity",
    "GZIP",
    "q=99999999999999999999",
    "\u{e9}",
];

/// The lines of a header: valid members, mutated real headers, and arbitrary bytes.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = prop::sample::select(&[
        "text/plain",
        "application/openmetrics-text",
        "*/*",
        "*",
        "text/*",
        "application/*",
        "gzip",
        "x-gzip",
        "identity",
        "br",
        "TEXT/PLAIN",
        "text/html",
        "",
    ]);
    let parameter = prop::sample::select(&[
        "version=0.0.4",
        "version=1.0.0",
        "version=\"1.0.0\"",
        "version=2",
        "charset=utf-8",
        "charset=UTF-8",
        "charset=latin1",
        "escaping=dots",
        "escaping=values",
        "escaping=\"under\\scores\"",
        "x",
        "x=\"a,b;c\"",
        "VERSION = 1.0.0",
        "",
    ]);
    let quality = prop::sample::select(&[
        "",
        ";q=0",
        ";q=0.0",
        ";q=0.5",
        ";q=0.55",
        ";q=1",
        ";q=1.0",
        ";q=0.0009",
        ";q=0.001",
        "; Q = 0.5",
        ";q=2",
        ";q=x",
        ";q=-0",
        ";q=0.5;version=0.0.4",
        ";q=\"0.25\"",
        ";q=0.5;q=0.1",
    ]);
    let member = (name, prop::collection::vec(parameter, 0..3), quality);
    let member = member.prop_map(|(name, parameters, quality)| {
        let parameters: String = parameters.iter().map(|parameter| format!(";{parameter}")).collect();
        format!("{name}{parameters}{quality}")
    });
    let structured = prop::collection::vec(member, 0..6).prop_map(|members| members.join(", ").into_bytes());
    let line = prop_oneof![
        4 => structured,
        4 => mutated(&KNOWN, TOKENS).prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    prop::collection::vec(line, 0..3)
}

fn headers(name: &HeaderName, lines: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // The HTTP parser refuses other bytes.
    for value in lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(name, value);
    }
    headers
}

/// A member of a header.
#[derive(Debug)]
struct Member {
    name: String,
    parameters: Vec<(String, String)>,
    /// In thousandths.
    quality: u32,
}

/// All members in order, or `None` if there is no such header.
fn members(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<Member>> {
    if !headers.contains_key(name) {
        return None;
    }
    let mut members = Vec::new();
    for value in headers.get_all(name) {
        // The text of a header is visible ASCII, spaces and tabs.
        if value.as_bytes().iter().any(|byte| !(*byte == b'\t' || (32..127).contains(byte))) {
            continue;
        }
        for member in split(value.as_bytes(), b',') {
            let parts = split(&member, b';');
            if parts[0].is_empty() {
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let mut read = Member { name: text(&parts[0]).to_lowercase(), parameters: Vec::new(), quality: 1_000 };
            let mut is_valid = true;
            for part in &parts[1..] {
                let Some(at) = part.iter().position(|byte| *byte == b'=') else { continue };
                let (key, value) = (text(&part[..at]).trim().to_lowercase(), unquoted(text(&part[at + 1..]).trim()));
                if key == "q" {
                    match quality(&value) {
                        Some(quality) => read.quality = quality,
                        None => is_valid = false,
                    }
                    break;
                }
                read.parameters.push((key, value));
            }
            if is_valid {
                members.push(read);
            }
        }
    }
    Some(members)
}

/// The parts between separators that are not quoted.
fn split(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    let (mut at, mut in_quotes) = (0, false);
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if byte == separator && !in_quotes {
            parts.push(Vec::new());
            continue;
        }
        parts.last_mut().unwrap().push(byte);
        if byte == b'"' {
            in_quotes = !in_quotes;
        } else if byte == b'\\' && in_quotes && at < text.len() {
            parts.last_mut().unwrap().push(text[at]);
            at += 1;
        }
    }
    parts.into_iter().map(|part| part.trim_ascii().to_vec()).collect()
}

/// A parameter value without its quotes.
fn unquoted(text: &str) -> String {
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return text.to_owned();
    }
    let mut value = String::new();
    let mut escaped = false;
    for letter in text[1..text.len() - 1].chars() {
        if letter == '\\' && !escaped {
            escaped = true;
        } else {
            value.push(letter);
            escaped = false;
        }
    }
    value
}

/// A number from 0 to 1 in thousandths. Digits after the third are ignored.
fn quality(text: &str) -> Option<u32> {
    let mut digits = text.to_owned();
    let point = digits.find('.');
    if let Some(point) = point {
        digits.remove(point);
    }
    if digits.is_empty() || digits.chars().any(|digit| !digit.is_ascii_digit()) {
        return None;
    }
    let (whole, fraction) = digits.split_at(point.unwrap_or(digits.len()));
    let thousandths = format!("{fraction}000")[..3].parse::<u32>().unwrap();
    match whole.trim_start_matches('0') {
        "" => Some(thousandths),
        "1" if thousandths == 0 => Some(1_000),
        _ => None,
    }
}

/// The quality of a format, how specific the member is that gives it, and the index of that member. The first of the most
/// specific members decides.
fn preference(members: &[Member], kind: &str, name: &str, version: &str) -> Option<(u32, usize, usize)> {
    let has = |member: &Member, key: &str, value: &str| {
        let mut given = member.parameters.iter().filter(|(other, _)| other == key).peekable();
        given.peek().is_some()
            && given.all(|(_, other)| other == value || (key == "charset" && other.to_lowercase() == value))
    };
    let allows = |member: &Member, key: &str, value: &str| {
        has(member, key, value) || member.parameters.iter().all(|(other, _)| other != key)
    };
    let matches = |member: &&Member| allows(member, "version", version) && allows(member, "charset", "utf-8");
    let matches_at = |level: usize, member: &Member| match level {
        3 => [name, kind, "*/*", "*"].contains(&&*member.name) && has(member, "version", version),
        2 => member.name == name,
        1 => member.name == kind,
        _ => ["*", "*/*"].contains(&&*member.name),
    };
    for level in [3, 2, 1, 0] {
        for (index, member) in members.iter().enumerate() {
            if matches(&member) && matches_at(level, member) {
                return (member.quality > 0).then_some((member.quality, level, index));
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn format_is_the_preferred_one_of_the_members(lines in lines()) {
        let headers = headers(&ACCEPT, &lines);
        let members = members(&headers, &ACCEPT).unwrap_or_default();
        let text = preference(&members, "text/*", "text/plain", "0.0.4");
        let open_metrics = preference(&members, "application/*", "application/openmetrics-text", "1.0.0");
        let chosen = match (open_metrics, text) {
            (None, _) => None,
            (Some((_, _, index)), None) => Some(index),
            // The higher quality wins, then the more specific member, then the earlier member, then the text format.
            (Some((quality, level, index)), Some((text_quality, text_level, text_index))) => {
                let is_first = (quality, level, std::cmp::Reverse(index))
                    > (text_quality, text_level, std::cmp::Reverse(text_index));
                is_first.then_some(index)
            }
        };
        let (format, content_type) = metrics_format(&headers);
        let Some(chosen) = chosen else {
            prop_assert_eq!((format, content_type), (Format::Text, Format::Text.content_type()));
            return Ok(());
        };
        let escaping = members[chosen].parameters.iter().find(|(key, _)| key == "escaping").map(|(_, value)| &**value);
        let known = escaping.filter(|value| ["allow-utf-8", "underscores", "dots", "values"].contains(value));
        let suffix = known.map(|value| format!("; escaping={value}")).unwrap_or_default();
        prop_assert_eq!(format, Format::OpenMetrics);
        prop_assert_eq!(
            content_type,
            format!("application/openmetrics-text; version=1.0.0; charset=utf-8{suffix}")
        );
    }

    #[test]
    fn encoding_is_the_preferred_one_of_the_members(lines in lines()) {
        let headers = headers(&ACCEPT_ENCODING, &lines);
        let members = members(&headers, &ACCEPT_ENCODING);
        let quality = |names: &[&str]| {
            members.iter().flatten().find(|member| names.contains(&&*member.name)).map(|member| member.quality)
        };
        let (gzip, identity, any) = (quality(&["gzip", "x-gzip"]), quality(&["identity"]), quality(&["*"]));
        let gzip = gzip.or(any).unwrap_or(0);
        let identity_refused = identity == Some(0) || (identity.is_none() && any == Some(0));
        let expected = if gzip == 0 || (!identity_refused && identity > Some(gzip)) {
            Encoding::Identity
        } else if identity_refused {
            Encoding::GzipRequired
        } else {
            Encoding::Gzip
        };
        prop_assert_eq!(encoding(&headers), expected, "{:?}", members);
    }
}
