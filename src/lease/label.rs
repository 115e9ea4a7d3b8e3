//! The closed sets of the model, each with its label strings in this one place.

/// Declares an enum whose variants are label values, with `ALL`, `as_str`, `description` and `Display`. The documentation
/// of a variant is also what the documents of the repository say of the value.
macro_rules! labels {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $label:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $doc])+ $variant),+ }

        impl $name {
            /// Every value, in the order of exposition.
            pub const ALL: [Self; [$($label),+].len()] = [$(Self::$variant),+];

            /// The label value of each.
            pub const LABELS: [&'static str; Self::ALL.len()] = [$($label),+];

            /// The label value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }

            /// The meaning of the value, in Markdown.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii()),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use labels;

labels! {
    /// The state of a lease: authority and progress in one word.
    State {
        /// Nobody has the right to act: there is no record, or it was released, or it expired.
        NoLeader = "no_leader",
        /// The lease is held, and work moved under its epoch within `stall_after`.
        Active = "active",
        /// The lease is held, and nothing has been due for longer than `stall_after`; or nobody needs to hold the claim
        /// now.
        Idle = "idle",
        /// The lease is held, work has been due for longer than `stall_after`, and none of it moved.
        Stalled = "stalled",
        /// The evidence does not decide between the other states.
        Unknown = "unknown",
    }
}

labels! {
    /// The authority to act: whether a holder has it.
    Authority {
        /// A holder certainly has the right to act.
        Held = "held",
        /// Nobody has it: there is no record, or the holder released the lease.
        Vacant = "vacant",
        /// Nobody has it: the lease of the last holder has certainly expired.
        Expired = "expired",
        /// The evidence does not decide.
        Unknown = "unknown",
    }
}

labels! {
    /// Whether work moves under the present authority.
    ProgressState {
        /// Work moved within `stall_after`.
        Advancing = "advancing",
        /// No work has moved, and none has been due for longer than `stall_after`.
        Idle = "idle",
        /// Work is due, and none has moved within `stall_after`.
        Stalled = "stalled",
        /// The evidence does not decide, or nobody holds the lease.
        Unknown = "unknown",
    }
}

labels! {
    /// Why a state is what it is.
    Reason {
        /// The store has no record of the lease.
        Absent = "absent",
        /// The holder released the lease.
        Released = "released",
        /// The lease expired, and nobody acquired it.
        Expired = "expired",
        /// Work moved within `stall_after`.
        Progressing = "progressing",
        /// Nothing is due, or nothing has been due for longer than `stall_after`.
        NothingDue = "nothing_due",
        /// Work is due, and none has moved within `stall_after`.
        NoProgress = "no_progress",
        /// Work is due, and none has moved since the lease was acquired, longer than `stall_after` ago.
        NeverProgressed = "never_progressed",
        /// Other work moves, but the oldest due work has waited for longer than `overdue_after`.
        WorkStuck = "work_stuck",
        /// The lease was acquired within `stall_after`, work is due, and none has moved yet.
        AwaitingFirstProgress = "awaiting_first_progress",
        /// No work has moved within `stall_after`, and the source does not say whether any was due.
        DueUnknown = "due_unknown",
        /// The source does not report progress.
        ProgressNotReported = "progress_not_reported",
        /// The exporter has not watched the lease for long enough, or does not read it: the lease is beyond
        /// `max_leases`, or has more than 1,000 rows.
        NotObservedYet = "not_observed_yet",
        /// Work moved between two readings that are too far apart to say whether it moved within `stall_after`.
        ObservationGap = "observation_gap",
        /// The exporter could not reach the store.
        StoreUnreachable = "store_unreachable",
        /// The store did not answer within the source's `timeout`, or within the scrape's.
        StoreTimeout = "store_timeout",
        /// The store answered with an error, such as a missing permission.
        StoreRefused = "store_refused",
        /// The store lacks a table or column that the query needs.
        SchemaMismatch = "schema_mismatch",
        /// The record of the lease breaks the reading contract.
        InvalidRecord = "invalid_record",
        /// Two clocks disagree by more than `clock_skew`, a time lies in the future, or a time is too close to a limit
        /// to decide.
        ClockSkew = "clock_skew",
        /// Work moved after the lease had ended.
        ProgressWithoutAuthority = "progress_without_authority",
        /// The epoch went backwards, so fencing cannot be relied on. The state stays `unknown` until an epoch is higher
        /// than all before, or the exporter is restarted because the store was made anew on purpose.
        EpochRegressed = "epoch_regressed",
    }
}

impl Reason {
    /// The state that has this reason.
    #[must_use]
    pub const fn state(self) -> State {
        match self {
            Self::Absent | Self::Released | Self::Expired => State::NoLeader,
            Self::Progressing => State::Active,
            Self::NothingDue => State::Idle,
            Self::NoProgress | Self::NeverProgressed | Self::WorkStuck => State::Stalled,
            Self::AwaitingFirstProgress
            | Self::DueUnknown
            | Self::ProgressNotReported
            | Self::NotObservedYet
            | Self::ObservationGap
            | Self::StoreUnreachable
            | Self::StoreTimeout
            | Self::StoreRefused
            | Self::SchemaMismatch
            | Self::InvalidRecord
            | Self::ClockSkew
            | Self::ProgressWithoutAuthority
            | Self::EpochRegressed => State::Unknown,
        }
    }
}

labels! {
    /// Events that should never happen, counted as the exporter notices them.
    Anomaly {
        /// An epoch was lower than one before.
        EpochRegressed = "epoch_regressed",
        /// The holder changed, and the epoch did not.
        HolderChangedWithoutEpoch = "holder_changed_without_epoch",
        /// Progress was recorded under an epoch that had already ended.
        ProgressFromStaleEpoch = "progress_from_stale_epoch",
        /// Two clocks disagree, or a time lies in the future.
        ClockSkew = "clock_skew",
        /// The store has no time at which the lease ends.
        NoTtl = "no_ttl",
    }
}

labels! {
    /// Why a whole source could not be read.
    ReadFailure {
        /// The store could not be reached. The operator of the store must act.
        Unreachable = "store_unreachable",
        /// The store did not answer in time. The operator of the store must act, or `timeout` is too short.
        Timeout = "store_timeout",
        /// The store answered with an error, such as a missing permission. Whoever grants access must act.
        Refused = "store_refused",
        /// Tables or columns are not those of the query or preset. The author of the configuration must act.
        SchemaMismatch = "schema_mismatch",
        /// The answer as a whole breaks the contract, such as a clock that is no time. The author of the query must act.
        InvalidRecord = "invalid_record",
    }
}

impl ReadFailure {
    /// The reason that the leases of the source then show.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Unreachable => Reason::StoreUnreachable,
            Self::Timeout => Reason::StoreTimeout,
            Self::Refused => Reason::StoreRefused,
            Self::SchemaMismatch => Reason::SchemaMismatch,
            Self::InvalidRecord => Reason::InvalidRecord,
        }
    }
}

