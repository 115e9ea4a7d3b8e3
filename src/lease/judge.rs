//! The judge: from evidence and policy to a verdict, by the tables of the model.

use super::age::{Age, Truth};
use super::evidence::{
    AgeSource, AuthorityEvidence, Due, EventAge, Evidence, Holder, Observation, ObservationFailure, Progress,
    ProgressEpoch, RemainingTtl, VacancyCause,
};
use super::label::{Authority, ProgressState, Reason, State};
use super::policy::{Kind, Policy, Work};

/// Authority, progress, the state that follows from the two, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Who has the right to act.
    pub authority: Authority,
    /// Whether the work moves.
    pub progress: ProgressState,
    /// The projection of the two.
    pub state: State,
    /// Why.
    pub reason: Reason,
}

/// Judges one lease.
#[must_use]
pub fn judge(observation: &Observation, kind: Kind, policy: &Policy) -> Verdict {
    let evidence = match observation {
        Ok(evidence) => evidence,
        Err(why) => return Verdict::unobserved(*why),
    };
    match authority(&evidence.authority) {
        (Authority::Held, _) => {
            let (progress, reason) = progress(evidence, policy);
            Verdict { authority: Authority::Held, progress, state: state_of_held(progress), reason }
        }
        (Authority::Unknown, reason) => Verdict::unknown(Authority::Unknown, reason),
        (authority @ (Authority::Vacant | Authority::Expired), reason) => {
            if progressed_since_it_ended(evidence, policy) {
                return Verdict::unknown(authority, Reason::ProgressWithoutAuthority);
            }
            match kind {
                Kind::Standing | Kind::Registry => Verdict::no_leader(authority, reason),
                Kind::Claim => unclaimed(evidence, policy, authority, reason),
            }
        }
    }
}

