//! Sources as the page shows them, with a limited wait for pending reads.

use super::*;

const QUICK: FakeRead = FakeRead::Answer(Duration::from_millis(1));

fn shown_state(view: &ObservedSource) -> (State, Reason) {
    let verdict = view.snapshot.leases[0].verdict;
    (verdict.state, verdict.reason)
}

/// The sources as a page gets them, and how long that took.
async fn view(observer: &Observer, waiting: WaitLimit) -> (Vec<ObservedSource>, Duration) {
    let began = Instant::now();
    (observer.observed_sources(waiting, within(10.0)).await, began.elapsed())
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Whether a duration is this one, less than the tick of a timer longer.
fn about(duration: Duration, expected: Duration) -> bool {
    duration >= expected && duration < expected + Duration::from_millis(50)
}

#[tokio::test(start_paused = true)]
async fn the_page_waits_briefly_and_once_for_a_source_that_hangs_and_shows_the_others() {
    let (observer, [_hung, quick]) = observer([FakeRead::IgnoreDeadline, QUICK]);
    let (views, took) = view(&observer, WaitLimit::Short).await;
    assert!(about(took, secs(1)), "{took:?}");
    assert_eq!((shown_state(&views[0]), shown_state(&views[1])), (TIMEOUT, ACTIVE));
    assert_eq!(views[1].unanswered_for, None);
    for later in 1..=5 {
        tokio::time::sleep(secs(2)).await;
        let (views, took) = view(&observer, WaitLimit::Short).await;
        assert!(took < Duration::from_millis(50), "it is not waited for again: {took:?}");
        assert_eq!((shown_state(&views[0]), shown_state(&views[1])), (TIMEOUT, ACTIVE));
        assert!(about(views[0].unanswered_for.unwrap(), secs(1 + 2 * later)), "{:?}", views[0].unanswered_for);
    }
    assert_eq!(quick.reads(), 6, "read at each look");
}

#[tokio::test(start_paused = true)]
async fn the_page_shows_the_last_reading_with_its_time_for_a_while_and_then_unknown_leases() {
    let (observer, [source]) = observer([QUICK]);
    let (first, _) = view(&observer, WaitLimit::Short).await;
    source.set_read(FakeRead::IgnoreDeadline);
    for (after, expected) in [(2, ACTIVE), (2, ACTIVE), (2, TIMEOUT), (60, TIMEOUT)] {
        tokio::time::sleep(secs(after)).await;
        let (now, _) = view(&observer, WaitLimit::Short).await;
        assert_eq!(shown_state(&now[0]), expected, "{after}");
        assert!(now[0].unanswered_for.is_some());
        assert_eq!(now[0].observed_at == first[0].observed_at, expected == ACTIVE, "of the time of that look");
        assert_eq!(now[0].snapshot.leases.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_neither_ends_a_pending_read_nor_changes_the_result_of_a_scrape() {
    let (observer, [source]) = observer([FakeRead::Answer(secs(3))]);
    let scrape = tokio::spawn({
        let observer = Arc::clone(&observer);
        async move { observer.observe(within(10.0)).await }
    });
    tokio::task::yield_now().await;
    let (views, _) = view(&observer, WaitLimit::Short).await;
    assert_eq!(shown_state(&views[0]), TIMEOUT);
    let scraped = scrape.await.unwrap();
    assert_eq!(state_of(&scraped[0]), ACTIVE);
    assert_eq!(scraped[0].snapshot.health.failures, [0; ReadFailure::ALL.len()], "nothing failed");
    assert_eq!(source.reads(), 1);
    let (views, _) = view(&observer, WaitLimit::Short).await;
    assert_eq!((shown_state(&views[0]), views[0].unanswered_for), (ACTIVE, None));
    assert_eq!(source.reads(), 1, "shared");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_a_page_started_has_the_timeout_of_its_source() {
    let (observer, [_]) = observer([FakeRead::Answer(secs(4))]);
    assert_eq!(shown_state(&view(&observer, WaitLimit::Short).await.0[0]), TIMEOUT);
    let scraped = observer.observe(within(3.5)).await;
    assert_eq!(state_of(&scraped[0]), ACTIVE);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_repeated_waits_for_a_slow_source_as_long_as_its_last_read() {
    let (observer, [source]) = observer([FakeRead::Answer(secs(3))]);
    let usual = WaitLimit::LastReadDuration;
    observer.observe(within(10.0)).await;
    tokio::time::sleep(secs(2)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown_state(&views[0]), about(took, secs(1))), (ACTIVE, true), "what still stands is shown: {took:?}");
    observer.observe(within(10.0)).await;
    tokio::time::sleep(secs(60)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown_state(&views[0]), about(took, secs(3))), (ACTIVE, true), "{took:?}");
    source.set_read(FakeRead::IgnoreDeadline);
    tokio::time::sleep(secs(60)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown_state(&views[0]), about(took, secs(4))), (TIMEOUT, true), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_unanswered_time_continues_over_reads_that_time_out_and_ends_with_any_other_result() {
    let (observer, [source]) = observer([FakeRead::Answer(secs(3_600))]);
    let began = Instant::now();
    for _ in 0..20 {
        let (views, _) = view(&observer, WaitLimit::Short).await;
        assert_eq!(shown_state(&views[0]), TIMEOUT);
        assert!(about(views[0].unanswered_for.unwrap(), began.elapsed()), "{:?}", views[0].unanswered_for);
        tokio::time::sleep(secs(2)).await;
    }
    assert!(source.reads() > 3, "each of them has its own timeout");
    source.set_read(FakeRead::Fail);
    tokio::time::sleep(secs(10)).await;
    let failed = observer.observe(within(9.0)).await;
    tokio::time::sleep(secs(2)).await;
    let (views, _) = view(&observer, WaitLimit::Short).await;
    assert_eq!(
        (state_of(&failed[0]).0, shown_state(&views[0]), views[0].unanswered_for),
        (State::Unknown, REFUSED, None)
    );
    source.set_read(FakeRead::IgnoreDeadline);
    tokio::time::sleep(secs(2)).await;
    let (views, _) = view(&observer, WaitLimit::Short).await;
    assert!(about(views[0].unanswered_for.unwrap(), secs(1)), "{:?}", views[0].unanswered_for);
}

#[tokio::test(start_paused = true)]
async fn the_page_shows_a_store_that_panics_as_refused() {
    let (observer, [_]) = observer([FakeRead::Panic]);
    let (views, took) = view(&observer, WaitLimit::Short).await;
    assert_eq!((shown_state(&views[0]), took < secs(1)), (REFUSED, true));
}
