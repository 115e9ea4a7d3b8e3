//! Labels and ages as a person reads them.

use std::time::Duration;

use crate::lease::{Age, AgeSource, Anomaly, EventAge, Kind, ReadFailure, Readable, Reason, RecordFault, State};

/// What is said of an age of which nothing is known.
pub(super) const NOT_KNOWN: &str = "not known";

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
pub(super) const fn fault(fault: RecordFault) -> &'static str {
    match fault {
        RecordFault::WrongType => "with a value of the wrong type",
        RecordFault::OutOfRange => "with a value out of range",
        RecordFault::Unreadable => "with an unreadable value",
        RecordFault::NoName => "without a lease name",
        RecordFault::NameTooLong => "with a name longer than 1 KiB",
        RecordFault::Duplicate => "beside others of the same lease",
        RecordFault::OverLimit => "beyond max_leases, or beyond the 1000 of one lease",
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
pub(super) fn age(dated: &EventAge) -> String {
    match (dated.age.lower(), dated.age.upper()) {
        _ if dated.age == Age::UNBOUNDED => NOT_KNOWN.to_owned(),
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

/// Some things with their number: `1 source`, `30 sources`.
pub(super) fn counted(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// The first few of many names, and how many more there are.
pub(super) fn some_of(names: &[String], at_most: usize) -> String {
    match names.len().saturating_sub(at_most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..at_most].join(", ")),
    }
}

/// How often something was.
pub(super) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        _ => format!("{number} times"),
    }
}

/// Both bounds of an age in full.
pub(super) fn bounds(age: Age) -> String {
    let lower = Readable(age.lower());
    match age.upper() {
        _ if age == Age::UNBOUNDED => NOT_KNOWN.to_owned(),
        None => format!("at least {lower}"),
        Some(upper) if Readable(upper).to_string() == lower.to_string() => lower.to_string(),
        Some(upper) => format!("at least {lower}, at most {}", Readable(upper)),
    }
}

/// Where an age comes from.
pub(super) const fn age_source(source: AgeSource) -> &'static str {
    match source {
        AgeSource::StoredTime => "a time in the store",
        AgeSource::FirstReading => "watching since the first look",
        AgeSource::ChangeBetweenReadings => "watching: it changed between two looks",
        AgeSource::FutureTime => "watching; the store\u{2019}s time lies in the future",
        AgeSource::ContradictedTime => "watching; the store\u{2019}s time contradicts it",
    }
}

/// The rule by which a state follows.
pub(super) const fn rule(reason: Reason, kind: Kind) -> &'static str {
    match reason {
        Reason::Absent | Reason::Released | Reason::Expired if matches!(kind, Kind::Claim) => {
            "Nobody holds it, which is normal for a claim until its work has surely been due for longer than stall_after. \
             It has."
        }
        Reason::Absent => "No holder is recorded, so nobody has the right to act.",
        Reason::Released => "The record names no holder, so nobody has the right to act.",
        Reason::Expired => "The holder\u{2019}s time is surely up, so nobody has the right to act.",
        Reason::Progressing => "It is held, and work moved under its epoch surely within stall_after.",
        Reason::NothingDue => {
            "Nothing has moved within stall_after, and nothing has been due for longer: that is idle, not stalled."
        }
        Reason::NoProgress => {
            "It is held; the last progress is surely older than stall_after, and work has surely been due for longer."
        }
        Reason::NeverProgressed => {
            "It was acquired surely longer ago than stall_after, work has surely been due for longer, and none has moved \
             under its epoch."
        }
        Reason::WorkStuck => {
            "The oldest due work has surely waited for longer than overdue_after, whatever else moves."
        }
        Reason::AwaitingFirstProgress => {
            "It was acquired within stall_after, and nothing has moved under its epoch yet: too early to tell."
        }
        Reason::DueUnknown => {
            "Nothing has moved within stall_after, and whether work has been due for as long is not known."
        }
        Reason::ProgressNotReported => "The source says nothing of progress, so that work moves cannot be proven.",
        Reason::NotObservedYet => "Only watching can tell, and it has not been watched for long enough.",
        Reason::ObservationGap => {
            "Work moved between two looks, and what that leaves open reaches from within the limit to beyond it."
        }
        Reason::StoreUnreachable | Reason::StoreTimeout | Reason::StoreRefused | Reason::SchemaMismatch => {
            "The store could not be read, so nothing is known now."
        }
        Reason::InvalidRecord => "The record breaks the contract, so nothing is believed of it.",
        Reason::ClockSkew => {
            "Times contradict each other by more than clock_skew allows, or are too close to a limit, or to each other, to tell."
        }
        Reason::ProgressWithoutAuthority => {
            "Work moved surely after the lease had ended: somebody acts without the right."
        }
        Reason::EpochRegressed => "The epoch went backwards, so fencing cannot be relied on.",
    }
}
