//! The steps of the demo: an action, its description, and the state that the exporter must then show.

use crate::lease::{Reason, State};

/// An action on the schedulers, the work queue or the exporter's access to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Occurrences become due at a constant rate.
    ProduceWork,
    /// No more occurrences become due.
    StopWork,
    /// The leader's work hangs while it continues to renew the lease.
    FreezeLeader,
    /// The leader's work continues.
    ThawLeader,
    /// The leader stops with an occurrence in hand. The standby is paused as well.
    PauseLeader,
    /// The standby continues and acquires the lease.
    TakeOver,
    /// The former leader continues where it was paused.
    ResumeFormerLeader,
    /// The exporter loses its access to the store.
    HideStore,
    /// The exporter regains its access to the store.
    RestoreStore,
}

/// One step. In the texts, `{leader}` and `{other}` stand for the schedulers' names and `{hidden}` for the description of
/// [`Action::HideStore`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The heading of the chapter that begins with this step.
    pub(super) heading: Option<&'static str>,
    pub(super) action: Action,
    /// The text printed before the action.
    pub(super) description: &'static str,
    /// The state and reason that the exporter must show.
    pub(super) expected: (State, Reason),
    /// The text printed once the exporter shows the expected state; it may be empty.
    pub(super) explanation: &'static str,
    /// How long the state is shown afterwards, in milliseconds.
    pub(super) hold_ms: u32,
}

const ACTIVE: (State, Reason) = (State::Active, Reason::Progressing);

/// All steps. The last step ends in the state in which the first begins, so the scenario can be repeated.
pub(super) const STEPS: [Step; 10] = [
    Step {
        heading: Some("Work moves"),
        action: Action::ProduceWork,
        description: "Occurrences fall due one after the other. {leader} holds the lease and plans them.",
        expected: ACTIVE,
        explanation: "Two facts: a scheduler has the right to act, and its work moves. Here both are as they should be.",
        hold_ms: 3_000,
    },
    Step {
        heading: Some("Nothing is due"),
        action: Action::StopWork,
        description: "No more occurrences fall due. {leader} empties the queue and continues to renew its lease.",
        expected: (State::Idle, Reason::NothingDue),
        explanation: "There has been no progress for longer than the limit, but nothing is wrong: no work was due.",
        hold_ms: 3_000,
    },
    Step {
        heading: Some("The leader hangs, and continues to renew its lease"),
        action: Action::ProduceWork,
        description: "Occurrences fall due again.",
        expected: ACTIVE,
        explanation: "",
        hold_ms: 1_500,
    },
    Step {
        heading: None,
        action: Action::FreezeLeader,
        description: "{leader} hangs in the middle of its work and continues to renew its lease. Watch the two ages:",
        expected: (State::Stalled, Reason::NoProgress),
        explanation: "The lease alone looks healthy: its age stays small. The age of the last progress grows while work \
                      is due.",
        hold_ms: 3_500,
    },
    Step {
        heading: None,
        action: Action::ThawLeader,
        description: "{leader} works again.",
        expected: ACTIVE,
        explanation: "",
        hold_ms: 2_000,
    },
    Step {
        heading: Some("The leader stops, and comes back too late"),
        action: Action::PauseLeader,
        description: "{leader} stops with an occurrence in hand, as by SIGSTOP, and does not notice it. {other} is paused \
                      too, so that the gap is visible.",
        expected: (State::NoLeader, Reason::Expired),
        explanation: "",
        hold_ms: 2_000,
    },
    Step {
        heading: None,
        action: Action::TakeOver,
        description: "{other} continues.",
        expected: ACTIVE,
        explanation: "The new leader counts as active only once it has made progress under its own epoch.",
        hold_ms: 2_500,
    },
    Step {
        heading: None,
        action: Action::ResumeFormerLeader,
        description: "{other} continues where it was, and writes the result of the occurrence that it had in hand.",
        expected: ACTIVE,
        explanation: "The store refused the write, because a newer epoch exists. Nothing was planned twice.",
        hold_ms: 2_500,
    },
    Step {
        heading: Some("The store cannot be read"),
        action: Action::HideStore,
        description: "{hidden} The schedulers notice nothing.",
        expected: (State::Unknown, Reason::StoreUnreachable),
        explanation: "Not zero, and not the last value: the lease has no ages and no epoch now. The exporter logs this \
                      once, on standard error.",
        hold_ms: 3_500,
    },
    Step {
        heading: None,
        action: Action::RestoreStore,
        description: "The exporter's access to the store is restored.",
        expected: ACTIVE,
        explanation: "The times are the store's own, so the first reading is already conclusive.",
        hold_ms: 3_000,
    },
];
