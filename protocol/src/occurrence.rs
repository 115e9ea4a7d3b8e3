//! Work: occurrences of maintenance actions.

use crate::StoreTime;

/// A synthetic maintenance action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaintenanceAction {
    /// Counts the due work. Only reads.
    CountBacklog,
    /// Records that retention is planned. Nothing carries the plan out.
    PlanRetention,
}

/// Whether an action must be fenced before its side effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// The action has no side effect, so a late execution by a former leader does no harm.
    NotNeeded,
    /// The side effect may happen only in a fenced write, which is refused after a newer epoch exists.
    Required,
}

impl MaintenanceAction {
    /// All actions.
    pub const ALL: [Self; 2] = [Self::CountBacklog, Self::PlanRetention];

    /// Whether this action must be fenced before its side effect (ALEASE-103).
    #[must_use]
    pub fn fencing(self) -> Fencing {
        match self {
            Self::CountBacklog => Fencing::NotNeeded,
            Self::PlanRetention => Fencing::Required,
        }
    }

    /// The name of the action in a store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CountBacklog => "count_backlog",
            Self::PlanRetention => "plan_retention",
        }
    }

    /// The action with this name in a store.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// One due execution of an action under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The idempotency key, unique in the store: an occurrence that is enqueued twice exists once and is planned once.
    pub key: String,
    /// The lease under which it is planned.
    pub lease: String,
    /// The action to execute.
    pub action: MaintenanceAction,
    /// When it becomes due.
    pub due_at: StoreTime,
}

/// The work that is due and not planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The number of occurrences.
    pub due: u64,
    /// The due time of the oldest; `None` if there is none.
    pub oldest_due_at: Option<StoreTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_name() {
        for action in MaintenanceAction::ALL {
            assert_eq!(MaintenanceAction::parse(action.as_str()), Some(action));
        }
        assert_eq!(MaintenanceAction::parse("delete"), None);
    }

    #[test]
    fn an_action_with_a_side_effect_needs_fencing() {
        assert_eq!(MaintenanceAction::PlanRetention.fencing(), Fencing::Required);
        assert_eq!(MaintenanceAction::CountBacklog.fencing(), Fencing::NotNeeded);
    }
}
