//! The judge: a pure function from evidence and policy to a verdict.

use super::age::{Age, Truth};
use super::evidence::{
    AgeSource, AuthorityEvidence, Due, EventAge, Evidence, Holder, Observation, ObservationFailure, Progress,
    ProgressEpoch, RemainingTtl, VacancyCause,
};
use super::label::{Authority, ProgressState, Reason, State};
use super::policy::{LeaseKind, Policy, Work};

/// Authority, progress, state and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the lease has a holder.
    pub authority: Authority,
    /// Whether the work progresses.
    pub progress: ProgressState,
    /// The state that follows from authority and progress.
    pub state: State,
    /// The reason for the state.
    pub reason: Reason,
}

/// Judges one lease.
#[must_use]
pub fn judge(observation: &Observation, kind: LeaseKind, policy: &Policy) -> Verdict {
    let evidence = match observation {
        Ok(evidence) => evidence,
        Err(failure) => return Verdict::unobserved(*failure),
    };
    match authority(&evidence.authority) {
        (Authority::Held, _) => {
            let (progress, reason) = progress(evidence, policy);
            Verdict { authority: Authority::Held, progress, state: state_of_held(progress), reason }
        }
        (Authority::Unknown, reason) => Verdict::unknown(Authority::Unknown, reason),
        (authority @ (Authority::Vacant | Authority::Expired), reason) => {
            if has_progress_after_end(evidence, policy) {
                return Verdict::unknown(authority, Reason::ProgressWithoutAuthority);
            }
            match kind {
                LeaseKind::Standing | LeaseKind::Registry => Verdict::no_leader(authority, reason),
                LeaseKind::Claim => vacant_claim(evidence, policy, authority, reason),
            }
        }
    }
}

impl Verdict {
    /// The verdict on a lease without evidence.
    #[must_use]
    pub const fn unobserved(failure: ObservationFailure) -> Self {
        let reason = match failure {
            ObservationFailure::Source(failure) => failure.reason(),
            ObservationFailure::InvalidRecord(_) | ObservationFailure::DuplicateRecord => Reason::InvalidRecord,
            ObservationFailure::LeaseOverLimit | ObservationFailure::MembersOverLimit => Reason::NotObservedYet,
        };
        Self::unknown(Authority::Unknown, reason)
    }

    const fn unknown(authority: Authority, reason: Reason) -> Self {
        Self { authority, progress: ProgressState::Unknown, state: State::Unknown, reason }
    }

    const fn no_leader(authority: Authority, reason: Reason) -> Self {
        Self { authority, progress: ProgressState::Unknown, state: State::NoLeader, reason }
    }
}

const fn state_of_held(progress: ProgressState) -> State {
    match progress {
        ProgressState::Advancing => State::Active,
        ProgressState::Idle => State::Idle,
        ProgressState::Stalled => State::Stalled,
        ProgressState::Unknown => State::Unknown,
    }
}

/// Whether the lease has a holder, and if not, the reason. The reason is not used while the lease is held.
fn authority(authority: &AuthorityEvidence) -> (Authority, Reason) {
    let holder = match authority {
        AuthorityEvidence::Vacant { cause: VacancyCause::Absent, .. } => return (Authority::Vacant, Reason::Absent),
        AuthorityEvidence::Vacant { cause: VacancyCause::Released, .. } => {
            return (Authority::Vacant, Reason::Released);
        }
        AuthorityEvidence::Holder(holder) => holder,
    };
    if holder.epoch_regressed {
        return (Authority::Unknown, Reason::EpochRegressed);
    }
    // A contradicted time of acquisition shows that a clock was stepped since then. A contradicted time of renewal shows
    // that it is wrong now.
    if holder.renewed.source.is_clock_error() || holder.acquired.source == AgeSource::FutureTime {
        return (Authority::Unknown, Reason::ClockSkew);
    }
    match holder.remaining_ttl {
        RemainingTtl::WhileRecordExists => (Authority::Held, Reason::Progressing),
        RemainingTtl::NotRecorded => (Authority::Unknown, Reason::InvalidRecord),
        RemainingTtl::Micros { at_least: Some(at_least), .. } if at_least > 0 => (Authority::Held, Reason::Progressing),
        RemainingTtl::Micros { at_most, .. } if at_most <= 0 => (Authority::Expired, Reason::Expired),
        RemainingTtl::Micros { .. } => (Authority::Unknown, undecided(holder.renewed.source)),
    }
}

