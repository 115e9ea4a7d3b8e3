//! The keys of a source in a store of keys and values.

use serde_saphyr::Spanned;

use super::problem::{Diagnostics, Problem};
use super::raw::Text;
use crate::diagnostic::QuotedValue;
use crate::store::keys::{KeyLayout, Written, WrittenKeys};

impl Written for Text {
    fn text(&self) -> &str {
        &self.value
    }
}

/// The layout that is written; takes note of all that is wrong with it, if anything is.
pub(super) fn layout(keys: &Spanned<WrittenKeys<Text>>, faults: &mut Diagnostics) -> Option<KeyLayout> {
    keys.value
        .layout()
        .map_err(|found| {
            for (text, fault) in found {
                let line = text.map_or(keys.referenced.line(), |text| text.referenced.line());
                let value = text.map(|text| QuotedValue::new(&text.value));
                faults.note(line, Problem::Keys { value, fault });
            }
        })
        .ok()
}
