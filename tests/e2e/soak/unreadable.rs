//! The sources that certainly cannot be read at present.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Sources that certainly cannot be read, each with the number of the fault.
#[derive(Default)]
pub(super) struct UnreadableSources(Mutex<State>);

#[derive(Default)]
struct State {
    unread: BTreeMap<String, u64>,
    next: u64,
}

impl UnreadableSources {
    /// Marks sources as unreadable until the guard is dropped. A reading must have failed before: an earlier reading
    /// may have begun before the fault.
    pub(super) fn mark(&self, sources: &[&'static str]) -> UnreadableGuard<'_> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for source in sources {
            state.next += 1;
            let number = state.next;
            state.unread.insert((*source).to_owned(), number);
        }
        UnreadableGuard { unreadable: self, sources: sources.to_vec() }
    }

    /// The sources that certainly cannot be read now.
    pub(super) fn now(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unread.clone()
    }

    /// The sources that were unreadable all the time since `before`.
    pub(super) fn ever_since(&self, before: &BTreeMap<String, u64>) -> Vec<String> {
        let now = self.now();
        let all_along = before.iter().filter(|(source, number)| now.get(*source) == Some(*number));
        all_along.map(|(source, _)| source.clone()).collect()
    }
}

/// Marks the sources as readable when it is dropped.
pub(super) struct UnreadableGuard<'a> {
    unreadable: &'a UnreadableSources,
    sources: Vec<&'static str>,
}

impl Drop for UnreadableGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.unreadable.0.lock().unwrap_or_else(PoisonError::into_inner);
        for source in &self.sources {
            state.unread.remove(*source);
        }
    }
}
