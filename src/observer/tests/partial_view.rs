//! Views for people, who see what is known and do not wait for the rest.

use super::*;

const BRIEFLY: WaitLimit = WaitLimit::Short;
const QUICK: Does = Does::Answer(Duration::from_millis(1));

fn shown(view: &PartialView) -> (State, Reason) {
    let verdict = view.snapshot.leases[0].verdict;
    (verdict.state, verdict.reason)
}

/// Looks as an open page does, and gives what that shows and how long it took.
async fn view(observer: &Observer, waiting: WaitLimit) -> (Vec<PartialView>, Duration) {
    let began = Instant::now();
    (observer.partial_views(waiting, within(10.0)).await, began.elapsed())
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Whether a duration is this one, less than the tick of a timer longer.
fn about(duration: Duration, expected: Duration) -> bool {
    duration >= expected && duration < expected + Duration::from_millis(50)
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_is_waited_for_a_moment_once_and_the_others_are_shown() {
    let (observer, [_hung, quick]) = observer([Does::IgnoreTheDeadline, QUICK]);
    let (views, took) = view(&observer, BRIEFLY).await;
    assert!(about(took, secs(1)), "{took:?}");
    assert_eq!((shown(&views[0]), shown(&views[1])), (TIMEOUT, ACTIVE));
    assert_eq!(views[1].unanswered, None);
    for later in 1..=5 {
        tokio::time::sleep(secs(2)).await;
        let (views, took) = view(&observer, BRIEFLY).await;
        assert!(took < Duration::from_millis(50), "it is not waited for again: {took:?}");
        assert_eq!((shown(&views[0]), shown(&views[1])), (TIMEOUT, ACTIVE));
        assert!(about(views[0].unanswered.unwrap(), secs(1 + 2 * later)), "{:?}", views[0].unanswered);
    }
    assert_eq!(quick.reads(), 6, "read at each look");
}

#[tokio::test(start_paused = true)]
async fn what_the_last_look_showed_stands_for_a_while_with_its_time_and_then_nothing_is_known() {
    let (observer, [source]) = observer([QUICK]);
    let (first, _) = view(&observer, BRIEFLY).await;
    source.now_does(Does::IgnoreTheDeadline);
    for (after, expected) in [(2, ACTIVE), (2, ACTIVE), (2, TIMEOUT), (60, TIMEOUT)] {
        tokio::time::sleep(secs(after)).await;
        let (now, _) = view(&observer, BRIEFLY).await;
        assert_eq!(shown(&now[0]), expected, "{after}");
        assert!(now[0].unanswered.is_some());
        assert_eq!(now[0].at == first[0].at, expected == ACTIVE, "of the time of that look");
        assert_eq!(now[0].snapshot.leases.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_of_people_neither_ends_a_reading_nor_changes_what_a_scrape_gets() {
    let (observer, [source]) = observer([Does::Answer(secs(3))]);
    let scrape = tokio::spawn({
        let observer = Arc::clone(&observer);
        async move { observer.observe(within(10.0)).await }
    });
    tokio::task::yield_now().await;
    let (views, _) = view(&observer, BRIEFLY).await;
    assert_eq!(shown(&views[0]), TIMEOUT);
    let scraped = scrape.await.unwrap();
    assert_eq!(said(&scraped[0]), ACTIVE);
    assert_eq!(scraped[0].snapshot.health.failures, [0; ReadFailure::ALL.len()], "nothing failed");
    assert_eq!(source.reads(), 1);
    let (views, _) = view(&observer, BRIEFLY).await;
    assert_eq!((shown(&views[0]), views[0].unanswered), (ACTIVE, None));
    assert_eq!(source.reads(), 1, "shared");
}

#[tokio::test(start_paused = true)]
async fn a_reading_that_people_began_takes_the_time_that_it_needs() {
    let (observer, [_]) = observer([Does::Answer(secs(4))]);
    assert_eq!(shown(&view(&observer, BRIEFLY).await.0[0]), TIMEOUT);
    let scraped = observer.observe(within(3.5)).await;
    assert_eq!(said(&scraped[0]), ACTIVE);
}

#[tokio::test(start_paused = true)]
async fn a_slow_source_is_waited_for_as_long_as_usual_by_who_does_not_look_again() {
    let (observer, [source]) = observer([Does::Answer(secs(3))]);
    let usual = WaitLimit::LastReadDuration;
    observer.observe(within(10.0)).await;
    tokio::time::sleep(secs(2)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown(&views[0]), about(took, secs(1))), (ACTIVE, true), "what still stands is shown: {took:?}");
    observer.observe(within(10.0)).await;
    tokio::time::sleep(secs(60)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown(&views[0]), about(took, secs(3))), (ACTIVE, true), "{took:?}");
    source.now_does(Does::IgnoreTheDeadline);
    tokio::time::sleep(secs(60)).await;
    let (views, took) = view(&observer, usual).await;
    assert_eq!((shown(&views[0]), about(took, secs(4))), (TIMEOUT, true), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn for_how_long_a_store_has_not_answered_goes_on_over_attempts_that_time_out_and_over_no_other() {
    let (observer, [source]) = observer([Does::Answer(secs(3_600))]);
    let began = Instant::now();
    for _ in 0..20 {
        let (views, _) = view(&observer, BRIEFLY).await;
        assert_eq!(shown(&views[0]), TIMEOUT);
        assert!(about(views[0].unanswered.unwrap(), began.elapsed()), "{:?}", views[0].unanswered);
        tokio::time::sleep(secs(2)).await;
    }
    assert!(source.reads() > 3, "each of them has its own timeout");
    source.now_does(Does::Fail);
    tokio::time::sleep(secs(10)).await;
    let failed = observer.observe(within(9.0)).await;
    tokio::time::sleep(secs(2)).await;
    let (views, _) = view(&observer, BRIEFLY).await;
    assert_eq!((said(&failed[0]).0, shown(&views[0]), views[0].unanswered), (State::Unknown, REFUSED, None));
    source.now_does(Does::IgnoreTheDeadline);
    tokio::time::sleep(secs(2)).await;
    let (views, _) = view(&observer, BRIEFLY).await;
    assert!(about(views[0].unanswered.unwrap(), secs(1)), "{:?}", views[0].unanswered);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_is_refused_to_people_too() {
    let (observer, [_]) = observer([Does::Panic]);
    let (views, took) = view(&observer, BRIEFLY).await;
    assert_eq!((shown(&views[0]), took < secs(1)), (REFUSED, true));
}
