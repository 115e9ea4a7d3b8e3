//! The truth: recorded from the actions of the schedulers, not read from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lease_exporter::lease::{
    Age, Authority, AuthorityEvidence, Due, Evidence, ObservationFailure, Progress, Reason, State, Status,
};
use lease_protocol::HolderId;

use crate::world::{STALL_AFTER, TTL};

#[derive(Debug, Default)]
pub struct Oracle {
    term: Option<Term>,
    newest_epoch: u64,
    /// When progress was last made, and under which epoch.
    progress: Option<(Duration, u64)>,
    /// The due occurrences, and since when they are due.
    due: BTreeMap<String, Duration>,
    planned: BTreeSet<String>,
    /// The number of scrapes with each verdict.
    pub verdicts: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Term {
    holder: HolderId,
    epoch: u64,
    acquired: Duration,
    renewed: Duration,
    /// When the lease ends; before `renewed + TTL` after a release.
    ends: Duration,
}

/// An action of a scheduler on the store.
#[derive(Clone, Debug)]
pub enum Action {
    Acquired(u64),
    Renewed(u64),
    Released(u64),
    /// An occurrence and when it is due.
    Enqueued(String, Duration),
    Planned(String, u64),
}

impl Oracle {
    /// Records an action and checks that the protocol allows it.
    pub fn record(&mut self, token: &HolderId, action: &Action, now: Duration) -> Result<(), String> {
        match action {
            Action::Acquired(epoch) => {
                if let Some(term) = self.term.as_ref().filter(|term| now < term.ends) {
                    return Err(format!("acquired while {:?} still holds it", term.holder));
                }
                if *epoch <= self.newest_epoch {
                    return Err(format!("epoch {epoch} after epoch {}", self.newest_epoch));
                }
                self.newest_epoch = *epoch;
                self.term =
                    Some(Term { holder: token.clone(), epoch: *epoch, acquired: now, renewed: now, ends: now + TTL });
            }
            Action::Renewed(epoch) => match &mut self.term {
                Some(term) if term.holder == *token && term.epoch == *epoch && now < term.ends => {
                    term.renewed = now;
                    term.ends = now + TTL;
                }
                _ => return Err(format!("epoch {epoch} was renewed by a process that does not hold it")),
            },
            Action::Released(epoch) => match &mut self.term {
                Some(term) if term.holder == *token && term.epoch == *epoch => {
                    term.ends = term.ends.min(now);
                }
                _ => return Err(format!("epoch {epoch} was released by a process that does not hold it")),
            },
            Action::Planned(key, epoch) => {
                if *epoch != self.newest_epoch {
                    return Err(format!("a write under epoch {epoch} succeeded after epoch {}", self.newest_epoch));
                }
                if !self.planned.insert(key.clone()) {
                    return Err(format!("{key} was planned twice"));
                }
                self.due.remove(key);
                self.progress = Some((now, *epoch));
            }
            Action::Enqueued(key, due) => {
                if self.planned.contains(key) || self.due.insert(key.clone(), *due).is_some() {
                    return Err(format!("{key} was enqueued twice"));
                }
            }
        }
        Ok(())
    }

    /// Checks the status of an exporter against the truth.
    pub fn check(&mut self, status: &Status, now: Duration, allowed: &[Reason]) -> Result<(), String> {
        let state = status.verdict.state;
        let reason = status.verdict.reason;
        *self.verdicts.entry(format!("{state} {reason}")).or_default() += 1;
        let holder = self.term.as_ref().filter(|term| now < term.ends);
        let progressed = |term: &Term| match self.progress {
            Some((at, epoch)) if epoch == term.epoch => Some(now - at),
            _ => None,
        };
        let oldest_due = self.due.values().min().map(|since| now.saturating_sub(*since));
        let overdue = oldest_due.is_some_and(|waited| waited > STALL_AFTER);
        let truth = || format!("{self:?} at {now:?}, and the exporter says {}: {}", state, status.sentence());
        match (state, holder) {
            (State::Active, Some(term)) if progressed(term).is_some_and(|ago| ago <= STALL_AFTER) => {}
            (State::Stalled, Some(term))
                if overdue && progressed(term).unwrap_or(now - term.acquired) > STALL_AFTER => {}
            (State::Idle, Some(term)) if !overdue && progressed(term).is_none_or(|ago| ago > STALL_AFTER) => {}
            (State::NoLeader, None) => {}
            (State::Unknown, _) if allowed.contains(&reason) => {}
            _ => return Err(format!("the state is not true: {}", truth())),
        }
        if status.verdict.authority != Authority::Unknown
            && (status.verdict.authority == Authority::Held) != holder.is_some()
        {
            return Err(format!("the authority is not true: {}", truth()));
        }
        match &status.observation {
            Err(ObservationFailure::Source(_)) => Ok(()),
            Err(_) => Err(format!("the record was valid: {}", truth())),
            Ok(evidence) => self.check_evidence(evidence, now).map_err(|error| format!("{error}: {}", truth())),
        }
    }

    /// Checks the evidence of an exporter against the truth.
    fn check_evidence(&self, evidence: &Evidence, now: Duration) -> Result<(), String> {
        let within = |age: Age, truth: Duration| {
            // The store's clock counts milliseconds.
            let slack = Duration::from_millis(2);
            age.lower() <= truth + slack && age.upper().is_none_or(|upper| truth <= upper + slack)
        };
        if let (AuthorityEvidence::Holder(holder), Some(term)) = (&evidence.authority, &self.term) {
            if holder.epoch.is_some_and(|epoch| epoch.0 != term.epoch) {
                return Err("the epoch is not true".to_owned());
            }
            if !within(holder.renewed.age, now - term.renewed) {
                return Err("the age of the lease is not true".to_owned());
            }
            if !within(holder.acquired.age, now - term.acquired) {
                return Err("the time that it has been held is not true".to_owned());
            }
        }
        match (evidence.progress, self.progress) {
            (Progress::Made { age: when, .. }, Some((at, _))) if within(when.age, now - at) => {}
            (Progress::Never, None) => {}
            // Without a record of the lease, the query returns no progress.
            (Progress::Never, _) if matches!(evidence.authority, AuthorityEvidence::Vacant { .. }) => {}
            _ => return Err("the age of the last progress is not true".to_owned()),
        }
        let due = self.due.len() as u64;
        match (evidence.due, self.due.values().min()) {
            (Due::Waiting { count: Some(count), oldest: Some(oldest), .. }, Some(since))
                if count == due && within(oldest.age, now.saturating_sub(*since)) => {}
            (Due::Waiting { count: Some(count), oldest: None, .. }, Some(_)) if count == due => {}
            (Due::Nothing, None) | (Due::NotKnown, _) => {}
            _ => return Err("what is due is not true".to_owned()),
        }
        Ok(())
    }
}
