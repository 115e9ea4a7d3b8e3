//! Ages drawn as bars on one time scale, so that a fresh lease with old progress is visible at a glance.

use std::time::Duration;

use crate::lease::{Age, EventAge};

/// The time scale of one lease. It goes from now, at the left, to twice the limit, so that the limit is in the middle of
/// every bar.
#[derive(Clone, Copy)]
pub(super) struct AgeScale {
    limit: Duration,
}

/// The bar of an age: solid up to its lower bound, faint up to its upper bound. Lengths are in percent of the width.
pub(super) struct AgeBar {
    pub(super) certain: String,
    pub(super) possible: Option<String>,
    /// Whether the solid part goes on beyond the scale.
    pub(super) overflows: bool,
}

/// A point on the scale.
pub(super) struct AgeMarker {
    /// The place in percent of the width.
    pub(super) at: String,
    /// Whether the point is beyond the scale, at whose end it is then drawn.
    pub(super) overflows: bool,
}

impl AgeScale {
    pub(super) const fn of_limit(limit: Duration) -> Self {
        Self { limit }
    }

    /// The bar of an age; `None` if nothing is known of it.
    pub(super) fn bar(self, dated: &EventAge) -> Option<AgeBar> {
        let age = dated.age;
        if age == Age::UNBOUNDED {
            return None;
        }
        let certain = self.percent(age.lower());
        let possible = age.upper().map_or(100.0, |upper| self.percent(upper)) - certain;
        Some(AgeBar {
            certain: format!("{certain:.1}"),
            possible: (possible >= 0.5).then(|| format!("{possible:.1}")),
            overflows: self.overflows(age.lower()),
        })
    }

    /// The marker of an age; `None` if it is not known well enough to be shown as one number.
    pub(super) fn marker(self, dated: &EventAge) -> Option<AgeMarker> {
        let age = dated.display_age()?;
        Some(AgeMarker { at: format!("{:.1}", self.percent(age)), overflows: self.overflows(age) })
    }

    fn overflows(self, age: Duration) -> bool {
        age > self.limit.saturating_mul(2)
    }

    fn percent(self, age: Duration) -> f64 {
        let share = age.as_secs_f64() / (2.0 * self.limit.as_secs_f64());
        // With a limit of zero, an age of zero is 0/0, and any other is infinite.
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
    fn the_limit_is_in_the_middle_and_the_uncertain_part_is_separate() {
        let scale = AgeScale::of_limit(s(300));
        for (age, certain, possible, overflows) in [
            (Age::exact(s(0)), "0.0", None, false),
            (Age::exact(s(300)), "50.0", None, false),
            (Age::exact(s(6_000)), "100.0", None, true),
            (Age::between(s(60), s(120)), "10.0", Some("10.0"), false),
            (Age::at_least(s(450)), "75.0", Some("25.0"), false),
        ] {
            let bar = scale.bar(&EventAge { age, source: AgeSource::StoredTime }).unwrap();
            assert_eq!(
                (bar.certain.as_str(), bar.possible.as_deref(), bar.overflows),
                (certain, possible, overflows),
                "{age:?}"
            );
        }
        assert!(scale.bar(&EventAge { age: Age::UNBOUNDED, source: AgeSource::FirstReading }).is_none());
    }

    #[test]
    fn a_limit_of_zero_still_gives_a_bar() {
        let bar =
            AgeScale::of_limit(s(0)).bar(&EventAge { age: Age::exact(s(0)), source: AgeSource::StoredTime }).unwrap();
        assert_eq!(bar.certain, "0.0");
        let bar =
            AgeScale::of_limit(s(0)).bar(&EventAge { age: Age::exact(s(1)), source: AgeSource::StoredTime }).unwrap();
        assert_eq!((bar.certain.as_str(), bar.overflows), ("100.0", true));
    }
}
