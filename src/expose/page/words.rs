//! Labels and ages as a person reads them.

use std::time::Duration;

use crate::lease::{Age, Anomaly, Dated, ReadFailure, Readable, RowFault, State};

/// The state as a word.
pub(super) const fn state(state: State) -> &'static str {
    match state {
        State::NoLeader => "no leader",
        State::Active | State::Idle | State::Stalled | State::Unknown => state.as_str(),
    }
}

/// What a failed read means.
pub(super) const fn failure(failure: ReadFailure) -> &'static str {
    match failure {
        ReadFailure::Unreachable => "the store could not be reached",
        ReadFailure::Timeout => "the store did not answer in time",
        ReadFailure::Refused => "the store answered with an error",
        ReadFailure::SchemaMismatch => "the store lacks the tables or columns asked for",
        ReadFailure::InvalidRecord => "the store's answer breaks the contract",
    }
}

/// Why rows were not used.
pub(super) const fn fault(fault: RowFault) -> &'static str {
    match fault {
        RowFault::WrongType => "with a value of the wrong type",
        RowFault::OutOfRange => "with a value out of range",
        RowFault::Unreadable => "with an unreadable value",
        RowFault::NoName => "without a lease name",
        RowFault::NameTooLong => "with a name longer than 1 KiB",
        RowFault::Duplicate => "more than one for a lease",
        RowFault::OverLimit => "of leases beyond max_leases",
    }
}

/// What was noticed.
pub(super) const fn anomaly(anomaly: Anomaly) -> &'static str {
    match anomaly {
        Anomaly::EpochRegressed => "epoch went backwards",
        Anomaly::HolderChangedWithoutEpoch => "holder changed without a new epoch",
        Anomaly::ProgressFromStaleEpoch => "progress from an epoch that had ended",
        Anomaly::ClockSkew => "clocks disagreed",
        Anomaly::NoTtl => "no time to live",
    }
}

/// An age, with its bounds where they are apart.
pub(super) fn age(dated: &Dated) -> String {
    match (dated.age.lower(), dated.age.upper()) {
        _ if dated.age == Age::UNBOUNDED => "not known".to_owned(),
        (lower, None) => format!("\u{2265}\u{2009}{}", Readable(lower)),
        (lower, Some(upper)) => span(lower, upper),
    }
}

/// Bounds that lie close together are as good as one number; the lower one then, as everywhere.
fn span(lower: Duration, upper: Duration) -> String {
    let (from, to) = (Readable(lower).to_string(), Readable(upper).to_string());
    let close = upper.saturating_sub(lower) <= lower / 50;
    if close || from == to { from } else { format!("{from}\u{2013}{to}") }
}
