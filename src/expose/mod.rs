//! Renderings of a snapshot.

mod catalogue;
pub mod metrics;

pub use catalogue::{CATALOGUE, Family, OfLease, OfSource, Samples, names};
