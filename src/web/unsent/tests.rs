use super::*;

const LONG: usize = 100 * 1024;

/// What is sent of one reading: a header that all share, and a text of its own.
fn reading(header: &'static [u8]) -> Vec<Vec<u8>> {
    vec![header.to_vec(), vec![b'x'; LONG], vec![b'y'; LONG]]
}

struct Sent {
    unsent: Unsent,
    leave: CancellationToken,
}

impl Sent {
    fn of(ledger: &Arc<Ledger>, peer: u8, pieces: &[Vec<u8>]) -> Self {
        let leave = CancellationToken::new();
        let peer = Peer::new(Some([192, 0, 2, peer].into()));
        Self { unsent: Ledger::enter(ledger, peer, pieces.iter().map(Vec::as_slice), &leave), leave }
    }

    fn is_cut_off(&self) -> bool {
        self.leave.is_cancelled()
    }
}

#[test]
fn however_many_are_sent_one_reading_it_counts_once() {
    let ledger = Arc::new(Ledger::of(0));
    let pieces = reading(b"h");
    let sent: Vec<_> = (0..100).map(|number| Sent::of(&ledger, number, &pieces)).collect();
    assert!(!sent.iter().any(Sent::is_cut_off));
    assert_eq!(ledger.held().bytes, 2 * LONG as u64 + 1);
    drop(sent);
    let held = ledger.held();
    assert_eq!((held.bytes, held.answers.len(), held.pieces.len()), (0, 0, 0));
}

#[test]
fn a_client_that_holds_a_reading_each_time_that_it_asks_holds_two_at_the_most() {
    let ledger = Arc::new(Ledger::of(0));
    let readings: Vec<_> = (0..20).map(|_| reading(b"h")).collect();
    let sent: Vec<_> = readings.iter().map(|pieces| Sent::of(&ledger, 1, pieces)).collect();
    let cut: Vec<_> = sent.iter().map(Sent::is_cut_off).collect();
    assert_eq!(cut, [[true; 18].as_slice(), &[false; 2]].concat());
    assert!(ledger.held().bytes <= 4 * LONG as u64 + 2);
}

#[test]
fn whoever_is_slow_most_often_is_cut_off_before_a_scraper_that_began_earlier() {
    let ledger = Arc::new(Ledger::of(5 * LONG as u64));
    let readings: Vec<_> = (0..5).map(|_| reading(b"h")).collect();
    let scraper = Sent::of(&ledger, 1, &readings[0]);
    let sent: Vec<_> = readings[1..].iter().map(|pieces| Sent::of(&ledger, 2, pieces)).collect();
    assert!(!scraper.is_cut_off());
    assert_eq!(sent.iter().map(Sent::is_cut_off).collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn nobody_is_cut_off_who_is_sent_the_newest_reading_too() {
    let ledger = Arc::new(Ledger::of(0));
    let (old, new) = (reading(b"h"), [b"h".to_vec(), vec![b'z'; LONG]]);
    let early: Vec<_> = (0..3).map(|_| Sent::of(&ledger, 1, &new)).collect();
    let other = Sent::of(&ledger, 2, &old);
    let late = Sent::of(&ledger, 1, &new);
    assert!(!early.iter().any(Sent::is_cut_off) && !late.is_cut_off());
    assert!(other.is_cut_off(), "it holds more than the newest and another as long");
}

#[test]
fn short_answers_are_not_counted_and_what_was_sent_is_no_more() {
    let ledger = Arc::new(Ledger::of(0));
    let short = Sent::of(&ledger, 1, &[vec![b'x'; 100]]);
    assert_eq!((short.unsent.number, ledger.held().bytes), (None, 0));
    for _ in 0..10 {
        let pieces = reading(b"h");
        assert!(!Sent::of(&ledger, 1, &pieces).is_cut_off());
    }
    assert_eq!(ledger.held().bytes, 0);
}
