//! Counts and longest durations of operations.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts by kind.
#[derive(Default)]
pub(super) struct Counters(Mutex<BTreeMap<String, Done>>);

#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) times: u64,
    pub(super) longest: Duration,
}

impl Counters {
    pub(super) fn count(&self, kind: &str, took: Duration) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kinds.contains_key(kind) {
            kinds.insert(kind.to_owned(), Done::default());
        }
        let done = kinds.get_mut(kind).unwrap();
        done.times += 1;
        done.longest = done.longest.max(took);
    }

    pub(super) fn kinds(&self) -> BTreeMap<String, Done> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn all(&self) -> u64 {
        self.kinds().values().map(|done| done.times).sum()
    }
}

impl std::fmt::Display for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (kind, Done { times, longest }) in self.kinds() {
            writeln!(f, "  {times:>8}  {kind} (longest {:.2} s)", longest.as_secs_f64())?;
        }
        Ok(())
    }
}
