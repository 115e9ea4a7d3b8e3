//! Yes and no.

use super::problem::{Faults, Problem};
use super::raw::{Text, given};
use crate::diagnostic::QuotedValue;

/// The words of YAML 1.1, which is what other exporters read.
const YES: [&str; 4] = ["true", "yes", "on", "y"];
const NO: [&str; 4] = ["false", "no", "off", "n"];

/// Nothing where nothing is given, or something else, which is taken note of.
pub(super) fn checked(key: &'static str, text: Option<Text>, faults: &mut Faults) -> Option<bool> {
    let text = given(text)?;
    let word = text.value.trim();
    let is = |words: [&str; 4]| words.into_iter().any(|known| in_a_case(word, known));
    match (is(YES), is(NO)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => {
            let problem = Problem::Choice { key, value: QuotedValue::new(word), known: "true or false" };
            faults.note(text.referenced.line(), problem);
            None
        }
    }
}

/// In small letters, in capitals, or with one: `true`, `TRUE` or `True`, and not `tRUE`.
fn in_a_case(word: &str, known: &str) -> bool {
    let rest = word.get(1..).unwrap_or_default();
    word.eq_ignore_ascii_case(known)
        && (word == known || word == known.to_ascii_uppercase() || rest == known.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_other_exporters_take_them_and_no_others() {
        let read = |word: &str| {
            let mut faults = Faults::default();
            let text: Text = crate::yaml::read(word, &[]).unwrap();
            let flag = checked("http2", Some(text), &mut faults);
            assert_eq!(flag.is_none(), !faults.is_empty(), "{word}");
            flag
        };
        for word in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"] {
            assert_eq!(read(word), Some(true), "{word}");
        }
        for word in ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"] {
            assert_eq!(read(word), Some(false), "{word}");
        }
        for word in ["maybe", "tRUE", "yES", "1", "0", "yes please", "ye"] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
