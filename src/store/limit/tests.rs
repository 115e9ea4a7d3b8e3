use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn row(lease: &str) -> LeaseRecord {
    LeaseRecord { lease: Some(lease.into()), ..LeaseRecord::default() }
}

fn member(lease: &Arc<str>, number: usize) -> LeaseRecord {
    LeaseRecord { lease: Some(Arc::clone(lease)), due: Some(number as u64), ..LeaseRecord::default() }
}

fn wrong(lease: Option<&str>) -> RejectedRecord {
    RejectedRecord { lease: lease.map(Arc::from), column: Column::Epoch, fault: RecordFault::OutOfRange }
}

fn more_than_kept(lease: &str) -> RejectedRecord {
    RejectedRecord { lease: Some(lease.into()), column: Column::Lease, fault: RecordFault::OverLimit }
}

fn kept(max_leases: usize, leases: &[&str]) -> (Vec<String>, u64) {
    let mut limiter = RecordLimiter::new(max_leases);
    for lease in leases {
        if limiter.admits(lease) {
            limiter.push(row(lease));
        }
    }
    let RecordSet { accepted: rows, over_limit, .. } = limiter.finish();
    (rows.iter().filter_map(|row| row.lease.as_deref().map(str::to_owned)).collect(), over_limit)
}

#[test]
fn the_first_by_name_are_kept_and_the_rest_counted_in_any_order() {
    let names = ["e", "b", "d", "a", "c", "f", "b"];
    assert_eq!(kept(2, &names), (vec!["a".into(), "b".into(), "b".into()], 4));
    let mut sorted = names;
    sorted.sort_unstable();
    assert_eq!(kept(2, &sorted), (vec!["a".into(), "b".into(), "b".into()], 4));
    assert_eq!(kept(6, &names).1, 0);
}

#[test]
fn rows_that_cannot_be_used_count_as_those_that_can() {
    let mut limiter = RecordLimiter::new(2);
    for (lease, used) in [("e", false), ("b", true), ("d", false), ("a", false), ("c", true), ("b", false)] {
        match limiter.admits(lease) {
            true if used => limiter.push(row(lease)),
            true => limiter.reject(wrong(Some(lease))),
            false => {}
        }
    }
    let kept = limiter.finish();
    assert_eq!(kept.accepted, [row("b")]);
    assert_eq!(kept.rejected, [wrong(Some("a")), wrong(Some("b"))]);
    assert_eq!((kept.over_limit, kept.last_kept.as_deref()), (3, Some("b")));
}

#[test]
fn of_rows_without_a_name_no_more_are_kept_than_of_leases() {
    let mut limiter = RecordLimiter::new(2);
    (0..5).for_each(|_| limiter.reject(wrong(None)));
    limiter.push(row("a"));
    let kept = limiter.finish();
    assert_eq!((kept.accepted.len(), kept.rejected.len(), kept.over_limit), (1, 2, 3));
    assert_eq!(kept.last_kept, None, "no lease was left out");
}

#[test]
fn a_lease_with_more_rows_than_are_kept_is_named_and_its_rows_are_counted() {
    let (mut limiter, lease) = (RecordLimiter::new(5), Arc::from("b"));
    (0..RecordLimiter::MEMBERS + 3).for_each(|number| limiter.push(member(&lease, number)));
    (0..3).for_each(|_| limiter.reject(wrong(Some("b"))));
    limiter.push(row("c"));
    let kept = limiter.finish();
    let expected: Vec<_> = (0..RecordLimiter::MEMBERS).map(|number| member(&lease, number)).chain([row("c")]).collect();
    assert_eq!(kept.accepted, expected, "the first that came");
    // One of the six that were left out stands in the list.
    assert_eq!((kept.rejected, kept.over_limit), (vec![more_than_kept("b")], 5));
    assert_eq!(kept.last_kept, None, "no lease was left out");
}

#[test]
fn as_many_rows_of_one_lease_as_are_kept_are_all_that_there_are() {
    let (mut limiter, lease) = (RecordLimiter::new(1), Arc::from("a"));
    (0..RecordLimiter::MEMBERS).for_each(|number| limiter.push(member(&lease, number)));
    let kept = limiter.finish();
    assert_eq!((kept.accepted.len(), kept.rejected.len(), kept.over_limit), (RecordLimiter::MEMBERS, 0, 0));
}

#[test]
fn leases_beyond_the_rows_that_are_kept_in_all_are_left_out_by_name() {
    let names: Vec<Arc<str>> = (0..12).map(|number| format!("lease-{number:02}").into()).collect();
    let mut limiter = RecordLimiter::new(100);
    for number in 0..RecordLimiter::MEMBERS {
        for name in names.iter().rev() {
            if limiter.admits(name) {
                limiter.push(member(name, number));
            }
        }
    }
    let kept = limiter.finish();
    assert_eq!(kept.accepted.len(), RecordLimiter::MEMBERS * RecordLimiter::ROWS_PER_LEASE);
    assert_eq!((kept.over_limit, kept.last_kept), (2 * RecordLimiter::MEMBERS as u64, Some(Arc::clone(&names[9]))));
}

