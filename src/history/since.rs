//! Since when a lease has been as it is.

use std::time::Duration;

use super::looks::Interruption;
use super::stretch::{Seen, Stretch};
use crate::lease::State;

/// Since when a lease has been seen as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// What was seen.
    pub seen: Seen,
    /// The first look that showed it, with none since that showed anything else.
    pub at: Duration,
    /// What is known of the time before.
    pub before: Before,
}

/// What is known of the time before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing: that was the first look.
    NeverLooked,
    /// Nothing that is still kept.
    Forgotten,
    /// Another state, which was last seen then.
    Other {
        /// The other.
        state: State,
        /// When.
        last: Duration,
    },
    /// From then on nothing, and this state before, if any.
    Interrupted {
        /// Why; `None` if for several reasons, one after the other.
        why: Option<Interruption>,
        /// The last look before the interruption.
        from: Duration,
        /// What that look showed.
        before: Option<State>,
    },
}

impl Since {
    /// Whether it may have been so for longer than was seen.
    #[must_use]
    pub const fn is_at_least(&self) -> bool {
        !matches!(self.before, Before::Other { .. })
    }
}

pub(super) fn of(stretches: &[Stretch], cut: bool) -> Option<Since> {
    let (last, earlier) = stretches.split_last()?;
    let known = earlier.iter().enumerate().rev().find_map(|(at, stretch)| match stretch.seen {
        Seen::State(state, _) => Some((at, state, stretch.to)),
        Seen::Nothing(_) => None,
    });
    let unknown = &earlier[known.map_or(0, |(at, ..)| at + 1)..];
    let before = match (unknown, known) {
        ([first, others @ ..], known) => Before::Interrupted {
            why: match first.seen {
                Seen::Nothing(why) if others.iter().all(|other| other.seen == first.seen) => Some(why),
                _ => None,
            },
            from: first.from,
            before: known.map(|(_, state, _)| state),
        },
        ([], Some((_, state, last))) => Before::Other { state, last },
        ([], None) if cut => Before::Forgotten,
        ([], None) => Before::NeverLooked,
    };
    Some(Since { seen: last.seen, at: last.shown, before })
}
