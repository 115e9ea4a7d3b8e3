//! What happens to a synthetic scheduler.

use std::fmt;

use super::authority::Epoch;
use super::protocol::ProtocolError;

/// One thing that happened. As text it is one line of a stable form: a word, then `name=value` pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It leads, under this epoch.
    Acquired {
        /// The new epoch.
        epoch: Epoch,
    },
    /// What it had worked on had been planned by someone else, or by itself without knowing.
    AlreadyPlanned {
        /// Which occurrence.
        key: String,
    },
    /// It counted the backlog, for an occurrence of that action.
    Counted {
        /// How many occurrences were due.
        due: u64,
    },
    /// It put an occurrence into the queue.
    Enqueued {
        /// Which occurrence.
        key: String,
    },
    /// Its write was refused because its authority has been superseded. It has stepped down.
    Fenced {
        /// Which occurrence it had worked on.
        key: String,
        /// The epoch that it wrote under.
        epoch: Epoch,
    },
    /// Its work stands still from now on, while it renews.
    Frozen,
    /// It could not renew, or had nothing to release, since the lease is not its own any more. It has stepped down.
    Lost {
        /// The epoch that it had.
        epoch: Epoch,
    },
    /// It did its fenced write.
    Planned {
        /// Which occurrence.
        key: String,
        /// The epoch that it wrote under.
        epoch: Epoch,
    },
    /// It gave the lease back.
    Released {
        /// The epoch that it had.
        epoch: Epoch,
    },
    /// It prolonged the lease.
    Renewed {
        /// The epoch that goes on.
        epoch: Epoch,
    },
    /// The store failed. What failed is tried again later.
    StoreFailed(ProtocolError),
    /// It began to work on an occurrence.
    Taken {
        /// Which occurrence.
        key: String,
    },
    /// Its work moves again.
    Thawed,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquired { epoch } => write!(f, "acquired epoch={epoch}"),
            // Keys come out of a store that others may write to: escaped, none can end a line.
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
        assert_eq!(Event::Planned { key: key.clone(), epoch }.to_string(), "planned key=a\\nb epoch=1");
        assert_eq!(Event::Fenced { key, epoch }.to_string(), "fenced epoch=1 key=a\\nb");
        let failed = Event::StoreFailed(ProtocolError::Busy);
        assert_eq!(failed.to_string(), "store_failed error=\"the store stayed locked by others for too long\"");
    }
}
