//! The limits of a policy: what `defaults` gives, and what an entry of `leases` gives instead.

use std::time::Duration;

use crate::lease::{Alert, AlertSet, Policy, Work};
use crate::store::section::Text;

use super::problem::{Diagnostics, Problem};
use super::raw::RawLimits;
use crate::diagnostic::QuotedValue;
use crate::duration::{Zero, duration};

/// A policy with the given limits in place of those of `base`.
pub(super) fn overridden(base: Policy, given: RawLimits<'_>, diagnostics: &mut Diagnostics) -> Policy {
    let mut policy = base;
    if let Some(stall_after) = length("stall_after", given.stall_after, Zero::Refused, diagnostics) {
        policy.stall_after = stall_after;
    }
    if let Some(overdue_after) = length("overdue_after", given.overdue_after, Zero::Refused, diagnostics) {
        policy.overdue_after = Some(overdue_after);
    }
    if let Some(work) = work(given, diagnostics) {
        policy.work = work;
    }
    policy
}

/// The work of a policy, from the keys `work` and `cadence`.
fn work(given: RawLimits<'_>, diagnostics: &mut Diagnostics) -> Option<Work> {
    if let Some(work) = given.work {
        let line = work.referenced.line();
        if work.value != "continuous" {
            let value = QuotedValue::new(&work.value);
            diagnostics
                .note(line, Problem::Choice { key: "work", value, known: "`continuous`, or `cadence: 1h` instead" });
        } else if given.cadence.is_some() {
            diagnostics.note(line, Problem::WorkTwice);
        }
    }
    let cadence = length("cadence", given.cadence, Zero::Refused, diagnostics);
    cadence.map(Work::Cadence).or_else(|| given.work.map(|_| Work::Continuous))
}

/// A length of time; `None` if none is given, or a problem with it, which is noted.
pub(super) fn length(
    key: &'static str,
    given: Option<&Text>,
    zero: Zero,
    diagnostics: &mut Diagnostics,
) -> Option<Duration> {
    let text = given?;
    let read = duration(&text.value, zero);
    let read = read.map_err(|fault| Problem::Duration { key, value: QuotedValue::new(&text.value), fault });
    diagnostics.keep(text.referenced.line(), read)
}

pub(super) fn alerts(names: &[Text], diagnostics: &mut Diagnostics) -> AlertSet {
    let alert = |name: &Text| {
        let alert = Alert::ALL.into_iter().find(|alert| alert.as_str() == name.value);
        let known = || Alert::ALL.map(Alert::as_str).join(", ");
        let alert = alert.ok_or_else(|| Problem::Alert { value: QuotedValue::new(&name.value), known: known() });
        diagnostics.keep(name.referenced.line(), alert)
    };
    names.iter().filter_map(alert).collect()
}
