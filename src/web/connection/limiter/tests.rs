use tokio::time::advance;

use super::super::slot::{ConnectionSlot, SendGuard};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn limiter(most: usize) -> Arc<ConnectionLimiter> {
    ConnectionLimiter::new(most, ResponseBudget::new(0))
}

fn peer(number: u8) -> Peer {
    Peer::new(Some([192, 0, 2, number].into()))
}

/// A connection whose client has sent nothing.
async fn silent(limiter: &Arc<ConnectionLimiter>, number: u8) -> Arc<ConnectionSlot> {
    let slot = ConnectionSlot::acquire(limiter, peer(number)).await;
    slot.record_empty_read();
    slot
}

/// A connection whose response was written.
async fn answered(limiter: &Arc<ConnectionLimiter>, number: u8, accepted: bool) -> Arc<ConnectionSlot> {
    let slot = ConnectionSlot::acquire(limiter, peer(number)).await;
    answer(&slot, accepted);
    slot
}

fn answer(slot: &Arc<ConnectionSlot>, accepted: bool) {
    slot.record_request();
    drop(SendGuard { slot: Arc::clone(slot), grant: None, accepted });
    slot.record_flush();
}

/// The indices of the connections that must close.
fn closed(slots: &[&Arc<ConnectionSlot>]) -> Vec<usize> {
    (0..slots.len()).filter(|at| is_closed(slots[*at])).collect()
}

fn is_closed(slot: &ConnectionSlot) -> bool {
    let closed = std::pin::pin!(slot.evicted());
    closed.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
}

/// Keeps a connection until it is evicted, as its task does.
fn serve(slot: Arc<ConnectionSlot>) {
    tokio::spawn(async move { slot.evicted().await });
}

