//! The collected output of the exporter, and a search for planted secrets in it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The beginning of every planted secret.
pub(super) const PLANTED: &str = "PLANTED";
/// A search text, which the page shows only to the client that sent it.
pub(super) const ASKED: &str = "QUOTED";

/// Texts that the exporter has shown, with their origin.
#[derive(Default)]
pub(super) struct CollectedOutput {
    pieces: Vec<(String, String)>,
    /// Further secrets without the mark, such as hashes and keys.
    more: Vec<String>,
}

impl CollectedOutput {
    /// Adds a text.
    pub(super) fn note(&mut self, what: impl Into<String>, text: impl Into<String>) {
        self.pieces.push((what.into(), text.into()));
    }

    /// Adds a further secret.
    pub(super) fn forbid(&mut self, text: impl Into<String>) {
        self.more.push(text.into());
    }

    /// Panics if a text contains a planted secret, plain or encoded.
    pub(super) fn holds_nothing_planted(&self) {
        assert!(!self.pieces.is_empty());
        let mut forms = forms(PLANTED);
        forms.extend(self.more.iter().map(|text| text.to_lowercase()));
        for (what, text) in &self.pieces {
            if let Some(found) = found(text, &forms) {
                panic!("{what} says what was planted: {found}");
            }
        }
    }

    /// Panics if a text other than the response contains the search text of a client.
    pub(super) fn quotes_nobody(&self, but: impl Fn(&str) -> bool) {
        let forms = forms(ASKED);
        for (what, text) in self.pieces.iter().filter(|(what, _)| !but(what)) {
            if let Some(found) = found(text, &forms) {
                panic!("{what} says what a client asked for: {found}");
            }
        }
    }
}

/// The part of the text around the first secret.
fn found(text: &str, forms: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    let at = forms.iter().find_map(|form| lower.find(form.as_str()))?;
    let before: String = lower[..at].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
    Some(format!("{before}▶{}", lower[at..].chars().take(100).collect::<String>()))
}

/// The encodings of a word, in lower case.
fn forms(word: &str) -> Vec<String> {
    let each = |write: &dyn Fn(&mut String, u8)| {
        let mut form = String::new();
        word.bytes().for_each(|byte| write(&mut form, byte));
        form.to_lowercase()
    };
    let mut forms = vec![
        word.to_lowercase(),
        word.to_lowercase().chars().rev().collect(),
        each(&|form, byte| write!(form, "{byte:02x}").unwrap()),
        each(&|form, byte| write!(form, "%{byte:02x}").unwrap()),
        each(&|form, byte| write!(form, "\\u{byte:04x}").unwrap()),
        each(&|form, byte| write!(form, "\\x{byte:02x}").unwrap()),
        each(&|form, byte| write!(form, "&#{byte};").unwrap()),
        each(&|form, byte| write!(form, "&#x{byte:02x};").unwrap()),
        each(&|form, byte| write!(form, "{byte}, ").unwrap()),
    ];
    for shift in 0..3_usize {
        // In base64, the neighbours of the word change the letters at its ends.
        let encoded = STANDARD.encode([&b"\0\0"[..shift], word.as_bytes()].concat());
        let (first, last) = ((shift * 8).div_ceil(6), (shift + word.len()) * 8 / 6);
        forms.push(encoded[first..last].to_lowercase());
    }
    forms
}

#[test]
fn planted_secrets_are_found_in_every_encoding() {
    let mut said = CollectedOutput::default();
    said.note("a", "x planted y");
    said.forbid("Hash");
    let finds = |text: &str| {
        let mut said = CollectedOutput::default();
        said.forbid("Hash");
        said.note("it", text);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| said.holds_nothing_planted())).is_err()
    };
    for text in [
        "xPLANTEDy",
        "xplantedy",
        "%50%4c%41%4E%54%45%44",
        "504c414e544544",
        "\\u0050\\u004C\\u0041\\u004e\\u0054\\u0045\\u0044",
        "&#80;&#76;&#65;&#78;&#84;&#69;&#68;",
        "[80, 76, 65, 78, 84, 69, 68, 1]",
        "a hash",
    ] {
        assert!(finds(text), "{text}");
    }
    for before in ["", "u", "u:", "user:", "users:"] {
        assert!(finds(&STANDARD.encode(format!("{before}PLANTED-password"))), "{before}");
    }
    assert!(!finds("plante, UExB, nothing"));
}
