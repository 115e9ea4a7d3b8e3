//! Lists of what a client accepts, with how much it wants each: the common form of `Accept` and `Accept-Encoding`.
//!
//! Nothing here fails: what cannot be made sense of is as if it were not there.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// How much something is wanted, in thousandths. 0 is a refusal.
pub(super) type Quality = u16;

/// Wanted as much as can be.
pub(super) const MOST: Quality = 1_000;

/// One member of a list: a name with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// In lower case.
    pub(super) name: String,
    /// Names in lower case, values without quotes; but for `q`.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) quality: Quality,
}

/// All members of a list, in whatever number of header lines it comes. Nothing, where there is no such header.
pub(super) fn members(headers: &HeaderMap, header: &HeaderName) -> Option<Vec<Member>> {
    let mut lines = headers.get_all(header).iter().peekable();
    lines.peek()?;
    // A line that is not text tells nothing that could be served.
    let texts = lines.filter_map(|line| line.to_str().ok());
    Some(texts.flat_map(|text| split(text, ',').filter_map(member)).collect())
}

fn member(text: &str) -> Option<Member> {
    let mut parts = split(text, ';');
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let (mut parameters, mut quality) = (Vec::new(), MOST);
    for part in parts {
        let Some((name, value)) = part.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), unquoted(value.trim()));
        if name == "q" {
            quality = thousandths(&value)?;
            // What follows the quality says how to accept, not what.
            break;
        }
        parameters.push((name, value));
    }
    Some(Member { name, parameters, quality })
}

/// `1`, `0`, `0.25`, and what some clients send for it: `.25`, more digits than three.
fn thousandths(text: &str) -> Option<Quality> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole: u16 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |digit| u16::from(digit - b'0'));
    let quality = whole.checked_mul(MOST)?.checked_add(100 * digit(0) + 10 * digit(1) + digit(2))?;
    (quality <= MOST).then_some(quality)
}

/// The parts between separators that do not stand in quotes, without the spaces around them.
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

/// The value of a quoted string, or the text as it is.
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
