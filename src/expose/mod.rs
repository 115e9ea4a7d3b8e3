//! Renderings of a [`SourceSnapshot`](crate::lease::SourceSnapshot). All are made from the same snapshot, so they cannot
//! disagree.

mod catalogue;
mod display_name;
mod format;
pub(crate) mod gzip;
pub mod json;
pub mod metrics;
pub mod page;
#[cfg(test)]
mod properties;
mod severity;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use catalogue::{CATALOGUE, Family, REQUIRED_BY_ALERTS, Samples, Subject, family_names};
pub(crate) use display_name::is_invisible;
pub use display_name::{DisplayName, truncate_to_width};
pub(crate) use format::FamilyMetadata;
pub use format::{FamilyType, Format};
pub use gzip::Encoding;
pub use severity::{SEVERITY, StateCounts, severity_key};
