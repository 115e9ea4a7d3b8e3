//! The story, as data: what is done, what is said of it, and what the exporter should then show.

use crate::lease::{Reason, State};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Work begins to fall due.
    Feed,
    /// No more work falls due.
    Starve,
    /// The leader's work stands still, while it renews.
    Freeze,
    /// It moves again.
    Thaw,
    /// The leader stops with work in hand, and the other one waits.
    Pause,
    /// The other one takes over.
    TakeOver,
    /// The one that was paused goes on where it was.
    Resume,
    /// The exporter's way to the store is taken away.
    Hide,
    /// And put back.
    Reveal,
}

/// One thing that is done, and what it should lead to. In what is said, `{leader}` and `{other}` stand for schedulers,
/// and `{hidden}` for how the store is taken away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    /// The title of the chapter that it begins.
    pub(super) title: Option<&'static str>,
    /// What is done.
    pub(super) act: Act,
    /// What is said as it is done.
    pub(super) says: &'static str,
    /// The state that the exporter should come to show.
    pub(super) state: State,
    /// And the reason.
    pub(super) reason: Reason,
    /// What is said once it does.
    pub(super) moral: &'static str,
    /// For how long it is looked at then, in milliseconds.
    pub(super) stays: u32,
}

/// The whole of it. It ends as it begins, so that it can begin anew.
pub(super) const STORY: [Beat; 10] = [
    Beat {
        title: Some("Work moves"),
        act: Act::Feed,
        says: "Occurrences fall due one after the other. {leader} holds the lease and plans them.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "Two facts: someone has the right to act, and the work moves. Here both are as they should be.",
        stays: 3_000,
    },
    Beat {
        title: Some("Nothing is due"),
        act: Act::Starve,
        says: "No more occurrences fall due. {leader} empties the queue and goes on to renew its lease.",
        state: State::Idle,
        reason: Reason::NothingDue,
        moral: "No progress for longer than the limit, and yet nothing is wrong: there was nothing to do.",
        stays: 3_000,
    },
    Beat {
        title: Some("The leader hangs, and renews its lease as ever"),
        act: Act::Feed,
        says: "Occurrences fall due again.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "",
        stays: 1_500,
    },
    Beat {
        title: None,
        act: Act::Freeze,
        says: "{leader} hangs in the midst of its work and goes on to renew its lease. Watch the two ages:",
        state: State::Stalled,
        reason: Reason::NoProgress,
        moral: "Whoever looks at the lease alone sees a healthy leader: its age stays small. The age that grows is \
                that of the last progress, and work is due.",
        stays: 3_500,
    },
    Beat {
        title: None,
        act: Act::Thaw,
        says: "{leader} works again.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "",
        stays: 2_000,
    },
    Beat {
        title: Some("The leader stops, and comes back too late"),
        act: Act::Pause,
        says: "{leader} stops with an occurrence in hand, as by SIGSTOP, and does not know it. {other} is held back too, \
               so that the gap can be seen.",
        state: State::NoLeader,
        reason: Reason::Expired,
        moral: "",
        stays: 2_000,
    },
    Beat {
        title: None,
        act: Act::TakeOver,
        says: "{other} is let go.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "The new leader counts as active only once it has made progress of its own, under its own epoch.",
        stays: 2_500,
    },
    Beat {
        title: None,
        act: Act::Resume,
        says: "{other} goes on where it was, and writes what it had in hand.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "The store refused it, because a newer epoch exists. Nothing was planned twice.",
        stays: 2_500,
    },
    Beat {
        title: Some("The store cannot be read"),
        act: Act::Hide,
        says: "{hidden} The schedulers notice nothing.",
        state: State::Unknown,
        reason: Reason::StoreUnreachable,
        moral: "Not zero, and not the last value: the lease has no ages and no epoch now. The exporter's log says so \
                once, on standard error.",
        stays: 3_500,
    },
    Beat {
        title: None,
        act: Act::Reveal,
        says: "It is put back.",
        state: State::Active,
        reason: Reason::Progressing,
        moral: "The times are the store's own, so the very first look tells again.",
        stays: 3_000,
    },
];
