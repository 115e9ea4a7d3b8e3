//! What is true: kept from what the schedulers did, not from what the store says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lease_exporter::lease::{
    Age, Authority, AuthorityEvidence, Due, Evidence, ObservationFailure, Progress, Reason, State, Status,
};
use lease_protocol::HolderId;

use crate::world::{STALL_AFTER, TTL};

#[derive(Debug, Default)]
pub struct Oracle {
    tenure: Option<Tenancy>,
    newest_epoch: u64,
    /// When progress was last made, and under which epoch.
    progress: Option<(Duration, u64)>,
    /// What waits, and since when.
    due: BTreeMap<String, Duration>,
    planned: BTreeSet<String>,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Tenancy {
    holder: HolderId,
    epoch: u64,
    acquired: Duration,
    renewed: Duration,
    /// When its time is up; earlier than `renewed + TTL` once it was given back.
    ends: Duration,
}

/// What a scheduler had the store do.
#[derive(Clone, Debug)]
pub enum Deed {
    Acquired(u64),
    Renewed(u64),
    Released(u64),
    /// An occurrence and when it is due.
    Enqueued(String, Duration),
    Planned(String, u64),
}

impl Oracle {
    /// Takes in what a scheduler did, and checks that the protocol allows it.
    pub fn take_in(&mut self, token: &HolderId, deed: &Deed, now: Duration) -> Result<(), String> {
        match deed {
            Deed::Acquired(epoch) => {
                if let Some(tenure) = self.tenure.as_ref().filter(|tenure| now < tenure.ends) {
                    return Err(format!("acquired while {:?} still holds it", tenure.holder));
                }
                if *epoch <= self.newest_epoch {
                    return Err(format!("epoch {epoch} after epoch {}", self.newest_epoch));
                }
                self.newest_epoch = *epoch;
                self.tenure = Some(Tenancy {
                    holder: token.clone(),
                    epoch: *epoch,
                    acquired: now,
                    renewed: now,
                    ends: now + TTL,
                });
            }
            Deed::Renewed(epoch) => match &mut self.tenure {
                Some(tenure) if tenure.holder == *token && tenure.epoch == *epoch && now < tenure.ends => {
                    tenure.renewed = now;
                    tenure.ends = now + TTL;
                }
                _ => return Err(format!("epoch {epoch} was renewed by whoever does not hold it")),
            },
            Deed::Released(epoch) => match &mut self.tenure {
                Some(tenure) if tenure.holder == *token && tenure.epoch == *epoch => {
                    tenure.ends = tenure.ends.min(now);
                }
                _ => return Err(format!("epoch {epoch} was released by whoever does not hold it")),
            },
            Deed::Planned(key, epoch) => {
                if *epoch != self.newest_epoch {
                    return Err(format!("a write under epoch {epoch} landed after epoch {}", self.newest_epoch));
                }
                if !self.planned.insert(key.clone()) {
                    return Err(format!("{key} was planned twice"));
                }
                self.due.remove(key);
                self.progress = Some((now, *epoch));
            }
            Deed::Enqueued(key, due) => {
                if self.planned.contains(key) || self.due.insert(key.clone(), *due).is_some() {
                    return Err(format!("{key} was enqueued twice"));
                }
            }
        }
        Ok(())
    }

    /// Checks what an exporter says of the lease at this moment.
    pub fn check(&mut self, status: &Status, now: Duration, allowed: &[Reason]) -> Result<(), String> {
        let state = status.verdict.state;
        let reason = status.verdict.reason;
        *self.verdicts.entry(format!("{state} {reason}")).or_default() += 1;
        let holder = self.tenure.as_ref().filter(|tenure| now < tenure.ends);
        let progressed = |tenure: &Tenancy| match self.progress {
            Some((at, epoch)) if epoch == tenure.epoch => Some(now - at),
            _ => None,
        };
        let oldest_due = self.due.values().min().map(|since| now.saturating_sub(*since));
        let overdue = oldest_due.is_some_and(|waited| waited > STALL_AFTER);
        let truth = || format!("{self:?} at {now:?}, and the exporter says {}: {}", state, status.sentence());
        match (state, holder) {
            (State::Active, Some(tenure)) if progressed(tenure).is_some_and(|ago| ago <= STALL_AFTER) => {}
            (State::Stalled, Some(tenure))
                if overdue && progressed(tenure).unwrap_or(now - tenure.acquired) > STALL_AFTER => {}
            (State::Idle, Some(tenure)) if !overdue && progressed(tenure).is_none_or(|ago| ago > STALL_AFTER) => {}
            (State::NoLeader, None) => {}
            (State::Unknown, _) if allowed.contains(&reason) => {}
            _ => return Err(format!("that is not true: {}", truth())),
        }
        if status.verdict.authority != Authority::Unknown
            && (status.verdict.authority == Authority::Held) != holder.is_some()
        {
            return Err(format!("the authority is not true: {}", truth()));
        }
        match &status.observation {
            Err(ObservationFailure::Source(_)) => Ok(()),
            Err(_) => Err(format!("the record was fine: {}", truth())),
            Ok(evidence) => self.check_evidence(evidence, now).map_err(|what| format!("{what}: {}", truth())),
        }
    }

    /// Checks that the truth lies within what an exporter takes for evidence.
    fn check_evidence(&self, evidence: &Evidence, now: Duration) -> Result<(), String> {
        let within = |age: Age, truth: Duration| {
            // The store's clock counts milliseconds.
            let slack = Duration::from_millis(2);
            age.lower() <= truth + slack && age.upper().is_none_or(|upper| truth <= upper + slack)
        };
        if let (AuthorityEvidence::Holder(holding), Some(tenure)) = (&evidence.authority, &self.tenure) {
            if holding.epoch.is_some_and(|epoch| epoch.0 != tenure.epoch) {
                return Err("the epoch is not true".to_owned());
            }
            if !within(holding.renewed.age, now - tenure.renewed) {
                return Err("the age of the lease is not true".to_owned());
            }
            if !within(holding.acquired.age, now - tenure.acquired) {
                return Err("the time that it has been held is not true".to_owned());
            }
        }
        match (evidence.progress, self.progress) {
            (Progress::Made { age: when, .. }, Some((at, _))) if within(when.age, now - at) => {}
            (Progress::Never, None) => {}
            // Where there is no record of the lease, there is none of progress beside it.
            (Progress::Never, _) if matches!(evidence.authority, AuthorityEvidence::Vacant { .. }) => {}
            _ => return Err("the age of the last progress is not true".to_owned()),
        }
        let waiting = self.due.len() as u64;
        match (evidence.due, self.due.values().min()) {
            (Due::Waiting { count: Some(count), oldest: Some(oldest), .. }, Some(since))
                if count == waiting && within(oldest.age, now.saturating_sub(*since)) => {}
            (Due::Waiting { count: Some(count), oldest: None, .. }, Some(_)) if count == waiting => {}
            (Due::Nothing, None) | (Due::NotKnown, _) => {}
            _ => return Err("what is due is not true".to_owned()),
        }
        Ok(())
    }
}
