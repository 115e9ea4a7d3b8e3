//! The domain, pure: no input or output, no clock, no async.
//!
//! Data flows one way: a [`Reading`] goes into a [`SourceTracker`], which relates it to earlier readings and turns stored
//! times and cursors into [`Age`]s; [`judge()`] makes a [`Verdict`] of that [`Evidence`] and a [`Policy`]; a
//! [`SourceSnapshot`] carries the resulting [`Status`]es to whoever renders them.

mod age;
mod evidence;
mod judge;
mod label;
mod lease_tracker;
mod policy;
#[cfg(test)]
mod properties;
mod record;
mod registry;
mod sentence;
mod snapshot;
mod source_tracker;
mod status;
mod token;
mod tracked_event;

pub use age::{Age, Answer, At, Elapsed};
pub use evidence::{
    AgeSource, DatedAge, Due, Evidence, HolderEvidence, Observation, Progress, ProgressEpoch, RemainingTtl, Tenure,
    UnknownCause, Vacancy,
};
pub use judge::{Verdict, judge};
pub use label::{Anomaly, Authority, Column, ProgressState, ReadFailure, Reason, RecordFault, State};
pub use policy::{Alert, AlertSet, Clock, Kind, Policies, Policy, Rules, Work};
pub use record::{Columns, Cursor, Epoch, LeaseRecord, Reading, RejectedRecord, StoreTime, TimeOutOfRange};
pub use sentence::{Readable, Sentence};
pub use snapshot::{Health, RejectedRecords, SourceSnapshot};
pub use source_tracker::SourceTracker;
pub use status::{Anomalies, Status};
pub use token::{HolderToken, TokenKey};
