//! `Accept` and `Accept-Encoding`, against readings of them that are as plain as can be.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, HeaderValue};
use proptest::prelude::*;

use crate::expose::{Encoding, Format};
use crate::fuzz::{ACCEPT as ACCEPT_TARGET, ENCODING, mutation::mutated};
use crate::web::accept::accepted;
use crate::web::encoding::encoding;

/// Headers that clients really send, to be mutated.
const SENT: [&str; 8] = [
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

/// Headers of members with structure, of real ones mutated, and of anything; in one line or more.
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
    let sent = SENT.map(|text| text.as_bytes().to_vec()).to_vec();
    let line = prop_oneof![
        4 => structured,
        4 => mutated(sent, TOKENS),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    prop::collection::vec(line, 0..3)
}

fn headers(name: &HeaderName, lines: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // What HTTP itself refuses never gets here.
    for value in lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(name, value);
    }
    headers
}

/// A member read letter by letter.
#[derive(Debug)]
struct Plain {
    name: String,
    parameters: Vec<(String, String)>,
    /// In thousandths.
    quality: u32,
}

/// All members in their order; nothing if there is no such header at all.
fn plain(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<Plain>> {
    if !headers.contains_key(name) {
        return None;
    }
    let mut members = Vec::new();
    for value in headers.get_all(name) {
        // Text of a header is what can be seen of ASCII, and tabs.
        if value.as_bytes().iter().any(|byte| !(*byte == b'\t' || (32..127).contains(byte))) {
            continue;
        }
        for member in apart(value.as_bytes(), b',') {
            let parts = apart(&member, b';');
            if parts[0].is_empty() {
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let mut read = Plain { name: text(&parts[0]).to_lowercase(), parameters: Vec::new(), quality: 1_000 };
            let mut is_there = true;
            for part in &parts[1..] {
                let Some(at) = part.iter().position(|byte| *byte == b'=') else { continue };
                let (key, value) = (text(&part[..at]).trim().to_lowercase(), value_of(text(&part[at + 1..]).trim()));
                if key == "q" {
                    match quality(&value) {
                        Some(quality) => read.quality = quality,
                        None => is_there = false,
                    }
                    break;
                }
                read.parameters.push((key, value));
            }
            if is_there {
                members.push(read);
            }
        }
    }
    Some(members)
}

/// What stands between separators outside of quotes.
fn apart(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
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

fn value_of(text: &str) -> String {
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

/// A number from 0 to 1 in its digits, of which the first three behind the point count.
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

/// How much a format is wanted: the first of the most exact members that fit it tells.
fn wanted(members: &[Plain], kind: &str, name: &str, version: &str) -> Option<(u32, usize, usize)> {
    let says = |member: &Plain, key: &str, value: &str| {
        let mut given = member.parameters.iter().filter(|(other, _)| other == key).peekable();
        given.peek().is_some()
            && given.all(|(_, other)| other == value || (key == "charset" && other.to_lowercase() == value))
    };
    let may = |member: &Plain, key: &str, value: &str| {
        says(member, key, value) || member.parameters.iter().all(|(other, _)| other != key)
    };
    let fits = |member: &&Plain| may(member, "version", version) && may(member, "charset", "utf-8");
    let exact = |level: usize, member: &Plain| match level {
        3 => [name, kind, "*/*", "*"].contains(&&*member.name) && says(member, "version", version),
        2 => member.name == name,
        1 => member.name == kind,
        _ => ["*", "*/*"].contains(&&*member.name),
    };
    for level in [3, 2, 1, 0] {
        for (place, member) in members.iter().enumerate() {
            if fits(&member) && exact(level, member) {
                return (member.quality > 0).then_some((member.quality, level, place));
            }
        }
    }
    None
}

#[test]
fn accept_is_answered_as_a_plain_reading_of_it_says() {
    ACCEPT_TARGET.run(lines(), |lines| {
        let headers = headers(&ACCEPT, &lines);
        let members = plain(&headers, &ACCEPT).unwrap_or_default();
        let text = wanted(&members, "text/*", "text/plain", "0.0.4");
        let open = wanted(&members, "application/*", "application/openmetrics-text", "1.0.0");
        let place = match (open, text) {
            (None, _) => None,
            (Some((_, _, place)), None) => Some(place),
            // The one that is wanted more; then the one named more exactly; then the one named earlier; then the text.
            (Some((q, fit, place)), Some((other_q, other_fit, other_place))) => {
                let first = (q, fit, std::cmp::Reverse(place)) > (other_q, other_fit, std::cmp::Reverse(other_place));
                first.then_some(place)
            }
        };
        let accepted = accepted(&headers);
        let Some(place) = place else {
            prop_assert_eq!((accepted.format, accepted.content_type), (Format::Text, Format::Text.content_type()));
            return Ok(());
        };
        let escaping = members[place].parameters.iter().find(|(key, _)| key == "escaping").map(|(_, value)| &**value);
        let known = escaping.filter(|value| ["allow-utf-8", "underscores", "dots", "values"].contains(value));
        let more = known.map(|value| format!("; escaping={value}")).unwrap_or_default();
        prop_assert_eq!(accepted.format, Format::OpenMetrics);
        prop_assert_eq!(
            accepted.content_type,
            format!("application/openmetrics-text; version=1.0.0; charset=utf-8{more}")
        );
        Ok(())
    });
}

#[test]
fn encoding_is_what_a_plain_reading_of_it_says() {
    ENCODING.run(lines(), |lines| {
        let headers = headers(&ACCEPT_ENCODING, &lines);
        let members = plain(&headers, &ACCEPT_ENCODING);
        let of = |names: &[&str]| {
            members.iter().flatten().find(|member| names.contains(&&*member.name)).map(|member| member.quality)
        };
        let (gzip, identity, any) = (of(&["gzip", "x-gzip"]), of(&["identity"]), of(&["*"]));
        let gzip = gzip.or(any).unwrap_or(0);
        let plain_refused = identity == Some(0) || (identity.is_none() && any == Some(0));
        let expected = if gzip == 0 || (!plain_refused && identity > Some(gzip)) {
            Encoding::Identity
        } else if plain_refused {
            Encoding::GzipRequired
        } else {
            Encoding::Gzip
        };
        prop_assert_eq!(encoding(&headers), expected, "{:?}", members);
        Ok(())
    });
}
