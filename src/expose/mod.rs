//! Renderings of a [`SourceSnapshot`](crate::lease::SourceSnapshot). All are made from the same one, so they cannot
//! disagree.

mod catalogue;
mod cut;
mod format;
#[cfg(test)]
mod fuzz;
pub(crate) mod gzip;
pub mod json;
mod json_lease;
pub mod metrics;
mod order;
pub mod page;
mod state_counts;
pub mod table;
mod visible;

#[cfg(test)]
pub(crate) mod golden;
#[cfg(test)]
pub(crate) mod sample;

use crate::lease::{Epoch, Status, Tenure};

pub use catalogue::{ALERTS_STAND_ON, CATALOGUE, Family, OfLease, OfSource, Samples, names};
pub use cut::cut;
pub(crate) use format::Description;
pub use format::{Format, Type};
pub use gzip::Encoding;
pub use order::worst_first;
pub use state_counts::{SEVERITY, StateCounts};
pub use visible::Visible;
pub(crate) use visible::is_hidden;

/// The authority epoch in force, or the one that a released lease last had.
fn epoch(status: &Status) -> Option<Epoch> {
    match &status.evidence()?.tenure {
        Tenure::Vacant { epoch, .. } => *epoch,
        Tenure::Holder(holding) => holding.epoch,
    }
}
