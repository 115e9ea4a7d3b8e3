//! The domain model. It is pure: no input or output, no clock, no async, no configuration types.
//!
//! Data flows one way, from a store to the renderings:
//!
//! ```text
//! store -- Reading --> SourceTracker -- SourceEvidence --> judge() -- Status --> SourceSnapshot --> metrics, JSON, page, table
//!
//! Reading         one snapshot of the store: its clock, its columns and a RecordSet of LeaseRecords
//! SourceEvidence  for each lease an Observation: its Evidence (ages as bounds), or an ObservationFailure
//! Verdict         authority, progress, state and reason, from one Observation and its Policy
//! Status          a lease with its Verdict, Observation, Policy and AnomalyCounts
//! SourceSnapshot  the Statuses of a source with the Health of the reading
//! ```
//!
//! `SourceTracker` relates a reading to the readings before it and knows no policy. [`SourceEvaluator`] owns the tracker
//! and the policies of a source, and passes the evidence to [`judge()`].

mod age;
mod anomaly;
mod evidence;
mod judge;
mod label;
mod policy;
#[cfg(test)]
mod properties;
mod record;
mod sentence;
mod snapshot;
mod source_evaluator;
mod token;
mod tracker;

pub use age::{Age, ReadInterval, Truth};
pub use anomaly::AnomalyCounts;
pub use evidence::{
    AgeSource, AuthorityEvidence, Due, EventAge, Evidence, Holder, Observation, ObservationFailure, Progress,
    ProgressEpoch, RejectedRecords, RemainingTtl, VacancyCause,
};
pub use judge::{Verdict, judge};
pub use label::{Anomaly, Authority, Column, ProgressState, ReadFailure, Reason, RecordFault, State};
pub use policy::{Alert, AlertSet, Clock, LeaseKind, Policies, Policy, Rules, Work};
pub use record::{Columns, Cursor, Epoch, LeaseRecord, Reading, RecordSet, RejectedRecord, StoreTime, TimeOutOfRange};
pub use sentence::{Readable, Sentence};
pub use snapshot::{Health, SourceSnapshot, Status};
pub use source_evaluator::SourceEvaluator;
pub use token::{HolderToken, TokenKey};
