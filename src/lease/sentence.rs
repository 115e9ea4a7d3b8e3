//! The reason in one sentence, for the person on call.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::age::Truth;
use super::evidence::{
    AuthorityEvidence, Due, EventAge, Evidence, Holder, ObservationFailure, Progress, ProgressEpoch, RemainingTtl,
};
use super::label::{Authority, ReadFailure, Reason};
use super::policy::{Policy, Rules, Work};
use super::snapshot::Status;

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
        let Status { verdict, observation, policy, .. } = self.0;
        let evidence = match observation {
            Ok(evidence) => evidence,
            Err(failure) => return f.write_str(&unobserved(*failure)),
        };
        if let AuthorityEvidence::Holder(holder) = &evidence.authority {
            write!(f, "{}, ", holder_text(holder, verdict.authority))?;
        }
        f.write_str(&reason_text(verdict.reason, evidence, policy))
    }
}

impl ReadFailure {
    /// The failure as a clause of a sentence.
    #[must_use]
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Unreachable => "the store could not be reached",
            Self::Timeout => "the store did not answer in time",
            Self::Refused => "the store answered with an error",
            Self::SchemaMismatch => "the store lacks a table or column that the query needs",
            Self::InvalidRecord => "the store's answer breaks the contract",
        }
    }
}

fn unobserved(failure: ObservationFailure) -> String {
    match failure {
        ObservationFailure::InvalidRecord(column) => {
            format!("the record breaks the contract in its column `{column}`")
        }
        ObservationFailure::DuplicateRecord => {
            "the store has several records of this lease, and only one can be right".to_owned()
        }
        ObservationFailure::LeaseOverLimit => {
            "the source has more leases than `max_leases`, and this one was not read".to_owned()
        }
        ObservationFailure::MembersOverLimit => {
            let limit = Rules::MAX_MEMBERS;
            format!("the source has more than {limit} records of this lease, and the others were not read")
        }
        ObservationFailure::Source(failure) => format!("{}, so nothing is known now", failure.clause()),
    }
}

/// The holder and the age of its renewal, such as "renewed 2s ago by 3f9c…", or the expiry.
fn holder_text(holder: &Holder, authority: Authority) -> String {
    let token = |word| holder.token.map(|token| format!(" {word} {}…", token.short())).unwrap_or_default();
    if let (Authority::Expired, RemainingTtl::Micros { at_most, .. }) = (authority, holder.remaining_ttl) {
        let expired = Readable(Duration::from_micros(at_most.min(0).unsigned_abs()));
        return format!("the lease{} expired {expired} ago", token("of"));
    }
    let renewed = match holder.renewed.display_age() {
        Some(age) => format!("renewed {} ago", Readable(age)),
        None => "held".to_owned(),
    };
    let others = match holder.others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{renewed}{}{others}", token("by"))
}

/// Whether any age shows that a clock is wrong by more than the allowed skew.
fn has_clock_error(evidence: &Evidence) -> bool {
    let authority = match &evidence.authority {
        AuthorityEvidence::Holder(holder) => [Some(holder.acquired), Some(holder.renewed)],
        AuthorityEvidence::Vacant { since, .. } => [Some(*since), None],
    };
    let mut ages = authority.into_iter().chain([evidence.progress.age(), evidence.due.oldest()]).flatten();
    ages.any(|age| age.source.is_clock_error())
}

