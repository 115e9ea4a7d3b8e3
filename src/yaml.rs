//! Reads YAML. Errors contain keys and lines but no values, because a value may be a secret in the wrong place.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

use crate::suggestion::did_you_mean;

/// Why a text cannot be read as YAML of the expected shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Unreadable {
    /// The line, from 1; `None` if the error is of the text as a whole.
    pub(crate) line: Option<u64>,
    /// The message, with an excerpt of the text if it has no secret.
    message: String,
}

/// Reads one YAML document. `misplaced` lists keys that it does not have although users expect them, each with what to do
/// instead.
pub(crate) fn read<T: DeserializeOwned>(text: &str, misplaced: &[(&str, &str)]) -> Result<T, Unreadable> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 1_000_000,
            max_nodes: 250_000,
            max_depth: 16,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_merge_keys: 1_000,
            max_documents: 2,
            max_total_scalar_bytes: 8 * 1024 * 1024,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        reject_tagged_field_names: true,
        // The snippet of the crate repeats whole lines around the error, which may contain a secret.
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| Unreadable::new(&error, text, misplaced))
}

impl Unreadable {
    fn new(error: &Error, text: &str, misplaced: &[(&str, &str)]) -> Self {
        let location = error.location().filter(|location| location.line() > 0);
        let mut message = message(error, misplaced);
        if let Some(excerpt) = location.and_then(|location| excerpt(text, location.line(), location.column())) {
            message.push_str(&format!("\n{excerpt}"));
        }
        Self { line: location.map(|location| location.line()), message }
    }
}

/// The message for an error. It repeats nothing of the text except names of keys.
fn message(error: &Error, misplaced: &[(&str, &str)]) -> String {
    match error.without_snippet() {
        Error::AliasError { error, .. } => message(error, misplaced),
        Error::SerdeUnknownField { field, expected, .. } => unknown_key(field, expected, misplaced),
        Error::SerdeMissingField { field, .. } => format!("the key `{field}` is missing; add it"),
        Error::DuplicateMappingKey { key, .. } => match key.as_deref().filter(|key| is_key(key)) {
            Some(key) => format!("the key `{key}` is given twice; leave one"),
            None => "a key is given twice; leave one".into(),
        },
        Error::SerdeInvalidType { .. } | Error::SerdeInvalidValue { .. } => {
            "the value has the wrong shape; see what the key takes".into()
        }
        Error::NullIntoString { .. } => {
            "a key has no value, or `null` or `~`, which stand for none; give one (in quotes, if that \
             word is meant) or leave the key out"
                .into()
        }
        Error::Unexpected { expected, .. } => {
            let expected = match *expected {
                "sequence start" => "a list",
                "mapping start" => "keys with values",
                _ => "a text or a number alone",
            };
            format!("the value has the wrong shape; write {expected}")
        }
        Error::MultipleDocuments { .. } => "there is a second document after `---`; only one is read".into(),
        Error::Eof { .. } => "the text ends too early; something is not closed, or the file is empty".into(),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "the file is larger or nested deeper than a configuration can be; check its aliases and its size".into()
        }
        // The scanner's messages are fixed texts.
        error @ Error::ExternalMessage { .. } => {
            format!("this is not YAML: {}; check quotes, colons and indentation", plain(error))
        }
        Error::UnsupportedTag { .. } | Error::TaggedStructFieldName { .. } => {
            "a tag (`!…`) means nothing here; leave it out, or quote the text".into()
        }
        Error::UnknownAnchor { .. } => "an alias (`*…`) names no anchor; quote it if it is a text".into(),
        _ => "this cannot be read; check the value's form and its quotes".into(),
    }
}

fn plain(error: &Error) -> String {
    use serde_saphyr::MessageFormatter as _;
    serde_saphyr::DefaultMessageFormatter.format_message(error).into_owned()
}

fn unknown_key(key: &str, expected: &[&'static str], misplaced: &[(&str, &str)]) -> String {
    if let Some((key, instead)) = misplaced.iter().find(|(misplaced, _)| *misplaced == key) {
        return format!("unknown key `{key}`; {instead}");
    }
    let shown = if is_key(key) { format!("unknown key `{key}`") } else { "unknown key".into() };
    match did_you_mean(key, expected.iter().copied()) {
        None => format!("{shown}; the keys here are {}", expected.join(", ")),
        Some(suggestion) => format!("{shown}; {suggestion}"),
    }
}

/// Whether a text looks like the name of a key rather than a value in the wrong place.
fn is_key(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// The lines of a text as YAML counts them: a carriage return alone ends one too.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The line of an error up to its key, with a caret below the column. `None` if the line does not begin with a key, because
/// any other text may be a secret.
fn excerpt(text: &str, line: u64, column: u64) -> Option<String> {
    let whole = lines(text).nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    let (key, value) = whole.trim_start_matches([' ', '-']).split_once(':')?;
    if !is_key(key) || !(value.is_empty() || value.starts_with(' ')) {
        return None;
    }
    let mut shown = whole[..whole.len() - value.len()].to_owned();
    if !value.trim().is_empty() {
        shown.push_str(" …");
    }
    let caret = usize::try_from(column).ok()?.saturating_sub(1).min(shown.chars().count().saturating_sub(1));
    let width = line.to_string().len();
    Some(format!("  {line} | {shown}\n  {:width$} | {:caret$}^", "", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A carriage return alone ends a line of YAML, so an editor of another system leaves twice as many.
    #[test]
    fn the_line_shown_is_the_one_at_fault_however_lines_end() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Known {
            #[expect(dead_code, reason = "it is only read")]
            first: String,
        }
        for end in ["\n", "\r\n", "\r", "\r\r\n"] {
            let text = format!("first: a{end}secnd: b{end}third: c{end}");
            let shown = read::<Known>(&text, &[]).unwrap_err().to_string();
            assert!(shown.contains(" | secnd: …"), "{end:?}: {shown}");
        }
    }
}
