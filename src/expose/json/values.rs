//! Values that serde does not write the way the schema wants them.

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::lease::{Age, EventAge};

/// A value as the string that `Display` makes of it.
pub(super) struct AsString<T>(pub(super) T);

impl<T: Display> Serialize for AsString<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Counts as an object with a member for each label.
pub(super) struct CountMap<T>(pub(super) Vec<(T, u64)>);

impl<T: Display> Serialize for CountMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(label, count)| (AsString(label), count)))
    }
}

/// The bounds of an age, in seconds.
#[derive(Serialize)]
pub(super) struct Bounds {
    at_least: f64,
    at_most: Option<f64>,
}

impl Bounds {
    /// `None` if nothing is known of the age.
    pub(super) fn of(dated: &EventAge) -> Option<Self> {
        (dated.age != Age::UNBOUNDED).then(|| Self {
            at_least: dated.age.lower().as_secs_f64(),
            at_most: dated.age.upper().map(|upper| upper.as_secs_f64()),
        })
    }
}

/// The bounds of a remaining time, in seconds. Negative values are in the past.
#[derive(Serialize)]
pub(super) struct SignedBounds {
    at_least: Option<f64>,
    at_most: f64,
}

impl SignedBounds {
    pub(super) fn of_micros(at_least: Option<i64>, at_most: i64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "the microseconds of 285 years fit into 53 bits")]
        let seconds = |micros: i64| micros as f64 / 1e6;
        Self { at_least: at_least.map(seconds), at_most: seconds(at_most) }
    }
}
