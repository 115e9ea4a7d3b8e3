//! What to do about a lease, for the person on call. The runbooks under `alerts/` say it at length.

use crate::lease::{Alert, Reason};

/// What to do about a lease in a state with some reason.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// What to do, step by step.
    pub steps: &'static [&'static str],
    /// The alert whose runbook says more.
    pub runbook: Alert,
}

/// How one gets from the token on the page to a process.
const HOLDER: &str = "Find the holder: the token stands for its name, which the store has in what the query selects AS \
    holder, or in the key. lease-exporter presets NAME prints that statement.";

impl Advice {
    /// The advice for a reason; `None` where there is nothing to do.
    #[must_use]
    pub const fn on(reason: Reason) -> Option<Self> {
        let (runbook, steps): (_, &[_]) = match reason {
            Reason::Progressing | Reason::NothingDue => return None,
            Reason::NoProgress | Reason::NeverProgressed => (
                Alert::WorkStalled,
                &[
                    HOLDER,
                    "PriorState anything else take what shows why it hangs: a stack or thread dump, its last log lines, the \
                     store\u{2019}s locks. A restart destroys that.",
                    "End the task that is in the way, or restart the holder: then another takes over.",
                ],
            ),
            Reason::WorkStuck => (
                Alert::WorkStalled,
                &["Look at the oldest item that is due. Other work moves, so a restart will not help it."],
            ),
            Reason::Absent | Reason::Released | Reason::Expired => (
                Alert::NoLeader,
                &[
                    "See whether any process that could take it runs and reaches the store.",
                    "Its log says why it does not take the lease: it is paused, it fails at the start, or its clock is wrong.",
                ],
            ),
            Reason::ProgressWithoutAuthority => (
                Alert::StateUnknown,
                &[HOLDER, "Stop what works without the lease, and see that the store refuses what it writes."],
            ),
            Reason::EpochRegressed => (
                Alert::EpochRegressed,
                &[
                    "Find out whether the store was restored or made anew. Until the epoch has grown beyond all before, a \
                   writer that lost its lease may be let through.",
                ],
            ),
            Reason::StoreUnreachable => (
                Alert::SourceDown,
                &["See whether the store runs and can be reached from here: lease-exporter check --connect tries it."],
            ),
            Reason::StoreTimeout => (
                Alert::SourceDown,
                &["See what slows the store down, or what it waits for. Its own limit is the source\u{2019}s timeout."],
            ),
            Reason::StoreRefused => (
                Alert::SourceDown,
                &["See what the exporter\u{2019}s user may do: lease-exporter presets NAME prints the grants."],
            ),
            Reason::SchemaMismatch => (
                Alert::SourceDown,
                &[
                    "Compare the preset or the query with the tables that are there: lease-exporter check --connect says \
                   what is missing.",
                ],
            ),
            Reason::InvalidRecord => (
                Alert::StateUnknown,
                &[
                    "Correct the record in the store, or the query that reads it. The exporter\u{2019}s log names the column.",
                ],
            ),
            Reason::ClockSkew => (
                Alert::StateUnknown,
                &["Compare the clocks of the store and of the holder. clock_skew says how far apart they may be."],
            ),
            Reason::AwaitingFirstProgress => (
                Alert::StateUnknown,
                &[
                    "Wait for as long as stall_after. If it stays so, leaders change before any makes progress: their logs \
                   say why.",
                ],
            ),
            Reason::DueUnknown => (
                Alert::StateUnknown,
                &["Have the source report what is due, or set a cadence or work: continuous for the lease."],
            ),
            Reason::ProgressNotReported => {
                (Alert::StateUnknown, &["Have the source report progress; without it this cannot be known."])
            }
            Reason::NotObservedYet | Reason::ObservationGap => (
                Alert::StateUnknown,
                &[
                    "Wait for as long as stall_after. If it comes back, looks fail or come too seldom: they must be closer \
                   together than stall_after. A lease beyond max_leases, or with more than 1000 rows, is never looked at.",
                ],
            ),
        };
        Some(Self { steps, runbook })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_to_do_about_all_that_is_not_well_and_a_stall_is_recorded_before_it_is_ended() {
        for reason in Reason::ALL {
            let advice = Advice::on(reason);
            let well = matches!(reason, Reason::Progressing | Reason::NothingDue);
            assert_eq!(advice.is_none(), well, "{reason}");
            assert!(advice.is_none_or(|advice| !advice.steps.is_empty()), "{reason}");
        }
        let stall = Advice::on(Reason::NoProgress).unwrap();
        let at = |text: &str| stall.steps.iter().position(|step| step.contains(text)).unwrap();
        assert!(at("Find the holder") < at("thread dump") && at("thread dump") < at("restart the holder"));
        assert_eq!(stall.runbook, Alert::WorkStalled);
    }

    #[test]
    fn each_runbook_is_there() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts/runbooks");
        for advice in Reason::ALL.into_iter().filter_map(Advice::on) {
            assert!(folder.join(format!("{}.md", advice.runbook)).is_file(), "{}", advice.runbook);
        }
    }
}
