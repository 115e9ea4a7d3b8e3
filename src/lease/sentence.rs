//! The reason in one sentence, for the person on call.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::age::Truth;
use super::evidence::{
    AuthorityEvidence, Due, EventAge, Evidence, Holder, ObservationFailure, Progress, ProgressEpoch, RemainingTtl,
};
use super::label::{Authority, Reason};
use super::policy::{Policy, Rules, Work};
use super::status::Status;

/// A duration for people, rounded to at most two units.
#[derive(Clone, Copy, Debug)]
pub struct Readable(pub Duration);

impl Display for Readable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const HOUR: u64 = 3_600;
        let seconds = self.0.as_secs();
        if !self.0.is_zero() && self.0 < Duration::from_millis(1) {
            return f.pad("<1ms");
        }
        let shown = match seconds {
            0 => Duration::from_millis(u64::from(self.0.subsec_millis())),
            _ if seconds < HOUR => Duration::from_secs(seconds),
            _ if seconds < 24 * HOUR => Duration::from_secs(seconds - seconds % 60),
            // The months of `humantime` have 30.44 days, so longer durations are shown in days.
            _ => {
                let (days, hours) = (seconds / (24 * HOUR), seconds / HOUR % 24);
                return f.pad(&if hours == 0 { format!("{days}d") } else { format!("{days}d{hours}h") });
            }
        };
        f.pad(&humantime::format_duration(shown).to_string().replace(' ', ""))
    }
}

/// The reason of a [`Status`] in one sentence, built from its evidence.
#[derive(Clone, Copy, Debug)]
pub struct Sentence<'a>(&'a Status);

impl Status {
    /// The reason in one sentence for people.
    #[must_use]
    pub const fn sentence(&self) -> Sentence<'_> {
        Sentence(self)
    }
}

impl Display for Sentence<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let evidence = match &status.observation {
            Ok(evidence) => evidence,
            Err(why) => return unseen(*why, status.verdict.reason, f),
        };
        match &evidence.authority {
            AuthorityEvidence::Holder(holder) => {
                write_holder(holder, status.verdict.authority, f)?;
                f.write_str(", ")?;
            }
            AuthorityEvidence::Vacant { .. } => {}
        }
        because(status.verdict.reason, evidence, &status.policy, f)
    }
}

fn unseen(why: ObservationFailure, reason: Reason, f: &mut Formatter<'_>) -> fmt::Result {
    match why {
        ObservationFailure::InvalidRecord(column) => {
            write!(f, "the record breaks the contract in its column `{column}`")
        }
        ObservationFailure::DuplicateRecord => {
            f.write_str("the store has several records of this lease, and only one can be right")
        }
        ObservationFailure::LeaseOverLimit => {
            f.write_str("the source has more leases than `max_leases`, and this one was not looked at")
        }
        ObservationFailure::MembersOverLimit => {
            write!(
                f,
                "the source has more than {} records of this lease, and the rest was not looked at",
                Rules::MAX_MEMBERS
            )
        }
        ObservationFailure::Source(_) => f.write_str(match reason {
            Reason::StoreUnreachable => "the store could not be reached, so nothing is known now",
            Reason::StoreTimeout => "the store did not answer in time, so nothing is known now",
            Reason::StoreRefused => "the store answered with an error, so nothing is known now",
            Reason::SchemaMismatch => "the store lacks the tables or columns asked for, so nothing is known now",
            _ => "the store's answer breaks the contract, so nothing is known now",
        }),
    }
}

