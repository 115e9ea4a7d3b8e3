//! Leases and rows beyond the limits: what is still known of those that were left out.

use super::*;

#[test]
fn a_lease_after_the_last_one_read_is_not_known_to_be_absent() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 1, 10), row("z", "h", 1, 10)]);
    let rows = vec![row("b", "h", 1, 20), row("c", "h", 1, 20)];
    let last_kept = Some("c".into());
    let reading =
        reading(20, Columns::all(), RecordSet { accepted: rows, over_limit: 7, last_kept, ..RecordSet::default() });
    let snapshot = evaluate_reading(&mut evaluator, reading);
    assert_eq!(state_and_reason(&snapshot, "a"), (State::NoLeader, Reason::Absent));
    assert_eq!(state_and_reason(&snapshot, "z"), (State::Unknown, Reason::NotObservedYet));
    assert_eq!(state_and_reason(&snapshot, "named"), (State::Unknown, Reason::NotObservedYet));
}

#[test]
fn a_lease_is_known_to_be_absent_although_rows_of_another_were_left_out() {
    let mut evaluator = evaluator(RULES);
    evaluate(&mut evaluator, 10, vec![row("a", "h", 1, 10), row("z", "h", 1, 10)]);
    let rows = vec![row("a", "h", 1, 20)];
    let reading = reading(20, Columns::all(), RecordSet { accepted: rows, over_limit: 7, ..RecordSet::default() });
    let snapshot = evaluate_reading(&mut evaluator, reading);
    assert_eq!(state_and_reason(&snapshot, "z"), (State::NoLeader, Reason::Absent));
}

#[test]
fn nothing_is_claimed_of_a_lease_with_more_members_than_are_read() {
    // Each of these would be proven by its rows, if they were all that there are.
    let (now, old) = (1_000, 10);
    let working = LeaseRecord { progress_at: Some(t(now)), ..row("a", "h", 1, now) };
    let stalled =
        LeaseRecord { progress_at: Some(t(old)), due: Some(3), oldest_due_at: Some(t(old)), ..row("a", "h", 1, now) };
    let idle = LeaseRecord { progress_at: Some(t(old)), due: Some(0), ..row("a", "h", 1, now) };
    let expired = LeaseRecord { renewed_at: Some(t(old)), expires_at: Some(t(old + 1)), ..row("a", "h", 1, old) };
    for (member, whole) in
        [(working, State::Active), (stalled, State::Stalled), (idle, State::Idle), (expired, State::NoLeader)]
    {
        for (kind, left_out, expected) in [
            (LeaseKind::Registry, false, whole),
            (LeaseKind::Registry, true, State::Unknown),
            // Where one holder is the rule, several records are wrong whatever else there is.
            (LeaseKind::Standing, true, State::Unknown),
        ] {
            let mut evaluator = evaluator(Rules { kind, ..RULES });
            let other = LeaseRecord { holder: Some("i".into()), ..member.clone() };
            let more = RejectedRecord { lease: Some("a".into()), column: Column::Lease, fault: RecordFault::OverLimit };
            let reading = reading(
                now,
                Columns::all(),
                RecordSet {
                    accepted: vec![member.clone(), other],
                    rejected: left_out.then_some(more).into_iter().collect(),
                    over_limit: if left_out { 6 } else { 0 },
                    ..RecordSet::default()
                },
            );
            let snapshot = evaluate_reading(&mut evaluator, reading);
            let a = status(&snapshot, "a");
            assert_eq!(a.verdict.state, expected, "{kind} {whole}");
            let why = match (kind, left_out) {
                (_, false) => None,
                (LeaseKind::Registry, true) => Some(ObservationFailure::MembersOverLimit),
                _ => Some(ObservationFailure::DuplicateRecord),
            };
            let unseen = a.observation.clone().err();
            assert_eq!(unseen, why);
            let rejected = &snapshot.health.rejected_now;
            assert_eq!(rejected.count(RecordFault::OverLimit), if left_out { 7 } else { 0 });
            assert_eq!(rejected.leases(RecordFault::OverLimit).len(), usize::from(left_out));
        }
    }
}

#[test]
fn a_lease_that_vanished_stays_tracked_until_the_limit_is_reached() {
    let mut evaluator = evaluator(Rules { max_leases: 3, ..RULES });
    let snapshot = evaluate(&mut evaluator, 10, vec![row("a", "h", 1, 10), row("b", "h", 1, 10)]);
    assert_eq!(snapshot.leases.len(), 3);
    let snapshot = evaluate(&mut evaluator, 20, vec![row("b", "h", 1, 20)]);
    assert_eq!(state_and_reason(&snapshot, "a"), (State::NoLeader, Reason::Absent));
    // "a" has been gone for longest; "named" is never forgotten.
    let snapshot = evaluate(&mut evaluator, 30, vec![row("c", "h", 1, 30)]);
    let names: Vec<_> = snapshot.leases.iter().map(|status| &*status.lease).collect();
    assert_eq!(names, ["b", "c", "named"]);
}