fn reason_text(reason: Reason, evidence: &Evidence, policy: &Policy) -> String {
    let limit = Readable(policy.stall_after);
    let due = |lead| due_text(evidence.due, lead);
    let last_progress = last_progress(evidence);
    match reason {
        Reason::Absent => {
            let is_work_due = matches!(
                (evidence.due, policy.work),
                (Due::Waiting { .. }, _) | (Due::NotKnown, Work::Continuous | Work::Cadence(_))
            );
            let vacancy = if is_work_due { "nobody holds it" } else { "the store names no holder" };
            format!("{vacancy}{}", vacant_work(evidence, policy))
        }
        Reason::Released => {
            format!("the holder gave it back and nobody has taken it{}", vacant_work(evidence, policy))
        }
        Reason::Expired => format!("and nobody has taken over{}", vacant_work(evidence, policy)),
        Reason::Progressing => format!("{last_progress}{}", due(", ")),
        Reason::NothingDue => {
            let nothing_due = match (evidence.due, policy.work) {
                (Due::Nothing, _) => "nothing is due".to_owned(),
                (Due::NotKnown, Work::Cadence(cadence)) => {
                    format!("nothing is overdue at one run every {}", Readable(cadence))
                }
                _ => format!("nothing has been due for longer than {limit}{}", due(", ")),
            };
            format!("{nothing_due}; {last_progress}")
        }
        Reason::NoProgress | Reason::NeverProgressed => {
            let no_progress = match (reason, evidence.progress.age(), &evidence.authority) {
                (Reason::NoProgress, Some(age), _) => format!("no progress for {}", at_least(age)),
                (_, _, AuthorityEvidence::Holder(holder)) => {
                    format!("no progress since it was acquired {} ago", at_least(holder.acquired))
                }
                (_, _, AuthorityEvidence::Vacant { .. }) => "no progress".to_owned(),
            };
            format!("{no_progress}{}; the limit is {limit}", due_by_policy(evidence.due, policy.work))
        }
        Reason::WorkStuck => {
            let limit = Readable(policy.overdue_after.unwrap_or_default());
            format!("{}; the limit is {limit}, even while other work moves", due(""))
        }
        Reason::AwaitingFirstProgress => {
            format!("newly acquired and no progress yet{}; judged after {limit}", due(", "))
        }
        Reason::DueUnknown => format!("{last_progress}; whether work has been due for long is not known"),
        Reason::ProgressNotReported => last_progress,
        Reason::NotObservedYet => format!("not watched for long enough to tell; the limit is {limit}"),
        Reason::ObservationGap => match evidence.progress.age().and_then(|age| age.age.upper()) {
            Some(upper) => {
                let upper = Readable(upper);
                format!("{last_progress} or up to {upper} ago, between two readings; the limit is {limit}")
            }
            None => format!("{last_progress}, with no upper bound; the limit is {limit}"),
        },
        Reason::ClockSkew if has_clock_error(evidence) => {
            "times in the store disagree with each other or lie in the future".to_owned()
        }
        Reason::ClockSkew => "the times are too close to a limit, or to each other, to tell".to_owned(),
        Reason::ProgressWithoutAuthority => {
            let vacancy = match evidence.authority {
                AuthorityEvidence::Vacant { .. } => "nobody holds it, ",
                AuthorityEvidence::Holder(_) => "",
            };
            let age = evidence.progress.age().map(|age| format!(" {} ago", at_least(age)));
            format!("{vacancy}yet there was progress{}", age.unwrap_or_default())
        }
        Reason::EpochRegressed => "its epoch went backwards, so fencing cannot be relied on".to_owned(),
        Reason::InvalidRecord => "the record lacks a value that decides its state".to_owned(),
        Reason::StoreUnreachable | Reason::StoreTimeout | Reason::StoreRefused | Reason::SchemaMismatch => {
            "the store could not be read".to_owned()
        }
    }
}

/// The due work of a lease without a holder.
fn vacant_work(evidence: &Evidence, policy: &Policy) -> String {
    let due = due_by_policy(evidence.due, policy.work);
    match evidence.due {
        Due::Waiting { oldest: Some(oldest), .. } if oldest.age.exceeds(policy.stall_after) == Truth::True => {
            format!("{due}; the limit is {}", Readable(policy.stall_after))
        }
        Due::NotKnown if policy.work != Work::Unstated => format!("{due}; {}", last_progress(evidence)),
        _ => due,
    }
}

/// The due work that the store reports or that follows from the policy.
fn due_by_policy(due: Due, work: Work) -> String {
    match (due, work) {
        (Due::NotKnown, Work::Continuous) => " though there is always work to do".to_owned(),
        (Due::NotKnown, Work::Cadence(cadence)) => format!(" though a run is due every {}", Readable(cadence)),
        (due, _) => due_text(due, " while "),
    }
}

fn last_progress(evidence: &Evidence) -> String {
    match evidence.progress {
        Progress::NotReported => "the source says nothing of progress".to_owned(),
        Progress::Never => "no progress is recorded".to_owned(),
        Progress::Incomplete => "the record of the last progress is incomplete".to_owned(),
        Progress::Made { age, epoch, epoch_relation, .. } => {
            let epoch = match (epoch_relation, epoch) {
                (ProgressEpoch::Earlier, Some(epoch)) => format!(" under the earlier epoch {epoch}"),
                (ProgressEpoch::Earlier, None) => " under an earlier holder".to_owned(),
                _ => String::new(),
            };
            format!("last progress {} ago{epoch}", at_least(age))
        }
    }
}

/// The lower bound of an age, marked "at least" if there is no upper bound.
fn at_least(EventAge { age, .. }: EventAge) -> String {
    let lower = Readable(age.lower());
    if age.upper().is_some() { lower.to_string() } else { format!("at least {lower}") }
}

/// The amount and age of due work, such as "14 are due, the oldest for 7m"; empty if none is known to be due.
fn due_text(due: Due, lead: &str) -> String {
    let Due::Waiting { count, oldest, .. } = due else { return String::new() };
    let amount = match count {
        Some(1) => "1 is due".to_owned(),
        Some(count) => format!("{count} are due"),
        None => "work is due".to_owned(),
    };
    let oldest = match oldest.and_then(|oldest| oldest.display_age()) {
        Some(age) if count == Some(1) => format!(", for {}", Readable(age)),
        Some(age) => format!(", the oldest for {}", Readable(age)),
        None => String::new(),
    };
    format!("{lead}{amount}{oldest}")
}
