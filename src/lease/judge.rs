//! The judge: from evidence and policy to a verdict, by the tables of the model.

use super::age::{Age, Answer};
use super::evidence::{
    AgeSource, DatedAge, Due, Evidence, HolderEvidence, Observation, Progress, ProgressEpoch, RemainingTtl, Tenure,
    UnknownCause, Vacancy,
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
        Observation::Known(evidence) => evidence,
        Observation::Unknown(why) => return Verdict::unseen(*why),
    };
    match authority(&evidence.tenure) {
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
    pub const fn unseen(why: UnknownCause) -> Self {
        let reason = match why {
            UnknownCause::Source(failure) => failure.reason(),
            UnknownCause::Record(_) | UnknownCause::Duplicate => Reason::InvalidRecord,
            UnknownCause::LeftOut | UnknownCause::MembersLeftOut => Reason::NotObservedYet,
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
fn authority(tenure: &Tenure) -> (Authority, Reason) {
    let holding = match tenure {
        Tenure::Vacant { how: Vacancy::Absent, .. } => return (Authority::Vacant, Reason::Absent),
        Tenure::Vacant { how: Vacancy::Released, .. } => return (Authority::Vacant, Reason::Released),
        Tenure::Holder(holding) => holding,
    };
    if holding.epoch_regressed {
        return (Authority::Unknown, Reason::EpochRegressed);
    }
    // A contradicted acquisition only says that a clock was stepped since; a contradicted renewal says that it is
    // wrong now.
    if holding.renewed.basis.is_suspect() || holding.acquired.basis == AgeSource::Future {
        return (Authority::Unknown, Reason::ClockSkew);
    }
    match holding.left {
        RemainingTtl::WhilePresent => (Authority::Held, Reason::Progressing),
        RemainingTtl::NotKnown => (Authority::Unknown, Reason::InvalidRecord),
        RemainingTtl::Micros { at_least: Some(at_least), .. } if at_least > 0 => (Authority::Held, Reason::Progressing),
        RemainingTtl::Micros { at_most, .. } if at_most <= 0 => (Authority::Expired, Reason::Expired),
        RemainingTtl::Micros { .. } => (Authority::Unknown, undecided(holding.renewed.basis)),
    }
}

/// How long ago the lease ended, for one that has.
fn ended(tenure: &Tenure) -> Age {
    match tenure {
        // Without an epoch that would have grown, a whole tenure may have passed unseen between two looks.
        Tenure::Vacant { epoch: None, .. } => Age::UNBOUNDED,
        Tenure::Vacant { since, .. } => since.age,
        Tenure::Holder(HolderEvidence { left: RemainingTtl::Micros { at_least, at_most }, .. }) => {
            let past = |left: i64| std::time::Duration::from_micros(left.min(0).unsigned_abs());
            match at_least {
                Some(at_least) => Age::between(past(*at_least), past(*at_most)),
                None => Age::at_least(past(*at_most)),
            }
        }
        Tenure::Holder(_) => Age::UNBOUNDED,
    }
}

/// Progress surely made after the lease ended means that someone acts without authority, for as long as it is fresh.
fn progressed_since_it_ended(evidence: &Evidence, policy: &Policy) -> bool {
    match evidence.progress {
        Progress::Made { when, .. } => {
            !when.basis.is_suspect()
                && when.age.surely_after(ended(&evidence.tenure))
                && when.age.older_than(policy.stall_after) != Answer::Yes
        }
        Progress::NotReported | Progress::Never | Progress::Incomplete => false,
    }
}

/// A claim that nobody holds is normal until its work is overdue.
fn unclaimed(evidence: &Evidence, policy: &Policy, authority: Authority, vacancy: Reason) -> Verdict {
    let last = match evidence.progress {
        Progress::Made { when, .. } => Some(when),
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
    let Tenure::Holder(holding) = &evidence.tenure else {
        return (UNKNOWN, Reason::InvalidRecord);
    };
    if let (Some(limit), Due::Waiting { oldest: Some(oldest), .. }) = (policy.overdue_after, evidence.due)
        && oldest.age.older_than(limit) == Answer::Yes
    {
        return (ProgressState::Stalled, Reason::WorkStuck);
    }
    // Work falls due after whatever moved last, under whichever epoch.
    let (under, when) = match evidence.progress {
        Progress::NotReported => return (UNKNOWN, Reason::ProgressNotReported),
        Progress::Incomplete => return (UNKNOWN, Reason::InvalidRecord),
        Progress::Made { under: ProgressEpoch::Later, .. } => return (UNKNOWN, Reason::EpochRegressed),
        Progress::Made { under, when, .. } => (under, when),
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
            _ => (UNKNOWN, unattributed(holding.acquired.basis, when.basis)),
        },
    }
}

/// Whether work moves, by what moved last under this epoch or, failing that, the acquisition itself.
fn under_this_epoch(last: DatedAge, moved: bool, due: Due, policy: &Policy) -> (ProgressState, Reason) {
    match last.age.older_than(policy.stall_after) {
        Answer::No => within(moved, due),
        Answer::Yes => beyond(moved, due, policy),
        // Where both answers lead to the same verdict, the bounds need not decide.
        Answer::CannotTell => match (within(moved, due), beyond(moved, due, policy)) {
            (one, other) if one == other => one,
            _ => (ProgressState::Unknown, undecided(last.basis)),
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
        Due::Waiting { oldest: Some(oldest), .. } => match oldest.age.older_than(policy.stall_after) {
            Answer::Yes => Overdue::Yes,
            Answer::No => Overdue::No,
            Answer::CannotTell => Overdue::Undecided(undecided(oldest.basis)),
        },
    }
}

/// What is due, from what the store says or else from what the policy says of when work falls due.
fn due(reported: Due, last: Option<DatedAge>, work: Work) -> Due {
    let delay = match (reported, work) {
        (Due::NotKnown, Work::Continuous) => std::time::Duration::ZERO,
        (Due::NotKnown, Work::Cadence(cadence)) => cadence,
        (reported, _) => return reported,
    };
    match last {
        None => Due::NotKnown,
        Some(last) if delay > std::time::Duration::ZERO && last.age.older_than(delay) == Answer::No => Due::Nothing,
        Some(last) => {
            let oldest = Some(DatedAge { age: last.age.less(delay), basis: last.basis });
            Due::Waiting { count: None, oldest, oldest_at: None }
        }
    }
}

/// The reason to give when nothing tells whether the holder made the progress or whoever was before it. Clocks are to
/// blame only where both times are stored, or one is wrong.
const fn unattributed(acquired: AgeSource, moved: AgeSource) -> Reason {
    match (acquired, moved) {
        (AgeSource::FirstSeen | AgeSource::SeenToChange, AgeSource::FirstSeen | AgeSource::Stored) => {
            Reason::NotObservedYet
        }
        (_, moved) => undecided(moved),
    }
}

/// The reason to give when bounds settle nothing.
const fn undecided(basis: AgeSource) -> Reason {
    match basis {
        // Only the tolerance for clocks makes a stored time a span.
        AgeSource::Stored | AgeSource::Future | AgeSource::Contradicted => Reason::ClockSkew,
        AgeSource::FirstSeen => Reason::NotObservedYet,
        AgeSource::SeenToChange => Reason::ObservationGap,
    }
}

#[cfg(test)]
mod tests;
