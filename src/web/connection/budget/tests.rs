use tokio::time::{advance, timeout};

use super::*;

const LONG: u64 = 100 * 1024;
const STALL: Duration = Duration::from_secs(2);

fn budget(limit: u64) -> Arc<ResponseBudget> {
    Arc::new(ResponseBudget::new(limit, STALL))
}

/// What a response retains of these readings, each of the same size.
fn readings(ids: &[usize]) -> Vec<Retained> {
    ids.iter().map(|id| Retained { id: *id, bytes: LONG }).collect()
}

fn connection() -> Arc<ConnectionHandle> {
    Arc::new(ConnectionHandle::new())
}

fn admitted(budget: &Arc<ResponseBudget>, ids: &[usize]) -> Result<ResponseGrant, Shortage> {
    budget.admit(&readings(ids), &connection(), None)
}

#[tokio::test(start_paused = true)]
async fn however_many_are_sent_one_reading_it_counts_once() {
    let budget = budget(0);
    let grants: Vec<_> = (0..200).map(|_| admitted(&budget, &[1, 2]).unwrap()).collect();
    assert_eq!(budget.held().bytes, 2 * LONG);
    drop(grants);
    let held = budget.held();
    assert_eq!((held.bytes, held.responses.len(), held.allocations.len()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn small_responses_are_not_counted_and_one_allocation_of_a_response_counts_once() {
    let budget = budget(0);
    let small = budget.admit(&[Retained { id: 1, bytes: SMALL }], &connection(), None).unwrap();
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
    assert!(timeout(STALL / 4, &mut waiting).await.is_err());
    drop(first);
    let turn = waiting.await;
    assert!(admitted(&budget, &[4]).is_err(), "it is another's turn");
    let _shared = admitted(&budget, &[2]).expect("it holds nothing more");
    let third = budget.admit(&readings(&[3]), &connection(), Some(&turn)).unwrap();
    drop((turn, second, third));
    let _fourth = admitted(&budget, &[4]).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_off_for_another_and_one_that_reads_never_is() {
    let budget = budget(0);
    let (reads, stuck, shares) = (connection(), connection(), connection());
    let of = |id, connection| budget.admit(&readings(&[id]), connection, None).unwrap();
    let mut sent = vec![(of(1, &reads), &reads), (of(2, &stuck), &stuck), (of(2, &shares), &shares)];
    advance(STALL * 20).await;
    for connection in [&reads, &shares] {
        connection.progress();
    }
    assert!(!stuck.is_closed(), "nobody waits for its memory");
    let waiting = budget.room(None, admitted(&budget, &[3]).unwrap_err());
    tokio::pin!(waiting);
    assert!(timeout(LOOK, &mut waiting).await.is_err());
    assert!(stuck.is_closed());
    sent.remove(1);
    for _ in 0..20 {
        assert!(timeout(STALL / 2, &mut waiting).await.is_err(), "the other two go on");
        reads.progress();
        shares.progress();
    }
    assert!(!reads.is_closed() && !shares.is_closed());
    sent.clear();
    drop(waiting.await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_just_begun_to_be_sent_its_response_is_given_time_to_take_it() {
    let budget = budget(0);
    let connections = [connection(), connection()];
    let _sent = [1, 2].map(|id| budget.admit(&readings(&[id]), &connections[id - 1], None).unwrap());
    let began = Instant::now();
    let waiting = budget.room(None, admitted(&budget, &[3]).unwrap_err());
    tokio::pin!(waiting);
    assert!(timeout(STALL - LOOK, &mut waiting).await.is_err());
    assert!(!connections.iter().any(|it| it.is_closed()));
    assert!(timeout(LOOK * 3, &mut waiting).await.is_err());
    assert!(connections[0].is_closed(), "after {:?}", began.elapsed());
}
