//! The tracker: relates a reading to the readings before it, and returns the evidence on each lease.
//!
//! [`SourceTracker`] tracks the leases of one source, and a `LeaseTracker` each of them: its authority, its progress and
//! its due work. A change between two readings bounds the time of an event, and a time in the store dates it. The tracker
//! knows no policy and does not call the judge.

mod authority;
mod context;
mod event;
mod lease;
mod progress;
mod record_state;
mod source;

pub use source::SourceTracker;
