use std::time::Duration;

use tokio::time::timeout;

use super::*;

const LONG: u64 = 100 * 1024;
const MOMENT: Duration = Duration::from_secs(1);

fn budget(limit: u64) -> Arc<ResponseBudget> {
    ResponseBudget::new(limit)
}

/// Readings of the same size that a response retains.
fn readings(ids: &[usize]) -> Vec<Retained> {
    ids.iter().map(|id| Retained { id: *id, bytes: LONG }).collect()
}

/// A different peer for each number.
fn peer(number: u8) -> Peer {
    Peer::new(Some([192, 0, 2, number].into()))
}

/// Admits a response to the peer with the number of its first reading.
fn admitted(budget: &Arc<ResponseBudget>, ids: &[usize]) -> Result<Option<ResponseGrant>, AdmissionLimit> {
    budget.admit(peer(u8::try_from(ids[0]).unwrap()), &readings(ids), None)
}

#[tokio::test(start_paused = true)]
async fn a_reading_shared_by_many_responses_counts_once() {
    let budget = budget(0);
    let grants: Vec<_> = (0..200).map(|_| admitted(&budget, &[1, 2]).unwrap()).collect();
    assert_eq!(budget.state().all.bytes, 2 * LONG);
    drop(grants);
    let held = budget.state();
    assert_eq!((held.all.bytes, held.all.by_id.len(), held.peers.len()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn small_responses_are_not_counted_and_one_allocation_of_a_response_counts_once() {
    let budget = budget(0);
    let small = budget.admit(peer(1), &[Retained { id: 1, bytes: UNCOUNTED_SIZE }], None).unwrap();
    assert!(small.is_none());
    let _twice = admitted(&budget, &[7, 7]).unwrap();
    assert_eq!(budget.state().all.bytes, LONG);
}

#[tokio::test(start_paused = true)]
async fn other_responses_hold_at_most_the_limit_or_the_size_of_the_response() {
    let within = budget(3 * LONG);
    let grants: Vec<_> = (0..4).map(|id| admitted(&within, &[id]).unwrap()).collect();
    assert_eq!(admitted(&within, &[4]).unwrap_err(), AdmissionLimit { all: 3 * LONG, peer: 3 * LONG / 2 });
    assert_eq!(within.state().all.bytes, 4 * LONG);
    drop(grants);
    let none = budget(0);
    let _one = admitted(&none, &[1]).unwrap();
    let _another = admitted(&none, &[2]).unwrap();
    assert!(admitted(&none, &[3]).is_err());
    let _both = admitted(&none, &[1, 2]).unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_wait_in_order_until_another_response_is_sent() {
    let budget = budget(0);
    let (first, second) = (admitted(&budget, &[1]).unwrap(), admitted(&budget, &[2]).unwrap());
    let shortage = admitted(&budget, &[3]).unwrap_err();
    let waiting = budget.wait_for_room(peer(3), None, shortage);
    tokio::pin!(waiting);
    assert!(!budget.has_waiters());
    assert!(timeout(MOMENT, &mut waiting).await.is_err());
    assert!(budget.has_waiters());
    drop(first);
    let turn = waiting.await;
    assert!(admitted(&budget, &[4]).is_err(), "it is another's turn");
    let _shared = admitted(&budget, &[2]).expect("it holds nothing more");
    let third = budget.admit(peer(3), &readings(&[3]), Some(&turn)).unwrap();
    drop((turn, second, third));
    let _fourth = admitted(&budget, &[4]).unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_peer_gets_at_most_half_of_the_budget() {
    let budget = budget(8 * LONG);
    let slow = peer(9);
    let hold = |id| budget.admit(slow, &readings(&[id]), None);
    let grants: Vec<_> = (0..5).map(|id| hold(id).unwrap()).collect();
    let shortage = hold(5).unwrap_err();
    let waiting = budget.wait_for_room(slow, None, shortage);
    tokio::pin!(waiting);
    assert!(timeout(MOMENT, &mut waiting).await.is_err(), "it holds more than half");
    // The slow peer waits for its own responses, and does not block the other peer.
    let shortage = budget.admit(peer(1), &readings(&[6]), None).unwrap_err();
    let turn = timeout(MOMENT, budget.wait_for_room(peer(1), None, shortage)).await.unwrap();
    let other = budget.admit(peer(1), &readings(&[6]), Some(&turn)).unwrap();
    drop(turn);
    drop(grants);
    let turn = waiting.await;
    let _sixth = budget.admit(slow, &readings(&[5]), Some(&turn)).unwrap();
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn the_waiting_peer_that_holds_least_is_served_first() {
    let budget = budget(0);
    let (first, second) = (admitted(&budget, &[1]).unwrap(), admitted(&budget, &[2]).unwrap());
    let of_first = budget.wait_for_room(peer(1), None, budget.admit(peer(1), &readings(&[3]), None).unwrap_err());
    tokio::pin!(of_first);
    assert!(timeout(MOMENT, &mut of_first).await.is_err());
    let of_third = budget.wait_for_room(peer(3), None, budget.admit(peer(3), &readings(&[4]), None).unwrap_err());
    tokio::pin!(of_third);
    assert!(timeout(MOMENT, &mut of_third).await.is_err());
    drop(second);
    assert!(timeout(MOMENT, &mut of_first).await.is_err(), "it came first, and holds more");
    drop(of_third.await);
    drop((of_first.await, first));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stops_waiting_leaves_the_queue() {
    let budget = budget(0);
    let _held = (admitted(&budget, &[1]).unwrap(), admitted(&budget, &[2]).unwrap());
    let shortage = admitted(&budget, &[3]).unwrap_err();
    assert!(timeout(MOMENT, budget.wait_for_room(peer(3), None, shortage)).await.is_err());
    assert!(!budget.has_waiters());
}

#[tokio::test(start_paused = true)]
async fn a_reading_sent_to_a_peer_many_times_counts_once_for_it() {
    let budget = budget(8 * LONG);
    let response = |id| {
        let own = Retained { id, bytes: 1_000 };
        budget.admit(peer(1), &[readings(&[1]), vec![own]].concat(), None).unwrap()
    };
    let grants: Vec<_> = (100..300).map(response).collect();
    assert_eq!(budget.state().bytes_of(peer(1)), LONG + 200 * 1_000);
    drop(grants);
}
