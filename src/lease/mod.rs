//! The domain, pure: no input or output, no clock, no async.
//!
//! Data flows one way: a [`Reading`] goes into a [`Memory`], which relates it to earlier readings and turns stored
//! times and cursors into [`Age`]s; [`judge()`] makes a [`Verdict`] of that [`Evidence`] and a [`Policy`]; a
//! [`SourceSnapshot`] carries the resulting [`Status`]es to whoever renders them.

mod age;
mod event;
mod evidence;
mod judge;
mod label;
mod memory;
mod policy;
#[cfg(test)]
mod properties;
mod recollection;
mod record;
mod registry;
mod sentence;
mod snapshot;
mod status;
mod token;

pub use age::{Age, Answer, At, Elapsed};
pub use evidence::{Basis, Dated, Due, Evidence, Holding, Left, Observation, Progress, Tenure, Under, Unseen, Vacancy};
pub use judge::{Verdict, judge};
pub use label::{Anomaly, Authority, Column, ProgressState, ReadFailure, Reason, RowFault, State};
pub use memory::Memory;
pub use policy::{Alert, AlertSet, Clock, Kind, Policies, Policy, Rules, Work};
pub use record::{Columns, Cursor, Epoch, Reading, RejectedRow, Row, StoreTime, TimeOutOfRange};
pub use sentence::{Readable, Sentence};
pub use snapshot::{Health, RejectedRows, SourceSnapshot};
pub use status::{Anomalies, Status};
pub use token::{HolderToken, TokenKey};