labels! {
    /// Why a row was rejected.
    RecordFault {
        /// A value has a type that its column cannot have.
        WrongType = "wrong_type",
        /// A value is out of range, such as a negative epoch or a time in the year 50000.
        OutOfRange = "out_of_range",
        /// A text is not UTF-8, or cannot be read as what its column holds.
        Unreadable = "unreadable",
        /// The row has no lease name, and other rows have one.
        NoName = "no_name",
        /// The lease name is longer than 1,024 bytes.
        NameTooLong = "name_too_long",
        /// Another row has the same lease, which can have only one holder at a time.
        Duplicate = "duplicate",
        /// The lease is beyond `max_leases`, the row is beyond the first 1,000 of its lease, or beyond ten rows for each of
        /// `max_leases`.
        OverLimit = "over_limit",
    }
}

labels! {
    /// The columns of the reading contract.
    Column {
        /// The store's clock.
        StoreNow = "store_now",
        /// The lease's name.
        Lease = "lease",
        /// The holder's name.
        Holder = "holder",
        /// The authority epoch.
        Epoch = "epoch",
        /// When the lease was acquired.
        AcquiredAt = "acquired_at",
        /// When it was last renewed.
        RenewedAt = "renewed_at",
        /// When it expires.
        ExpiresAt = "expires_at",
        /// How long after a renewal it expires.
        TtlSeconds = "ttl_seconds",
        /// When progress was last made.
        ProgressAt = "progress_at",
        /// The epoch under which it was made.
        ProgressEpoch = "progress_epoch",
        /// A value that changes whenever work moves.
        ProgressCursor = "progress_cursor",
        /// How much is due.
        Due = "due",
        /// Since when the oldest due work has waited.
        OldestDueAt = "oldest_due_at",
    }
}