impl Verdict {
    /// The verdict on a lease that could not be looked at.
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

/// Who has the right to act. The reason means nothing while it is held.
fn authority(authority: &AuthorityEvidence) -> (Authority, Reason) {
    let holding = match authority {
        AuthorityEvidence::Vacant { cause: VacancyCause::Absent, .. } => return (Authority::Vacant, Reason::Absent),
        AuthorityEvidence::Vacant { cause: VacancyCause::Released, .. } => {
            return (Authority::Vacant, Reason::Released);
        }
        AuthorityEvidence::Holder(holding) => holding,
    };
    if holding.epoch_regressed {
        return (Authority::Unknown, Reason::EpochRegressed);
    }
    // A contradicted acquisition only says that a clock was stepped since; a contradicted renewal says that it is
    // wrong now.
    if holding.renewed.source.is_clock_error() || holding.acquired.source == AgeSource::FutureTime {
        return (Authority::Unknown, Reason::ClockSkew);
    }
    match holding.remaining_ttl {
        RemainingTtl::WhileRecordExists => (Authority::Held, Reason::Progressing),
        RemainingTtl::NotRecorded => (Authority::Unknown, Reason::InvalidRecord),
        RemainingTtl::Micros { at_least: Some(at_least), .. } if at_least > 0 => (Authority::Held, Reason::Progressing),
        RemainingTtl::Micros { at_most, .. } if at_most <= 0 => (Authority::Expired, Reason::Expired),
        RemainingTtl::Micros { .. } => (Authority::Unknown, undecided(holding.renewed.source)),
    }
}

/// How long ago the lease ended, for one that has.
fn ended(authority: &AuthorityEvidence) -> Age {
    match authority {
        // Without an epoch that would have grown, a whole authority may have passed unseen between two looks.
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

/// Progress surely made after the lease ended means that someone acts without authority, for as long as it is fresh.
fn progressed_since_it_ended(evidence: &Evidence, policy: &Policy) -> bool {
    match evidence.progress {
        Progress::Made { age: when, .. } => {
            !when.source.is_clock_error()
                && when.age.surely_after(ended(&evidence.authority))
                && when.age.exceeds(policy.stall_after) != Truth::True
        }
        Progress::NotReported | Progress::Never | Progress::Incomplete => false,
    }
}

/// A claim that nobody holds is normal until its work is overdue.
fn unclaimed(evidence: &Evidence, policy: &Policy, authority: Authority, vacancy: Reason) -> Verdict {
    let last = match evidence.progress {
        Progress::Made { age: when, .. } => Some(when),
        Progress::NotReported | Progress::Never | Progress::Incomplete => None,
    };
    match overdue(due(evidence.due, last, policy.work), policy) {
        Overdue::No => {
            Verdict { authority, progress: ProgressState::Idle, state: State::Idle, reason: Reason::NothingDue }
        }
        Overdue::Yes => Verdict::no_leader(authority, vacancy),
        Overdue::Undecided(reason) => Verdict::unknown(authority, reason),
    }
}

/// Whether work moves under the authority that is held.
fn progress(evidence: &Evidence, policy: &Policy) -> (ProgressState, Reason) {
    const UNKNOWN: ProgressState = ProgressState::Unknown;
    let AuthorityEvidence::Holder(holding) = &evidence.authority else {
        return (UNKNOWN, Reason::InvalidRecord);
    };
    if let (Some(limit), Due::Waiting { oldest: Some(oldest), .. }) = (policy.overdue_after, evidence.due)
        && oldest.age.exceeds(limit) == Truth::True
    {
        return (ProgressState::Stalled, Reason::WorkStuck);
    }
    // Work falls due after whatever moved last, under whichever epoch.
    let (under, when) = match evidence.progress {
        Progress::NotReported => return (UNKNOWN, Reason::ProgressNotReported),
        Progress::Incomplete => return (UNKNOWN, Reason::InvalidRecord),
        Progress::Made { epoch_relation: ProgressEpoch::Later, .. } => return (UNKNOWN, Reason::EpochRegressed),
        Progress::Made { epoch_relation: under, age: when, .. } => (under, when),
        Progress::Never => (ProgressEpoch::Earlier, holding.acquired),
    };
    let due = due(evidence.due, Some(when), policy.work);
    let theirs = || under_this_epoch(when, true, due, policy);
    let none_yet = || under_this_epoch(holding.acquired, false, due, policy);
    match under {
        ProgressEpoch::Current => theirs(),
        ProgressEpoch::Earlier | ProgressEpoch::Later => none_yet(),
        // It may be the holder's or its predecessor's: only what is so either way is known.
        ProgressEpoch::Unattributed => match (theirs(), none_yet()) {
            (one, other) if one.0 == other.0 => one,
            (_, (UNKNOWN, reason)) => (UNKNOWN, reason),
            _ => (UNKNOWN, unattributed(holding.acquired.source, when.source)),
        },
    }
}

/// Whether work moves, by what moved last under this epoch or, failing that, the acquisition itself.
fn under_this_epoch(last: EventAge, moved: bool, due: Due, policy: &Policy) -> (ProgressState, Reason) {
    match last.age.exceeds(policy.stall_after) {
        Truth::False => within(moved, due),
        Truth::True => beyond(moved, due, policy),
        // Where both answers lead to the same verdict, the bounds need not decide.
        Truth::Unknown => match (within(moved, due), beyond(moved, due, policy)) {
            (one, other) if one == other => one,
            _ => (ProgressState::Unknown, undecided(last.source)),
        },
    }
}

/// The last move is surely within the limit.
const fn within(moved: bool, due: Due) -> (ProgressState, Reason) {
    match due {
        _ if moved => (ProgressState::Advancing, Reason::Progressing),
        Due::Nothing => (ProgressState::Idle, Reason::NothingDue),
        Due::NotKnown | Due::Waiting { .. } => (ProgressState::Unknown, Reason::AwaitingFirstProgress),
    }
}

/// The last move is surely beyond the limit.
fn beyond(moved: bool, due: Due, policy: &Policy) -> (ProgressState, Reason) {
    match overdue(due, policy) {
        Overdue::No => (ProgressState::Idle, Reason::NothingDue),
        Overdue::Yes if moved => (ProgressState::Stalled, Reason::NoProgress),
        Overdue::Yes => (ProgressState::Stalled, Reason::NeverProgressed),
        Overdue::Undecided(reason) => (ProgressState::Unknown, reason),
    }
}

enum Overdue {
    Yes,
    No,
    Undecided(Reason),
}

/// Whether work has been due for longer than the limit.
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

/// What is due, from what the store says or else from what the policy says of when work falls due.
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

/// The reason to give when nothing tells whether the holder made the progress or whoever was before it. Clocks are to
/// blame only where both times are stored, or one is wrong.
const fn unattributed(acquired: AgeSource, moved: AgeSource) -> Reason {
    match (acquired, moved) {
        (
            AgeSource::FirstReading | AgeSource::ChangeBetweenReadings,
            AgeSource::FirstReading | AgeSource::StoredTime,
        ) => Reason::NotObservedYet,
        (_, moved) => undecided(moved),
    }
}

/// The reason to give when bounds settle nothing.
const fn undecided(source: AgeSource) -> Reason {
    match source {
        // Only the tolerance for clocks makes a stored time a span.
        AgeSource::StoredTime | AgeSource::FutureTime | AgeSource::ContradictedTime => Reason::ClockSkew,
        AgeSource::FirstReading => Reason::NotObservedYet,
        AgeSource::ChangeBetweenReadings => Reason::ObservationGap,
    }
}

#[cfg(test)]
mod tests;