/// Who holds it and since when: "renewed 2s ago by 3f9c…", or whose time is up.
fn write_holder(holder: &Holder, authority: Authority, f: &mut Formatter<'_>) -> fmt::Result {
    if let (Authority::Expired, RemainingTtl::Micros { at_most, .. }) = (authority, holder.remaining_ttl) {
        f.write_str("the lease")?;
        if let Some(token) = &holder.token {
            write!(f, " of {}…", token.short())?;
        }
        return write!(f, " expired {} ago", Readable(Duration::from_micros(at_most.min(0).unsigned_abs())));
    }
    match holder.renewed.display_age() {
        Some(age) => write!(f, "renewed {} ago", Readable(age))?,
        None => f.write_str("held")?,
    }
    if let Some(token) = &holder.token {
        write!(f, " by {}…", token.short())?;
    }
    match holder.others.len() {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// Whether any age shows that a clock is wrong by more than the allowed skew.
fn clock_is_wrong(evidence: &Evidence) -> bool {
    let of_tenure = match &evidence.authority {
        AuthorityEvidence::Holder(holder) => [Some(holder.acquired), Some(holder.renewed)],
        AuthorityEvidence::Vacant { since, .. } => [Some(*since), None],
    };
    let due = match evidence.due {
        Due::Waiting { oldest, .. } => oldest,
        Due::NotKnown | Due::Nothing => None,
    };
    let mut times = of_tenure.into_iter().chain([last(evidence), due]).flatten();
    times.any(|time| time.source.is_clock_error())
}

fn because(reason: Reason, evidence: &Evidence, policy: &Policy, f: &mut Formatter<'_>) -> fmt::Result {
    let limit = Readable(policy.stall_after);
    match reason {
        Reason::Absent => {
            let work_waits = matches!(
                (evidence.due, policy.work),
                (Due::Waiting { .. }, _) | (Due::NotKnown, Work::Continuous | Work::Cadence(_))
            );
            f.write_str(if work_waits { "nobody holds it" } else { "the store names no holder" })?;
            undone(evidence, policy, f)
        }
        Reason::Released => {
            f.write_str("the holder gave it back and nobody has taken it")?;
            undone(evidence, policy, f)
        }
        Reason::Expired => {
            f.write_str("and nobody has taken over")?;
            undone(evidence, policy, f)
        }
        Reason::Progressing => {
            last_progress(evidence, f)?;
            waiting(evidence.due, ", ", f)
        }
        Reason::NothingDue => {
            match (evidence.due, policy.work) {
                (Due::Nothing, _) => f.write_str("nothing is due"),
                (Due::NotKnown, Work::Cadence(cadence)) => {
                    write!(f, "nothing is overdue at one run every {}", Readable(cadence))
                }
                (due, _) => {
                    f.write_str("nothing has been due for longer than ")?;
                    write!(f, "{limit}")?;
                    waiting(due, ", ", f)
                }
            }?;
            f.write_str("; ")?;
            last_progress(evidence, f)
        }
        Reason::NoProgress | Reason::NeverProgressed => {
            match (reason, last(evidence)) {
                (Reason::NoProgress, Some(when)) => write!(f, "no progress for {}", at_least(&when))?,
                _ => match &evidence.authority {
                    AuthorityEvidence::Holder(holder) => {
                        write!(f, "no progress since it was acquired {} ago", at_least(&holder.acquired))?;
                    }
                    AuthorityEvidence::Vacant { .. } => f.write_str("no progress")?,
                },
            }
            in_spite_of(evidence.due, policy.work, f)?;
            write!(f, "; the limit is {limit}")
        }
        Reason::WorkStuck => {
            waiting(evidence.due, "", f)?;
            let overdue_after = policy.overdue_after.unwrap_or_default();
            write!(f, "; the limit is {}, even while other work moves", Readable(overdue_after))
        }
        Reason::AwaitingFirstProgress => {
            f.write_str("newly acquired and no progress yet")?;
            waiting(evidence.due, ", ", f)?;
            write!(f, "; judged after {limit}")
        }
        Reason::DueUnknown => {
            last_progress(evidence, f)?;
            f.write_str("; whether work has been due for long is not known")
        }
        Reason::ProgressNotReported => f.write_str("the source says nothing of progress"),
        Reason::NotObservedYet => write!(f, "not watched for long enough to tell; the limit is {limit}"),
        Reason::ObservationGap => {
            last_progress(evidence, f)?;
            match last(evidence).and_then(|when| when.age.upper()) {
                Some(upper) => write!(f, " or up to {} ago, as it moved between two looks", Readable(upper))?,
                None => f.write_str(", and nothing bounds that")?,
            }
            write!(f, ", which does not tell; the limit is {limit}")
        }
        Reason::ClockSkew => f.write_str(match clock_is_wrong(evidence) {
            true => "times in the store disagree with each other or lie in the future",
            false => "the times are too close to a limit, or to each other, to tell",
        }),
        Reason::ProgressWithoutAuthority => {
            if matches!(evidence.authority, AuthorityEvidence::Vacant { .. }) {
                f.write_str("nobody holds it, ")?;
            }
            f.write_str("yet there was progress")?;
            last(evidence).map_or(Ok(()), |when| write!(f, " {} ago", at_least(&when)))
        }
        Reason::EpochRegressed => f.write_str("its epoch went backwards, so fencing cannot be relied on"),
        Reason::InvalidRecord => f.write_str("the record leaves out what would tell"),
        Reason::StoreUnreachable | Reason::StoreTimeout | Reason::StoreRefused | Reason::SchemaMismatch => {
            f.write_str("the store could not be read")
        }
    }
}

/// The due work of a lease without a holder.
fn undone(evidence: &Evidence, policy: &Policy, f: &mut Formatter<'_>) -> fmt::Result {
    in_spite_of(evidence.due, policy.work, f)?;
    match evidence.due {
        Due::Waiting { oldest: Some(oldest), .. } if oldest.age.exceeds(policy.stall_after) == Truth::True => {
            write!(f, "; the limit is {}", Readable(policy.stall_after))
        }
        Due::NotKnown if policy.work != Work::Unstated => {
            f.write_str("; ")?;
            last_progress(evidence, f)
        }
        _ => Ok(()),
    }
}

/// The due work that the store reports or that follows from the policy.
fn in_spite_of(due: Due, work: Work, f: &mut Formatter<'_>) -> fmt::Result {
    match (due, work) {
        (Due::NotKnown, Work::Continuous) => f.write_str(" though there is always work to do"),
        (Due::NotKnown, Work::Cadence(cadence)) => write!(f, " though a run is due every {}", Readable(cadence)),
        (due, _) => waiting(due, " while ", f),
    }
}

fn last(evidence: &Evidence) -> Option<EventAge> {
    match evidence.progress {
        Progress::Made { age: when, .. } => Some(when),
        Progress::NotReported | Progress::Never | Progress::Incomplete => None,
    }
}

fn last_progress(evidence: &Evidence, f: &mut Formatter<'_>) -> fmt::Result {
    match evidence.progress {
        Progress::NotReported => f.write_str("the source says nothing of progress"),
        Progress::Never => f.write_str("no progress is recorded"),
        Progress::Incomplete => f.write_str("the record of the last progress is incomplete"),
        Progress::Made { age: when, epoch, epoch_relation: under, .. } => {
            write!(f, "last progress {} ago", at_least(&when))?;
            match (under, epoch) {
                (ProgressEpoch::Earlier, Some(epoch)) => write!(f, " under the earlier epoch {epoch}"),
                (ProgressEpoch::Earlier, None) => f.write_str(" under an earlier holder"),
                _ => Ok(()),
            }
        }
    }
}

/// The lower bound of an age, marked "at least" if there is no upper bound.
fn at_least(when: &EventAge) -> String {
    let lower = Readable(when.age.lower());
    if when.age.upper().is_some() { lower.to_string() } else { format!("at least {lower}") }
}

/// The amount and age of due work, such as "14 are due, the oldest for 7m"; empty if none is known to be due.
fn waiting(due: Due, lead: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let Due::Waiting { count, oldest, .. } = due else { return Ok(()) };
    match count {
        Some(1) => write!(f, "{lead}1 is due")?,
        Some(count) => write!(f, "{lead}{count} are due")?,
        None => write!(f, "{lead}work is due")?,
    }
    match oldest.and_then(|oldest| oldest.display_age()) {
        Some(age) if count == Some(1) => write!(f, ", for {}", Readable(age)),
        Some(age) => write!(f, ", the oldest for {}", Readable(age)),
        None => Ok(()),
    }
}
