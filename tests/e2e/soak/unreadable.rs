//! Which sources surely cannot be read now.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The sources that surely cannot be read, each with a number of its own for each time that this was so.
#[derive(Default)]
pub(super) struct UnreadableSources(Mutex<State>);

#[derive(Default)]
struct State {
    unread: BTreeMap<String, u64>,
    next: u64,
}

impl UnreadableSources {
    /// While the guard lasts, these sources surely cannot be read. To be made once a reading of them has failed: a reading
    /// before that one may have begun before the fault.
    pub(super) fn that_unread(&self, sources: &[&'static str]) -> Unread<'_> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for source in sources {
            state.next += 1;
            let number = state.next;
            state.unread.insert((*source).to_owned(), number);
        }
        Unread { certainty: self, sources: sources.to_vec() }
    }

    /// Those that surely cannot be read now.
    pub(super) fn now(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unread.clone()
    }

    /// Those that could not be read at any time since `before` was true.
    pub(super) fn ever_since(&self, before: &BTreeMap<String, u64>) -> Vec<String> {
        let now = self.now();
        let all_along = before.iter().filter(|(source, number)| now.get(*source) == Some(*number));
        all_along.map(|(source, _)| source.clone()).collect()
    }
}

/// Ends what is certain.
pub(super) struct Unread<'a> {
    certainty: &'a UnreadableSources,
    sources: Vec<&'static str>,
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        let mut state = self.certainty.0.lock().unwrap_or_else(PoisonError::into_inner);
        for source in &self.sources {
            state.unread.remove(*source);
        }
    }
}
