//! When a source was looked at, and when that told nothing.

use std::collections::VecDeque;
use std::time::Duration;

use super::usual::Usual;
use crate::lease::ReadFailure;

/// How many interruptions of a source are kept.
pub const INTERRUPTIONS: usize = 64;

/// A time, in tenths of a second, so that a change of a lease takes up little. Enough for 13 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tick(u32);

impl Tick {
    pub(super) fn of(time: Duration) -> Self {
        Self(u32::try_from(time.as_millis() / 100).unwrap_or(u32::MAX))
    }

    pub(super) fn time(self) -> Duration {
        Duration::from_millis(u64::from(self.0) * 100)
    }

    fn since(self, earlier: Self) -> Duration {
        Self(self.0.saturating_sub(earlier.0)).time()
    }
}

/// Why nothing is known of some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// Nobody looked.
    NotLooked,
    /// The store could not be read.
    NotReadable(ReadFailure),
}

/// A time of which nothing is known: from the last look before it to the next one after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupted {
    pub(super) from: Tick,
    /// The first look that showed it.
    pub(super) shown: Tick,
    pub(super) to: Tick,
    /// Whether the look at its end could read the store.
    pub(super) read_after: bool,
    pub(super) why: Interruption,
}

/// The looks at a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    last: Option<(Tick, Result<(), ReadFailure>)>,
    last_read: Option<Tick>,
    usual: Usual,
    interruptions: VecDeque<Interrupted>,
    /// The end of the last interruption that is not kept: nothing before it can be told.
    cut: Option<Tick>,
}

impl Looks {
    /// The last look.
    pub(super) fn last(&self) -> Option<Tick> {
        self.last.map(|(at, _)| at)
    }

    /// The last look that could read the store.
    pub(super) const fn last_read(&self) -> Option<Tick> {
        self.last_read
    }

    /// From when on all interruptions are kept.
    pub(super) fn kept_from(&self) -> Tick {
        self.cut.unwrap_or_default()
    }

    pub(super) const fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// The oldest first. None overlaps another.
    pub(super) fn interruptions(&self) -> impl Iterator<Item = &Interrupted> {
        self.interruptions.iter()
    }

    pub(super) fn take_in(&mut self, outcome: Result<(), ReadFailure>, at: Tick) {
        let before = self.last.replace((at, outcome));
        let mut from = at;
        if let Some((last, outcome_before)) = before {
            if self.usual.is_gap(at.since(last)) {
                let (read_after, why) = (outcome.is_ok(), Interruption::NotLooked);
                self.interrupted(Interrupted { from: last, shown: at, to: at, read_after, why });
            } else {
                match (outcome_before, outcome) {
                    (Ok(()), _) => from = last,
                    (Err(before), after) => {
                        // Until a look could read it again, it could not.
                        if let Some(interrupted) = self.interruptions.back_mut() {
                            interrupted.to = at;
                            interrupted.read_after = after.is_ok();
                        }
                        if Err(before) == after {
                            return;
                        }
                    }
                }
            }
        }
        match outcome {
            Ok(()) => self.last_read = Some(at),
            Err(failure) => {
                let why = Interruption::NotReadable(failure);
                self.interrupted(Interrupted { from, shown: at, to: at, read_after: false, why });
            }
        }
    }

    fn interrupted(&mut self, interrupted: Interrupted) {
        if self.interruptions.len() == INTERRUPTIONS {
            self.cut = self.interruptions.pop_front().map(|forgotten| forgotten.to);
        }
        self.interruptions.push_back(interrupted);
    }
}