/// How long ago a vacant or expired lease ended.
fn age_of_end(authority: &AuthorityEvidence) -> Age {
    match authority {
        // Without an epoch, another holder may have come and gone between two readings.
        AuthorityEvidence::Vacant { epoch: None, .. } => Age::UNBOUNDED,
        AuthorityEvidence::Vacant { since, .. } => since.age,
        AuthorityEvidence::Holder(Holder { remaining_ttl: RemainingTtl::Micros { at_least, at_most }, .. }) => {
            let past = |left: i64| std::time::Duration::from_micros(left.min(0).unsigned_abs());
            match at_least {
                Some(at_least) => Age::between(past(*at_least), past(*at_most)),
                None => Age::at_least(past(*at_most)),
            }
        }
        AuthorityEvidence::Holder(_) => Age::UNBOUNDED,
    }
}

/// Whether progress was certainly made after the lease ended, within `stall_after`: a process acts without authority.
fn has_progress_after_end(evidence: &Evidence, policy: &Policy) -> bool {
    evidence.progress.age().is_some_and(|last| {
        !last.source.is_clock_error()
            && last.age.surely_after(age_of_end(&evidence.authority))
            && last.age.exceeds(policy.stall_after) != Truth::True
    })
}

/// A claim without a holder is normal until its work is overdue.
fn vacant_claim(evidence: &Evidence, policy: &Policy, authority: Authority, vacancy: Reason) -> Verdict {
    match overdue(due(evidence.due, evidence.progress.age(), policy.work), policy) {
        Overdue::No => {
            Verdict { authority, progress: ProgressState::Idle, state: State::Idle, reason: Reason::NothingDue }
        }
        Overdue::Yes => Verdict::no_leader(authority, vacancy),
        Overdue::Undecided(reason) => Verdict::unknown(authority, reason),
    }
}

/// Whether the work progresses under the current holder.
fn progress(evidence: &Evidence, policy: &Policy) -> (ProgressState, Reason) {
    const UNKNOWN: ProgressState = ProgressState::Unknown;
    let AuthorityEvidence::Holder(holder) = &evidence.authority else {
        return (UNKNOWN, Reason::InvalidRecord);
    };
    if let (Some(limit), Due::Waiting { oldest: Some(oldest), .. }) = (policy.overdue_after, evidence.due)
        && oldest.age.exceeds(limit) == Truth::True
    {
        return (ProgressState::Stalled, Reason::WorkStuck);
    }
    // A cadence counts from the last progress under any epoch.
    let (under, when) = match evidence.progress {
        Progress::NotReported => return (UNKNOWN, Reason::ProgressNotReported),
        Progress::Incomplete => return (UNKNOWN, Reason::InvalidRecord),
        Progress::Made { epoch_relation: ProgressEpoch::Later, .. } => return (UNKNOWN, Reason::EpochRegressed),
        Progress::Made { epoch_relation: under, age: when, .. } => (under, when),
        Progress::Never => (ProgressEpoch::Earlier, holder.acquired),
    };
    let due = due(evidence.due, Some(when), policy.work);
    let with_progress = || since(when, true, due, policy);
    let without_progress = || since(holder.acquired, false, due, policy);
    match under {
        ProgressEpoch::Current => with_progress(),
        ProgressEpoch::Earlier | ProgressEpoch::Later => without_progress(),
        // The progress may be the current holder's or the previous one's. A verdict is given if it is the same for both.
        ProgressEpoch::Unattributed => match (with_progress(), without_progress()) {
            (one, other) if one.0 == other.0 => one,
            (_, (UNKNOWN, reason)) => (UNKNOWN, reason),
            _ => (UNKNOWN, unattributed(holder.acquired.source, when.source)),
        },
    }
}

