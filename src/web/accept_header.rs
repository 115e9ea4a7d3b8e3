//! Parser of lists with quality values: the common syntax of `Accept` and `Accept-Encoding`.
//!
//! Parsing never fails. Members that cannot be parsed are left out.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// A quality value in thousandths. 0 means not acceptable.
pub(super) type Quality = u16;

const MAX_QUALITY: Quality = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// In lower case.
    pub(super) name: String,
    /// The parameters before `q`: names in lower case, values without quotes.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) quality: Quality,
}

/// The members of a list, which may span several header lines. `None` if there is no such header.
pub(super) fn members(headers: &HeaderMap, header: &HeaderName) -> Option<Vec<Member>> {
    let mut lines = headers.get_all(header).iter().peekable();
    lines.peek()?;
    let texts = lines.filter_map(|line| line.to_str().ok());
    Some(texts.flat_map(|text| split(text, ',').filter_map(parse_member)).collect())
}

fn parse_member(text: &str) -> Option<Member> {
    let mut parts = split(text, ';');
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let (mut parameters, mut quality) = (Vec::new(), MAX_QUALITY);
    for part in parts {
        let Some((name, value)) = part.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), unquoted(value.trim()));
        if name == "q" {
            quality = parse_quality(&value)?;
            // Parameters after `q` are extensions, which do not belong to the media type.
            break;
        }
        parameters.push((name, value));
    }
    Some(Member { name, parameters, quality })
}

/// Parses `1`, `0` or `0.25`, and what some clients send instead: `.25`, or more than three digits.
fn parse_quality(text: &str) -> Option<Quality> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole: u16 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |digit| u16::from(digit - b'0'));
    let quality = whole.checked_mul(MAX_QUALITY)?.checked_add(100 * digit(0) + 10 * digit(1) + digit(2))?;
    (quality <= MAX_QUALITY).then_some(quality)
}

/// The parts between separators outside quotes, trimmed.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |letter: char| {
        let was_escaped = std::mem::take(&mut escaped);
        match letter {
            _ if was_escaped => false,
            '\\' if quoted => {
                escaped = true;
                false
            }
            '"' => {
                quoted = !quoted;
                false
            }
            _ => !quoted && letter == separator,
        }
    })
    .map(str::trim)
}

/// The content of a quoted string; other text is returned unchanged.
fn unquoted(text: &str) -> String {
    let Some(within) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let mut value = String::with_capacity(within.len());
    let mut letters = within.chars();
    while let Some(letter) = letters.next() {
        value.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    value
}

#[cfg(test)]
mod tests;
