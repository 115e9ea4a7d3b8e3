//! The events of a synthetic scheduler.

use std::fmt;

use crate::{Epoch, ProtocolError};

/// An event. Its text is one line in a stable format: a word, then `name=value` pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchedulerEvent {
    /// The scheduler acquired the lease.
    Acquired {
        /// The new epoch.
        epoch: Epoch,
    },
    /// The occurrence had already been planned, by another instance or by an earlier attempt whose outcome was unknown.
    AlreadyPlanned {
        /// The key of the occurrence.
        key: String,
    },
    /// The scheduler counted the backlog, as the action of an occurrence.
    Counted {
        /// The number of due occurrences.
        due: u64,
    },
    /// The scheduler added an occurrence to the queue.
    Enqueued {
        /// The key of the occurrence.
        key: String,
    },
    /// The fenced write was refused because the epoch is superseded. The scheduler has stepped down.
    Fenced {
        /// The key of the occurrence.
        key: String,
        /// The epoch of the write.
        epoch: Epoch,
    },
    /// The work was frozen; renewals continue.
    Frozen,
    /// The lease could not be renewed or released because it is lost. The scheduler has stepped down.
    Lost {
        /// The epoch that ended.
        epoch: Epoch,
    },
    /// The fenced write succeeded.
    Planned {
        /// The key of the occurrence.
        key: String,
        /// The epoch of the write.
        epoch: Epoch,
    },
    /// The scheduler released the lease.
    Released {
        /// The epoch that ended.
        epoch: Epoch,
    },
    /// The scheduler renewed the lease.
    Renewed {
        /// The epoch of the lease.
        epoch: Epoch,
    },
    /// The store failed. The action is retried later.
    StoreFailed(ProtocolError),
    /// The scheduler started to work on an occurrence.
    Taken {
        /// The key of the occurrence.
        key: String,
    },
    /// The work continues.
    Thawed,
}

impl fmt::Display for SchedulerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquired { epoch } => write!(f, "acquired epoch={epoch}"),
            // Other programs may write keys to the store. Escaped keys cannot break the line.
            Self::AlreadyPlanned { key } => write!(f, "already_planned key={}", key.escape_debug()),
            Self::Counted { due } => write!(f, "counted due={due}"),
            Self::Enqueued { key } => write!(f, "enqueued key={}", key.escape_debug()),
            Self::Fenced { key, epoch } => write!(f, "fenced epoch={epoch} key={}", key.escape_debug()),
            Self::Frozen => f.write_str("frozen"),
            Self::Lost { epoch } => write!(f, "lost epoch={epoch}"),
            Self::Planned { key, epoch } => write!(f, "planned key={} epoch={epoch}", key.escape_debug()),
            Self::Released { epoch } => write!(f, "released epoch={epoch}"),
            Self::Renewed { epoch } => write!(f, "renewed epoch={epoch}"),
            Self::StoreFailed(error) => write!(f, "store_failed error={:?}", error.to_string()),
            Self::Taken { key } => write!(f, "taken key={}", key.escape_debug()),
            Self::Thawed => f.write_str("thawed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_one_line() {
        let (key, epoch) = (String::from("a\nb"), Epoch::FIRST);
        assert_eq!(SchedulerEvent::Planned { key: key.clone(), epoch }.to_string(), "planned key=a\\nb epoch=1");
        assert_eq!(SchedulerEvent::Fenced { key, epoch }.to_string(), "fenced epoch=1 key=a\\nb");
        let failed = SchedulerEvent::StoreFailed(ProtocolError::Busy);
        assert_eq!(failed.to_string(), "store_failed error=\"the store stayed locked by others for too long\"");
    }
}