/// The most rows that are ever held, for so many leases.
fn most_held(max_leases: usize) -> usize {
    let kept = max_leases.max(RecordLimiter::MEMBERS) * RecordLimiter::ROWS_PER_LEASE + RecordLimiter::MEMBERS;
    (kept + kept / 2 + 1).max(2 * max_leases + 1)
}

#[test]
fn the_work_is_in_proportion_to_the_rows_and_the_memory_to_the_bounds_whatever_the_names() {
    for (rows, leases) in [(100_000, 1), (300_000, 10), (300_000, 10_000), (300_000, 300_000)] {
        for max_leases in [1, 1_000, 10_000] {
            let names: Vec<Arc<str>> = (0..leases).map(|lease| format!("lease-{lease:06}").into()).collect();
            for usable in [true, false] {
                let mut limiter = RecordLimiter::new(max_leases);
                for number in 0..rows {
                    // Neither in the order of names nor against it.
                    let lease = &names[number * 7_919 % leases];
                    if !limiter.admits(lease) {
                        continue;
                    }
                    match usable {
                        true => limiter.push(member(lease, number)),
                        false => limiter.reject(wrong(Some(lease))),
                    }
                    assert!(limiter.rows.len() + limiter.rejected.len() <= most_held(max_leases));
                }
                let inspected = limiter.inspected;
                let case = format!("{rows} rows of {leases} leases, {max_leases} at the most");
                assert!(inspected <= 4 * rows, "{inspected} rows were looked at: {case}");
                let kept = limiter.finish();
                let counted = kept.accepted.len() + kept.rejected.len() + usize::try_from(kept.over_limit).unwrap();
                assert_eq!(counted, rows, "{case}");
            }
        }
    }
}

/// The same by sorting everything: what is kept of these rows, each a lease and whether it can be used.
fn model(max_leases: usize, rows: &[(Option<Arc<str>>, bool)]) -> RecordSet {
    let mut by_lease: BTreeMap<Arc<str>, (Vec<LeaseRecord>, Vec<RejectedRecord>)> = BTreeMap::new();
    let mut kept = RecordSet::default();
    for (number, (lease, usable)) in rows.iter().enumerate() {
        match lease {
            None => kept.rejected.push(wrong(None)),
            Some(lease) => {
                let (used, rejected) = by_lease.entry(Arc::clone(lease)).or_default();
                match usable {
                    true => used.push(member(lease, number)),
                    false => rejected.push(wrong(Some(lease))),
                }
            }
        }
    }
    kept.rejected.truncate(max_leases);
    let max_rows = max_leases.max(RecordLimiter::MEMBERS) * RecordLimiter::ROWS_PER_LEASE;
    let (mut in_all, mut last, mut more) = (0, None, Vec::new());
    for (number, (lease, (mut used, mut rejected))) in by_lease.into_iter().enumerate() {
        if number == max_leases || in_all >= max_rows {
            kept.last_kept = last;
            break;
        }
        if used.len() > RecordLimiter::MEMBERS {
            more.push(more_than_kept(&lease));
        }
        used.truncate(RecordLimiter::MEMBERS);
        rejected.truncate(RecordLimiter::MEMBERS - used.len());
        in_all += used.len() + rejected.len();
        kept.accepted.append(&mut used);
        kept.rejected.append(&mut rejected);
        last = Some(lease);
    }
    kept.rejected.append(&mut more);
    kept.over_limit = (rows.len() - kept.accepted.len() - kept.rejected.len()) as u64;
    kept
}

/// Rows in any order: many of few leases or few of many, some of which come in a row.
fn rows() -> impl Strategy<Value = Vec<(Option<Arc<str>>, bool)>> {
    let run = (
        proptest::option::weighted(0.97, 0_u32..40),
        proptest::bool::weighted(0.8),
        prop_oneof![
            8 => 1_usize..4,
            1 => 1_usize..1_500,
        ],
    );
    proptest::collection::vec(run, 0..60).prop_map(|runs| {
        let rows = runs.into_iter().flat_map(|(lease, usable, times)| {
            std::iter::repeat_n((lease.map(|lease| format!("lease-{lease}").into()), usable), times)
        });
        rows.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_what_sorting_everything_would_keep(
        rows in rows(), max_leases in prop_oneof![1_usize..6, Just(30), Just(2_000)]
    ) {
        let mut limiter = RecordLimiter::new(max_leases);
        for (number, (lease, usable)) in rows.iter().enumerate() {
            match lease {
                Some(lease) if !limiter.admits(lease) => {}
                Some(lease) if *usable => limiter.push(member(lease, number)),
                lease => limiter.reject(wrong(lease.as_deref())),
            }
        }
        let (kept, expected) = (limiter.finish(), model(max_leases, &rows));
        prop_assert_eq!(kept.accepted, expected.accepted);
        prop_assert_eq!(kept.rejected, expected.rejected);
        prop_assert_eq!((kept.over_limit, kept.last_kept), (expected.over_limit, expected.last_kept));
    }
}
