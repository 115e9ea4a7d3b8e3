use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::super::{ConnectionLimiter, Peer, ResponseBudget};
use super::*;
use crate::observer::Retained;

/// More than a socket buffers.
const LONG: usize = 16 << 20;

/// A connection, its client, and the budget that its responses share.
async fn connection() -> (MeteredStream, UnixStream, Arc<ResponseBudget>) {
    let (socket, client) = UnixStream::pair().unwrap();
    let budget = ResponseBudget::new(0);
    let slot = ConnectionSlot::acquire(&ConnectionLimiter::new(1, Arc::clone(&budget)), Peer::new(None)).await;
    (MeteredStream::new(Either::Right(socket), slot, Limits::default(), CancellationToken::new()), client, budget)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_disconnected_at_the_write_limit_or_earlier_if_another_waits() {
    let Limits { stall, write, .. } = Limits::default();
    for (is_waited_for, limit) in [(false, write), (true, stall)] {
        let (mut stream, _client, budget) = connection().await;
        let hold = |id| budget.admit(Peer::new(None), &[Retained { id, bytes: 1 << 20 }], None);
        let _held = [hold(1).unwrap(), hold(2).unwrap()];
        let mut waiting = Box::pin(budget.wait_for_room(Peer::new(None), None, hold(3).unwrap_err()));
        if is_waited_for {
            assert!(tokio::time::timeout(CHECK_INTERVAL, &mut waiting).await.is_err());
        }
        let began = Instant::now();
        let error = stream.write_all(&vec![0; LONG]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(
            (limit..limit + CHECK_INTERVAL * 2).contains(&began.elapsed()),
            "{is_waited_for}: {:?}",
            began.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_disconnected_even_if_another_waits() {
    let (mut stream, mut client, budget) = connection().await;
    let hold = |id| budget.admit(Peer::new(None), &[Retained { id, bytes: 1 << 20 }], None);
    let _held = [hold(1).unwrap(), hold(2).unwrap()];
    let mut waiting = Box::pin(budget.wait_for_room(Peer::new(None), None, hold(3).unwrap_err()));
    assert!(tokio::time::timeout(CHECK_INTERVAL, &mut waiting).await.is_err());
    let reading = tokio::spawn(async move {
        // A Unix socket becomes writable after three quarters of its buffer are read.
        let mut piece = vec![0; LONG / 64];
        for _ in 0..64 {
            tokio::time::sleep(Limits::default().stall - CHECK_INTERVAL).await;
            client.read_exact(&mut piece).await.unwrap();
        }
    });
    let began = Instant::now();
    stream.write_all(&vec![0; LONG]).await.unwrap();
    reading.await.unwrap();
    assert!(began.elapsed() > Limits::default().write * 2);
}

#[tokio::test(start_paused = true)]
async fn during_shutdown_a_client_that_takes_nothing_is_disconnected_at_the_stall_limit() {
    let (mut stream, _client, _budget) = connection().await;
    stream.shutdown.cancel();
    let (stall, began) = (Limits::default().stall, Instant::now());
    let error = stream.write_all(&vec![0; LONG]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!((stall..stall + CHECK_INTERVAL * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
}
