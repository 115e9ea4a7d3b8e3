//! Names that come from a store, in everything that shows them; and pages of metrics.

mod html;
mod metrics;
mod names;