#[tokio::test(start_paused = true)]
async fn the_peer_with_most_idle_connections_loses_its_longest_idle_one() {
    let limiter = limiter(10);
    let single = silent(&limiter, 1).await;
    let (one, two, three) = (silent(&limiter, 2).await, silent(&limiter, 2).await, silent(&limiter, 2).await);
    advance(SECOND).await;
    // From now on, this connection has been idle for the shortest time.
    answer(&one, false);
    let all = [&single, &one, &two, &three];
    for expected in [&[2][..], &[2, 3], &[0, 2, 3], &[0, 1, 2, 3]] {
        assert!(limiter.close_one());
        assert_eq!(closed(&all), expected, "of several peers with one each, the longest idle");
    }
    assert!(!limiter.close_one(), "none is chosen twice");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_silent_connections_closes_or_delays_no_other_connection() {
    let limiter = limiter(8);
    let scrapers = [answered(&limiter, 1, true).await, answered(&limiter, 3, true).await];
    let began = Instant::now();
    for number in 0..1_000 {
        serve(silent(&limiter, 2).await);
        if number % 100 == 0 {
            let other = answered(&limiter, 4, true).await;
            assert!(!is_closed(&other));
        }
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(closed(&scrapers.each_ref()), [0; 0]);
    assert_eq!(limiter.permits.available_permits(), 0);
}

#[tokio::test(start_paused = true)]
async fn accepted_connections_of_many_peers_are_closed_after_the_newest_silent_one() {
    let limiter = limiter(4);
    let accepted =
        [answered(&limiter, 1, true).await, answered(&limiter, 2, true).await, answered(&limiter, 3, true).await];
    for number in 10..20 {
        serve(silent(&limiter, number).await);
    }
    assert_eq!(closed(&accepted.each_ref()), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_protected_connections_per_peer_is_limited() {
    let limiter = limiter(PROTECTED + 4);
    let mut hoarded = Vec::new();
    for _ in 0..PROTECTED + 2 {
        hoarded.push(answered(&limiter, 1, true).await);
    }
    let newcomer = silent(&limiter, 2).await;
    let accepted = answered(&limiter, 3, true).await;
    let hoarded: Vec<_> = hoarded.iter().collect();
    let mut all = hoarded.clone();
    all.extend([&newcomer, &accepted]);
    let (new, protected) = (PROTECTED + 2, PROTECTED + 3);
    assert!(limiter.close_one());
    assert_eq!(closed(&all), [0], "the peer that holds most");
    assert!(limiter.close_one() && limiter.close_one());
    assert_eq!(closed(&all), [0, 1, new], "the newcomer and one beyond what is protected are alike");
    for _ in 0..PROTECTED - 1 {
        assert!(limiter.close_one());
    }
    assert!(!closed(&all).contains(&protected), "the last of all");
    assert!(limiter.close_one() && limiter.close_one());
    assert_eq!(closed(&all).len(), all.len());
}

#[tokio::test(start_paused = true)]
async fn an_unread_or_responding_connection_is_not_closed() {
    let limiter = limiter(10);
    let (unread, answering) =
        (ConnectionSlot::acquire(&limiter, peer(1)).await, ConnectionSlot::acquire(&limiter, peer(1)).await);
    answering.record_request();
    // hyper reads to detect that the client disconnected.
    answering.record_empty_read();
    advance(SECOND * 100).await;
    assert!(!limiter.close_one());
    assert!(unread.is_idle() && !answering.is_idle());
    unread.record_empty_read();
    assert!(limiter.close_one() && is_closed(&unread) && !is_closed(&answering));
}

#[tokio::test(start_paused = true)]
async fn no_protected_connection_is_closed_while_others_are_unread() {
    let limiter = limiter(3);
    let accepted = answered(&limiter, 1, true).await;
    let unread = [ConnectionSlot::acquire(&limiter, peer(2)).await, ConnectionSlot::acquire(&limiter, peer(2)).await];
    assert!(!limiter.close_one());
    // It waits for the next request.
    answer(&accepted, true);
    assert!(!limiter.close_one());
    unread[0].record_empty_read();
    assert!(limiter.close_one() && is_closed(&unread[0]));
    drop(unread);
    assert!(limiter.close_one() && is_closed(&accepted));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_becomes_idle_is_closed_at_once_for_a_waiting_client() {
    let limiter = limiter(1);
    let first = ConnectionSlot::acquire(&limiter, peer(1)).await;
    let waiting = tokio::spawn({
        let limiter = Arc::clone(&limiter);
        async move { ConnectionSlot::acquire(&limiter, peer(2)).await.peer() }
    });
    tokio::task::yield_now().await;
    let began = Instant::now();
    first.record_empty_read();
    serve(first);
    assert_eq!(waiting.await.unwrap(), peer(2));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_client_waiting_while_no_connection_is_idle_is_reported() {
    let limiter = limiter(1);
    let first = ConnectionSlot::acquire(&limiter, peer(1)).await;
    first.record_request();
    assert!(!first.has_waiters());
    let mut waiting = Box::pin(ConnectionSlot::acquire(&limiter, peer(2)));
    assert!(tokio::time::timeout(SECOND, &mut waiting).await.is_err());
    assert!(first.has_waiters());
    drop(first);
    let second = waiting.await;
    assert!(!second.has_waiters());
}

#[tokio::test(start_paused = true)]
async fn a_connection_becomes_idle_only_after_its_response_is_flushed() {
    let limiter = limiter(10);
    let slot = ConnectionSlot::acquire(&limiter, peer(1)).await;
    slot.record_request();
    let sending = SendGuard { slot: Arc::clone(&slot), grant: None, accepted: true };
    slot.record_flush();
    assert!(!slot.is_idle(), "only its beginning is written");
    drop(sending);
    assert!(!slot.is_idle(), "its end is not");
    slot.record_flush();
    assert!(slot.is_idle());
}

#[tokio::test(start_paused = true)]
async fn an_ended_connection_leaves_the_index() {
    let limiter = limiter(10);
    let slots = [
        answered(&limiter, 1, true).await,
        silent(&limiter, 1).await,
        ConnectionSlot::acquire(&limiter, peer(2)).await,
    ];
    limiter.close_one();
    drop(slots);
    let idle = limiter.idle();
    assert!(idle.peers.is_empty() && idle.order.is_empty());
    assert_eq!(limiter.permits.available_permits(), 10);
}
