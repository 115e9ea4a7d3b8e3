//! The closed sets of the model, each with its label strings in this one place.

/// Declares an enum whose variants are label values: `ALL`, `as_str`, `Display` and `FromStr` come with it.
macro_rules! labels {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $label:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every value, in the order of exposition.
            pub const ALL: [Self; [$($label),+].len()] = [$(Self::$variant),+];

            /// The label value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
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
    /// The projection of authority and progress into one word.
    State {
        /// Nobody has the right to act.
        NoLeader = "no_leader",
        /// The lease is held and work moves.
        Active = "active",
        /// The lease is held and nothing has been due for long.
        Idle = "idle",
        /// The lease is held, work is due, and none of it moves.
        Stalled = "stalled",
        /// The evidence does not settle it.
        Unknown = "unknown",
    }
}

labels! {
    /// Who has the right to act.
    Authority {
        /// Someone, surely.
        Held = "held",
        /// Nobody: no record, or a released one.
        Vacant = "vacant",
        /// Nobody: the holder's time is certainly up.
        Expired = "expired",
        /// The evidence does not settle it.
        Unknown = "unknown",
    }
}

labels! {
    /// Whether the work moves, under the authority there is.
    ProgressState {
        /// Work moved within the limit.
        Advancing = "advancing",
        /// No work has moved, and none has been due for long.
        Idle = "idle",
        /// Work is due, and none has moved within the limit.
        Stalled = "stalled",
        /// The evidence does not settle it; always so while nobody holds the lease.
        Unknown = "unknown",
    }
}

labels! {
    /// Why a state is what it is.
    Reason {
        /// The store has no record of the lease.
        Absent = "absent",
        /// The holder gave it back.
        Released = "released",
        /// The holder's time is up.
        Expired = "expired",
        /// Work moved within the limit.
        Progressing = "progressing",
        /// Nothing is due, or nothing has been for longer than the limit.
        NothingDue = "nothing_due",
        /// Work is due and none has moved within the limit.
        NoProgress = "no_progress",
        /// Work is due and none has moved since the lease was acquired.
        NeverProgressed = "never_progressed",
        /// Some work moves, but the oldest has been due for longer than `overdue_after`.
        WorkStuck = "work_stuck",
        /// Newly acquired, work is due, none done yet.
        AwaitingFirstProgress = "awaiting_first_progress",
        /// No progress for long, and whether any was due is not known.
        DueUnknown = "due_unknown",
        /// The source says nothing of progress.
        ProgressNotReported = "progress_not_reported",
        /// The exporter has not watched for long enough.
        NotObservedYet = "not_observed_yet",
        /// The exporter could not watch for a while.
        ObservationGap = "observation_gap",
        /// The store could not be reached.
        StoreUnreachable = "store_unreachable",
        /// The store did not answer in time.
        StoreTimeout = "store_timeout",
        /// The store answered with an error.
        StoreRefused = "store_refused",
        /// The store does not have the tables or columns asked for.
        SchemaMismatch = "schema_mismatch",
        /// The lease's record breaks the contract.
        InvalidRecord = "invalid_record",
        /// Two clocks disagree, or a time lies in the future.
        ClockSkew = "clock_skew",
        /// Work moved after the lease had ended.
        ProgressWithoutAuthority = "progress_without_authority",
        /// The epoch went backwards.
        EpochRegressed = "epoch_regressed",
    }
}

labels! {
    /// What should never happen, counted as it does.
    Anomaly {
        /// An epoch below one seen before.
        EpochRegressed = "epoch_regressed",
        /// Another holder under the same epoch.
        HolderChangedWithoutEpoch = "holder_changed_without_epoch",
        /// Progress written under an epoch that had already ended.
        ProgressFromStaleEpoch = "progress_from_stale_epoch",
        /// Two clocks disagree, or a time lies in the future.
        ClockSkew = "clock_skew",
        /// A lease that its store will never let expire.
        NoTtl = "no_ttl",
    }
}

labels! {
    /// Why a whole source could not be read: who must act on it.
    ReadFailure {
        /// It is not there or does not answer: whoever runs the store.
        Unreachable = "store_unreachable",
        /// It did not answer in time: whoever runs the store, or the configured `timeout`.
        Timeout = "store_timeout",
        /// It answered with an error, such as a missing permission: whoever grants access.
        Refused = "store_refused",
        /// Tables or columns are not what the query or preset needs: whoever wrote the configuration.
        SchemaMismatch = "schema_mismatch",
        /// The answer as a whole breaks the contract, such as a clock that is no time: whoever wrote the query.
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
    /// Why a row was not used.
    RecordFault {
        /// A value of a type that the column cannot have.
        WrongType = "wrong_type",
        /// A value that the column cannot have: a negative epoch, a time of the year 50000.
        OutOfRange = "out_of_range",
        /// A text that is not what the column holds, or is not UTF-8.
        Unreadable = "unreadable",
        /// A row without the name of a lease beside rows that have one.
        NoName = "no_name",
        /// A name longer than 1 KiB.
        NameTooLong = "name_too_long",
        /// A second row for a lease that has one holder at a time.
        Duplicate = "duplicate",
        /// A row of a lease beyond `max_leases`, or beyond the rows of one lease that are looked at.
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
        /// Under which epoch.
        ProgressEpoch = "progress_epoch",
        /// How far the work has come.
        ProgressCursor = "progress_cursor",
        /// How much is due.
        Due = "due",
        /// Since when the oldest due work has waited.
        OldestDueAt = "oldest_due_at",
    }
}
