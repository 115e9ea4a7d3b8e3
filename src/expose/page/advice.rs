//! Short advice on a lease for the person on call. The runbooks under `alerts/` have the details.

use crate::lease::{Alert, Reason, State};

/// The advice on a lease whose state has a given reason.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// The steps, in order.
    pub steps: &'static [&'static str],
    /// The alert whose runbook has the details.
    pub runbook: Alert,
}

/// How to find the process that belongs to a token.
const FIND_HOLDER: &str = "Find the holder: the token stands for the value that the query selects AS holder, or for a part of \
    the key. lease-exporter presets NAME prints the query.";

impl Advice {
    /// The advice for a reason; `None` if there is nothing to do.
    #[must_use]
    pub const fn on(reason: Reason) -> Option<Self> {
        let steps: &[_] = match reason {
            Reason::Progressing | Reason::NothingDue => return None,
            Reason::NoProgress | Reason::NeverProgressed => &[
                FIND_HOLDER,
                "Before anything else save the evidence of why it hangs: a stack or thread dump, its last log lines, the \
                     store\u{2019}s locks. A restart destroys it.",
                "End the task that blocks the others, or restart the holder so that another process takes over.",
            ],
            Reason::WorkStuck => {
                &["Look at the oldest item that is due. Other work moves, so a restart does not help."]
            }
            Reason::Absent | Reason::Released | Reason::Expired => &[
                "Check that a process that could acquire the lease is running and reaches the store.",
                "Its log says why it does not acquire the lease: it is paused, it fails at the start, or its clock is wrong.",
            ],
            Reason::ProgressWithoutAuthority => &[
                FIND_HOLDER,
                "Stop the process that works without the lease, and check that the store refuses its writes.",
            ],
            Reason::EpochRegressed => &[
                "Find out whether the store was restored or recreated. Until the epoch exceeds every earlier epoch, the \
                     writes of a former holder may be accepted.",
            ],
            Reason::StoreUnreachable => &[
                "Check that the store is running and can be reached from here: lease-exporter check --connect tries it.",
            ],
            Reason::StoreTimeout => &[
                "Find out what slows the store down, or which lock it waits for. The limit is the source\u{2019}s timeout.",
            ],
            Reason::StoreRefused => {
                &["Check the privileges of the exporter\u{2019}s user: lease-exporter presets NAME prints the grants."]
            }
            Reason::SchemaMismatch => &[
                "Compare the preset or the query with the existing tables: lease-exporter check --connect says what is \
                   missing.",
            ],
            Reason::InvalidRecord => &[
                "Correct the record in the store, or the query that reads it. The exporter\u{2019}s log names the column.",
            ],
            Reason::ClockSkew => &[
                "Compare the clocks of the store and of the holder. clock_skew is the largest difference that is allowed.",
            ],
            Reason::AwaitingFirstProgress => &[
                "Wait for as long as stall_after. If the state stays, leaders change before any makes progress: their logs \
                   say why.",
            ],
            Reason::DueUnknown => {
                &["Have the source report due work, or set a cadence or work: continuous for the lease."]
            }
            Reason::ProgressNotReported => {
                &["Have the source report progress. Without it, a stall cannot be detected."]
            }
            Reason::NotObservedYet | Reason::ObservationGap => &[
                "Wait for as long as stall_after. If the state comes back, reads fail or are too rare: the interval between \
                   two scrapes must be shorter than stall_after. A lease beyond max_leases, or with more than 1000 rows, is \
                   never read.",
            ],
        };
        Some(Self { steps, runbook: runbook(reason) })
    }
}

const fn runbook(reason: Reason) -> Alert {
    match (reason, reason.state()) {
        (Reason::EpochRegressed, _) => Alert::EpochRegressed,
        (Reason::StoreUnreachable | Reason::StoreTimeout | Reason::StoreRefused | Reason::SchemaMismatch, _) => {
            Alert::SourceDown
        }
        (_, State::Stalled) => Alert::WorkStalled,
        (_, State::NoLeader) => Alert::NoLeader,
        (_, State::Active | State::Idle | State::Unknown) => Alert::StateUnknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unhealthy_reason_has_advice_and_a_stall_is_recorded_before_a_restart() {
        for reason in Reason::ALL {
            let advice = Advice::on(reason);
            let is_healthy = matches!(reason, Reason::Progressing | Reason::NothingDue);
            assert_eq!(advice.is_none(), is_healthy, "{reason}");
            assert!(advice.is_none_or(|advice| !advice.steps.is_empty()), "{reason}");
        }
        let stall = Advice::on(Reason::NoProgress).unwrap();
        let at = |text: &str| stall.steps.iter().position(|step| step.contains(text)).unwrap();
        assert!(at("Find the holder") < at("thread dump") && at("thread dump") < at("restart the holder"));
        assert_eq!(stall.runbook, Alert::WorkStalled);
    }

    #[test]
    fn each_runbook_exists() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts/runbooks");
        for advice in Reason::ALL.into_iter().filter_map(Advice::on) {
            assert!(folder.join(format!("{}.md", advice.runbook)).is_file(), "{}", advice.runbook);
        }
    }
}