/// Judges by the time since `last`, which is the last progress under the current epoch or, without `progress`, the
/// acquisition.
fn since(last: EventAge, progress: bool, due: Due, policy: &Policy) -> (ProgressState, Reason) {
    match last.age.exceeds(policy.stall_after) {
        Truth::False => within_limit(progress, due),
        Truth::True => beyond_limit(progress, due, policy),
        // The bounds do not matter if the verdict is the same on both sides of the limit.
        Truth::Unknown => match (within_limit(progress, due), beyond_limit(progress, due, policy)) {
            (one, other) if one == other => one,
            _ => (ProgressState::Unknown, undecided(last.source)),
        },
    }
}

/// The verdict if the time since `last` is certainly within `stall_after`.
const fn within_limit(progress: bool, due: Due) -> (ProgressState, Reason) {
    match due {
        _ if progress => (ProgressState::Advancing, Reason::Progressing),
        Due::Nothing => (ProgressState::Idle, Reason::NothingDue),
        Due::NotKnown | Due::Waiting { .. } => (ProgressState::Unknown, Reason::AwaitingFirstProgress),
    }
}

/// The verdict if the time since `last` certainly exceeds `stall_after`.
fn beyond_limit(progress: bool, due: Due, policy: &Policy) -> (ProgressState, Reason) {
    match overdue(due, policy) {
        Overdue::No => (ProgressState::Idle, Reason::NothingDue),
        Overdue::Yes if progress => (ProgressState::Stalled, Reason::NoProgress),
        Overdue::Yes => (ProgressState::Stalled, Reason::NeverProgressed),
        Overdue::Undecided(reason) => (ProgressState::Unknown, reason),
    }
}

enum Overdue {
    Yes,
    No,
    Undecided(Reason),
}

/// Whether work has been due for longer than `stall_after`.
fn overdue(due: Due, policy: &Policy) -> Overdue {
    match due {
        Due::Nothing => Overdue::No,
        Due::NotKnown | Due::Waiting { oldest: None, .. } => Overdue::Undecided(Reason::DueUnknown),
        Due::Waiting { oldest: Some(oldest), .. } => match oldest.age.exceeds(policy.stall_after) {
            Truth::True => Overdue::Yes,
            Truth::False => Overdue::No,
            Truth::Unknown => Overdue::Undecided(undecided(oldest.source)),
        },
    }
}

/// The due work that the store reports or, if it reports none, that follows from the policy.
fn due(reported: Due, last: Option<EventAge>, work: Work) -> Due {
    let delay = match (reported, work) {
        (Due::NotKnown, Work::Continuous) => std::time::Duration::ZERO,
        (Due::NotKnown, Work::Cadence(cadence)) => cadence,
        (reported, _) => return reported,
    };
    match last {
        None => Due::NotKnown,
        Some(last) if delay > std::time::Duration::ZERO && last.age.exceeds(delay) == Truth::False => Due::Nothing,
        Some(last) => {
            let oldest = Some(EventAge { age: last.age.minus(delay), source: last.source });
            Due::Waiting { count: None, oldest, oldest_at: None }
        }
    }
}

/// The reason for progress that may be the current holder's or the previous one's. It is `clock_skew` only if both times
/// are stored, or if one of them is wrong.
const fn unattributed(acquired: AgeSource, progress: AgeSource) -> Reason {
    match (acquired, progress) {
        (
            AgeSource::FirstReading | AgeSource::ChangeBetweenReadings,
            AgeSource::FirstReading | AgeSource::StoredTime,
        ) => Reason::NotObservedYet,
        (_, progress) => undecided(progress),
    }
}

/// The reason if the bounds of an age lie on both sides of a limit.
const fn undecided(source: AgeSource) -> Reason {
    match source {
        // The age of a stored time is inexact only because of the allowed clock skew.
        AgeSource::StoredTime | AgeSource::FutureTime | AgeSource::ContradictedTime => Reason::ClockSkew,
        AgeSource::FirstReading => Reason::NotObservedYet,
        AgeSource::ChangeBetweenReadings => Reason::ObservationGap,
    }
}

#[cfg(test)]
mod tests;
