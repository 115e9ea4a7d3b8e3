//! Ages drawn as bars on one time scale, so that a fresh lease over old progress is seen before it is read.

use std::time::Duration;

use crate::lease::{Age, EventAge};

/// The time scale of one lease: from now at the left to twice its limit at the right, so that the limit is in the
/// middle of every bar of the page and what reaches beyond it stands out.
#[derive(Clone, Copy)]
pub(super) struct AgeScale {
    limit: Duration,
}

/// One bar: solid for as long ago as it surely is, faint for as long ago as it may be. Percentages of the width.
pub(super) struct AgeBar {
    /// Where the solid part ends.
    pub(super) surely: String,
    /// How far the faint part goes on, if it does.
    pub(super) perhaps: Option<String>,
    /// Whether the solid part ends beyond the scale.
    pub(super) beyond: bool,
}

/// A point on the scale.
pub(super) struct AgeMarker {
    /// Where, in percent of the width.
    pub(super) at: String,
    /// Whether it lies beyond the scale, at whose end it is shown.
    pub(super) beyond: bool,
}

impl AgeScale {
    pub(super) const fn of_limit(limit: Duration) -> Self {
        Self { limit }
    }

    /// The bar of an age; `None` where nothing is known of it.
    pub(super) fn bar(self, dated: &EventAge) -> Option<AgeBar> {
        let age = dated.age;
        if age == Age::UNBOUNDED {
            return None;
        }
        let surely = self.percent(age.lower());
        let perhaps = age.upper().map_or(100.0, |upper| self.percent(upper)) - surely;
        Some(AgeBar {
            surely: format!("{surely:.1}"),
            perhaps: (perhaps >= 0.5).then(|| format!("{perhaps:.1}")),
            beyond: self.is_beyond(age.lower()),
        })
    }

    /// Where on the scale a surely known age lies.
    pub(super) fn mark(self, dated: &EventAge) -> Option<AgeMarker> {
        let age = dated.display_age()?;
        Some(AgeMarker { at: format!("{:.1}", self.percent(age)), beyond: self.is_beyond(age) })
    }

    fn is_beyond(self, age: Duration) -> bool {
        age > self.limit.saturating_mul(2)
    }

    fn percent(self, age: Duration) -> f64 {
        let share = age.as_secs_f64() / (2.0 * self.limit.as_secs_f64());
        // A limit of zero has no scale: then any age is beyond it.
        if share.is_nan() { 0.0 } else { share.min(1.0) * 100.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::AgeSource;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_limit_is_in_the_middle_and_what_is_not_certain_is_apart() {
        let scale = AgeScale::of_limit(s(300));
        for (age, surely, perhaps, beyond) in [
            (Age::exact(s(0)), "0.0", None, false),
            (Age::exact(s(300)), "50.0", None, false),
            (Age::exact(s(6_000)), "100.0", None, true),
            (Age::between(s(60), s(120)), "10.0", Some("10.0"), false),
            (Age::at_least(s(450)), "75.0", Some("25.0"), false),
        ] {
            let bar = scale.bar(&EventAge { age, source: AgeSource::StoredTime }).unwrap();
            assert_eq!((bar.surely.as_str(), bar.perhaps.as_deref(), bar.beyond), (surely, perhaps, beyond), "{age:?}");
        }
        assert!(scale.bar(&EventAge { age: Age::UNBOUNDED, source: AgeSource::FirstReading }).is_none());
    }

    #[test]
    fn a_limit_of_zero_draws_something() {
        let bar =
            AgeScale::of_limit(s(0)).bar(&EventAge { age: Age::exact(s(0)), source: AgeSource::StoredTime }).unwrap();
        assert_eq!(bar.surely, "0.0");
        let bar =
            AgeScale::of_limit(s(0)).bar(&EventAge { age: Age::exact(s(1)), source: AgeSource::StoredTime }).unwrap();
        assert_eq!((bar.surely.as_str(), bar.beyond), ("100.0", true));
    }
}
