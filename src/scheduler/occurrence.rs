//! What there is to do: occurrences of maintenance actions.

use super::authority::StoreTime;

/// Something that maintenance does. Both actions are synthetic: the one writes a planning row, the other reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaintenanceAction {
    /// Count what is due. Reads, and changes nothing.
    CountBacklog,
    /// Write down that retention has been planned. Nothing acts on the plan.
    PlanRetention,
}

/// Whether an action must prove its authority before its side effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// It has no side effect; whoever does it, and however late, no harm is done.
    NotNeeded,
    /// Its side effect may happen only inside a fenced write, which refuses it once a newer epoch exists.
    Required,
}

impl MaintenanceAction {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::CountBacklog, Self::PlanRetention];

    /// Whether this action must be fenced before its side effect. A new action has to answer here.
    #[must_use]
    pub fn fencing(self) -> Fencing {
        match self {
            Self::CountBacklog => Fencing::NotNeeded,
            Self::PlanRetention => Fencing::Required,
        }
    }

    /// Its name in a store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CountBacklog => "count_backlog",
            Self::PlanRetention => "plan_retention",
        }
    }

    /// The action of that name in a store.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// One time that an action is due under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Says which occurrence it is, in the whole store: enqueued twice it is still one, and it is planned once.
    pub key: String,
    /// The lease under which it is to be done.
    pub lease: String,
    /// What is to be done.
    pub action: MaintenanceAction,
    /// From when on it may be done.
    pub due_at: StoreTime,
}

/// Work that is due and has not been planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// How many occurrences.
    pub due: u64,
    /// Since when the oldest of them has been due; `None` if none is.
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
    fn what_has_a_side_effect_needs_fencing() {
        assert_eq!(MaintenanceAction::PlanRetention.fencing(), Fencing::Required);
        assert_eq!(MaintenanceAction::CountBacklog.fencing(), Fencing::NotNeeded);
    }
}
