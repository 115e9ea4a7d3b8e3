use super::*;

fn crowd(most: usize) -> Arc<Crowd> {
    Crowd::of(most, Duration::ZERO, Ledger::of(0))
}

fn peer(number: u8) -> Peer {
    Peer::new(Some([192, 0, 2, number].into()))
}

/// A place whose answer was written.
async fn answered(crowd: &Arc<Crowd>, number: u8) -> Arc<Place> {
    let place = crowd.place(peer(number)).await;
    drop(place.busy());
    place.flushed();
    place
}

/// Which of these have been asked to leave.
fn asked(places: &[&Arc<Place>]) -> Vec<usize> {
    (0..places.len()).filter(|at| places[*at].leave.is_cancelled()).collect()
}

#[tokio::test]
async fn whoever_holds_most_makes_room_first_with_the_longest_idle() {
    let crowd = crowd(10);
    let scraper = answered(&crowd, 1).await;
    let (one, two, three) = (answered(&crowd, 2).await, answered(&crowd, 2).await, answered(&crowd, 2).await);
    // It is idle for a shorter time than the other two from now on.
    drop(one.busy());
    one.flushed();
    let all = [&scraper, &one, &two, &three];
    crowd.make_room();
    assert_eq!(asked(&all), [2]);
    crowd.make_room();
    assert_eq!(asked(&all), [2, 3]);
    drop((two, three));
    crowd.make_room();
    assert!(scraper.leave.is_cancelled(), "both hold one, and it has been idle longer");
}

#[tokio::test]
async fn an_answer_makes_room_as_soon_as_it_is_written_and_not_before() {
    let crowd = Crowd::of(10, Duration::from_secs(3600), Ledger::of(0));
    let place = crowd.place(peer(1)).await;
    let leaves = || {
        crowd.make_room();
        place.leave.is_cancelled()
    };
    let busy = place.busy();
    assert!(!leaves(), "it is being made");
    busy.sending([&b"answer"[..]].into_iter());
    place.flushed();
    assert!(!leaves(), "only its beginning is written");
    drop(busy);
    assert!(!leaves(), "its end is not");
    assert!(!place.is_idle());
    place.flushed();
    assert!(place.is_idle());
    assert!(leaves());
}

#[tokio::test]
async fn a_client_that_has_just_come_is_left_alone_and_one_that_takes_too_long_is_not() {
    let crowd = crowd(10);
    let (new, slow) = (crowd.place(peer(1)).await, crowd.place(peer(2)).await);
    let busy = slow.busy();
    busy.sending([&b"answer"[..]].into_iter());
    crowd.make_room();
    assert_eq!(asked(&[&new, &slow]), [1]);
}

#[tokio::test]
async fn who_has_gone_is_forgotten() {
    let crowd = crowd(10);
    let places = [answered(&crowd, 1).await, answered(&crowd, 1).await, answered(&crowd, 2).await];
    drop(places);
    assert!(crowd.there().peers.is_empty());
    assert_eq!(crowd.places.available_permits(), 10);
}
