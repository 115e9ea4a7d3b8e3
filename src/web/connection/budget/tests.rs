use std::time::Duration;

use tokio::time::timeout;

use super::*;

const LONG: u64 = 100 * 1024;
const MOMENT: Duration = Duration::from_secs(1);

fn budget(limit: u64) -> Arc<ResponseBudget> {
    ResponseBudget::new(limit)
}

/// What a response retains of these readings, each of the same size.
fn readings(ids: &[usize]) -> Vec<Retained> {
    ids.iter().map(|id| Retained { id: *id, bytes: LONG }).collect()
}

fn admitted(budget: &Arc<ResponseBudget>, ids: &[usize]) -> Result<ResponseGrant, Shortage> {
    budget.admit(&readings(ids), None)
}

#[tokio::test(start_paused = true)]
async fn however_many_are_sent_one_reading_it_counts_once() {
    let budget = budget(0);
    let grants: Vec<_> = (0..200).map(|_| admitted(&budget, &[1, 2]).unwrap()).collect();
    assert_eq!(budget.held().bytes, 2 * LONG);
    drop(grants);
    let held = budget.held();
    assert_eq!((held.bytes, held.allocations.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn small_responses_are_not_counted_and_one_allocation_of_a_response_counts_once() {
    let budget = budget(0);
    let small = budget.admit(&[Retained { id: 1, bytes: SMALL }], None).unwrap();
    assert!(small.entered.is_none());
    let _twice = admitted(&budget, &[7, 7]).unwrap();
    assert_eq!(budget.held().bytes, LONG);
}

#[tokio::test(start_paused = true)]
async fn others_hold_no_more_than_the_limit_or_as_much_as_the_response() {
    let within = budget(3 * LONG);
    let grants: Vec<_> = (0..4).map(|id| admitted(&within, &[id]).unwrap()).collect();
    assert_eq!(admitted(&within, &[4]).unwrap_err(), Shortage { others: 3 * LONG });
    assert_eq!(within.held().bytes, 4 * LONG);
    drop(grants);
    let none = budget(0);
    let _one = admitted(&none, &[1]).unwrap();
    let _another = admitted(&none, &[2]).unwrap();
    assert!(admitted(&none, &[3]).is_err());
    let _both = admitted(&none, &[1, 2]).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_response_waits_until_another_is_sent_and_the_first_to_wait_is_the_first_to_go() {
    let budget = budget(0);
    let (first, second) = (admitted(&budget, &[1]).unwrap(), admitted(&budget, &[2]).unwrap());
    let shortage = admitted(&budget, &[3]).unwrap_err();
    let waiting = budget.room(None, shortage);
    tokio::pin!(waiting);
    assert!(!budget.is_waited_for());
    assert!(timeout(MOMENT, &mut waiting).await.is_err());
    assert!(budget.is_waited_for());
    drop(first);
    let turn = waiting.await;
    assert!(admitted(&budget, &[4]).is_err(), "it is another's turn");
    let _shared = admitted(&budget, &[2]).expect("it holds nothing more");
    let third = budget.admit(&readings(&[3]), Some(&turn)).unwrap();
    drop((turn, second, third));
    let _fourth = admitted(&budget, &[4]).unwrap();
}
