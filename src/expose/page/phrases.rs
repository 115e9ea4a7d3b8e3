//! Labels, ages and counts in words.

use crate::lease::{Age, AgeSource, Anomaly, EventAge, LeaseKind, Readable, Reason, RecordFault, State};

pub(super) const fn state(state: State) -> &'static str {
    match state {
        State::NoLeader => "no leader",
        State::Active | State::Idle | State::Stalled | State::Unknown => state.as_str(),
    }
}

/// The cause for which rows were rejected.
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

pub(super) const fn anomaly(anomaly: Anomaly) -> &'static str {
    match anomaly {
        Anomaly::EpochRegressed => "epoch went backwards",
        Anomaly::HolderChangedWithoutEpoch => "holder changed without a new epoch",
        Anomaly::ProgressFromStaleEpoch => "progress from an epoch that had ended",
        Anomaly::ClockSkew => "clocks disagreed",
        Anomaly::NoTtl => "no time to live",
    }
}

/// An age, as its lower bound if its bounds are close together; `None` if nothing is known of it.
pub(super) fn age(EventAge { age, .. }: &EventAge) -> Option<String> {
    let lower = Readable(age.lower()).to_string();
    match age.upper() {
        _ if *age == Age::UNBOUNDED => None,
        None => Some(format!("\u{2265}\u{2009}{lower}")),
        Some(upper) if upper.saturating_sub(age.lower()) <= age.lower() / 50 => Some(lower),
        Some(upper) => match Readable(upper).to_string() {
            upper if upper == lower => Some(lower),
            upper => Some(format!("{lower}\u{2013}{upper}")),
        },
    }
}

/// Both bounds of an age.
pub(super) fn bounds(age: Age) -> String {
    let lower = Readable(age.lower());
    match age.upper() {
        _ if age == Age::UNBOUNDED => "not known".to_owned(),
        None => format!("at least {lower}"),
        Some(upper) if Readable(upper).to_string() == lower.to_string() => lower.to_string(),
        Some(upper) => format!("at least {lower}, at most {}", Readable(upper)),
    }
}

/// A count of things, for example `1 source` or `30 sources`.
pub(super) fn counted(number: usize, singular: &str) -> String {
    match number {
        1 => format!("1 {singular}"),
        _ => format!("{number} {singular}s"),
    }
}

/// The first names, and the number of further names.
pub(super) fn some_of(names: &[String], at_most: usize) -> String {
    match names.len().saturating_sub(at_most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..at_most].join(", ")),
    }
}

pub(super) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        _ => format!("{number} times"),
    }
}

pub(super) const fn age_source(source: AgeSource) -> &'static str {
    match source {
        AgeSource::StoredTime => "a time in the store",
        AgeSource::FirstReading => "observation since the first reading",
        AgeSource::ChangeBetweenReadings => "observation: it changed between two readings",
        AgeSource::FutureTime => "observation, because the stored time is in the future",
        AgeSource::ContradictedTime => "observation, because it contradicts the stored time",
    }
}

/// The rule from which the state follows.
pub(super) fn rule(reason: Reason, kind: LeaseKind) -> String {
    match reason {
        Reason::Absent | Reason::Released | Reason::Expired if matches!(kind, LeaseKind::Claim) => {
            "Nobody holds the claim, and its work has been due for longer than stall_after.".to_owned()
        }
        _ => reason.description().replace('`', ""),
    }
}
