//! Test data and comparisons for the tests of all renderings.

pub(crate) mod golden;
pub(crate) mod snapshots;
