//! Progress of schedulers that keep a schedule of due work and no progress (`progress_by_due`).
//!
//! Such a scheduler reschedules the first entry of a sorted set when it has done the work. The tracker remembers the first
//! entry of each lease between readings and counts how often its score grew. The lowest score of the set is not enough: it
//! also changes when an earlier entry is added or removed.
//!
//! This state is kept here and not in the tracker of leases, because the next request asks for the remembered entry.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::lease::Cursor;

/// Follows the first entry of the schedule of each lease of a source.
pub(super) struct DueScheduleTracker {
    schedules: HashMap<Arc<str>, Schedule>,
    /// The maximum number of schedules between readings.
    max_leases: usize,
    /// The number of readings so far.
    readings: u64,
}

#[derive(Default)]
struct Schedule {
    /// The first entry at the last reading.
    first: Option<Entry>,
    /// How often the first entry was rescheduled to a later time.
    postponed: i64,
    /// The last reading in which the lease was read.
    reading: u64,
}

#[derive(Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) member: Box<[u8]>,
    pub(super) score: f64,
}

impl DueScheduleTracker {
    /// A tracker without schedules. It remembers twice `max_leases`, so that the count of a lease that is not read for a
    /// while does not restart, which would look like progress.
    pub(super) fn new(max_leases: usize) -> Self {
        Self { schedules: HashMap::new(), max_leases: max_leases.saturating_mul(2), readings: 0 }
    }

    /// The first member at the last reading, whose score the next request asks for. It is empty if there was none: the
    /// request is still sent, so that a missing right for it is found at the first reading.
    pub(super) fn first_member(&self, lease: &str) -> &[u8] {
        self.schedules.get(lease).and_then(|schedule| schedule.first.as_ref()).map_or(&[], |entry| &entry.member)
    }

    /// Updates a lease with its first entry, and with the present score of the entry that was first before, if it is still
    /// in the set. The cursor changes only if that score grew.
    pub(super) fn update(&mut self, lease: &Arc<str>, first: Option<Entry>, score_of_previous: Option<f64>) -> Cursor {
        let schedule = self.schedules.entry(Arc::clone(lease)).or_default();
        if let (Some(before), Some(score)) = (&schedule.first, score_of_previous)
            && score > before.score
        {
            schedule.postponed = schedule.postponed.wrapping_add(1);
        }
        schedule.first = first;
        schedule.reading = self.readings;
        Cursor::Number(schedule.postponed)
    }

    /// Ends a reading. Beyond the maximum, the schedules that were read the longest ago are dropped.
    pub(super) fn finish_reading(&mut self) {
        self.readings += 1;
        if let Some(excess) = self.schedules.len().checked_sub(self.max_leases).filter(|excess| *excess > 0) {
            let mut read: Vec<u64> = self.schedules.values().map(|schedule| schedule.reading).collect();
            let (_, last_forgotten, _) = read.select_nth_unstable(excess - 1);
            let last_forgotten = *last_forgotten;
            self.schedules.retain(|_, schedule| schedule.reading > last_forgotten);
        }
    }
}

/// Members are an application's data, so they are left out.
impl fmt::Debug for DueScheduleTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueScheduleTracker").field("leases", &self.schedules.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sorted set of a server, read as the store does.
    struct SortedSet {
        schedules: DueScheduleTracker,
        entries: Vec<(&'static str, f64)>,
    }

    impl SortedSet {
        fn new(entries: &[(&'static str, f64)]) -> Self {
            Self { schedules: DueScheduleTracker::new(10), entries: entries.to_vec() }
        }

        fn put(&mut self, member: &'static str, score: f64) {
            self.remove(member);
            self.entries.push((member, score));
        }

        fn remove(&mut self, member: &str) {
            self.entries.retain(|(other, _)| *other != member);
        }

        fn cursor(&mut self) -> Cursor {
            let asked = self.schedules.first_member("a");
            let score = self.entries.iter().find(|(member, _)| member.as_bytes() == asked).map(|(_, score)| *score);
            let first = self.entries.iter().min_by(|one, other| one.1.total_cmp(&other.1));
            let first = first.map(|(member, score)| Entry { member: member.as_bytes().into(), score: *score });
            let cursor = self.schedules.update(&"a".into(), first, score);
            self.schedules.finish_reading();
            cursor
        }
    }

    #[test]
    fn the_cursor_moves_when_what_came_first_is_put_off_and_each_time_that_it_is() {
        let mut set = SortedSet::new(&[("tick", 100.0), ("nightly", 900.0)]);
        let first = set.cursor();
        assert_eq!(set.cursor(), first);
        set.put("tick", 105.0);
        let second = set.cursor();
        assert_ne!(second, first);
        set.put("tick", 2_000.0);
        set.put("earlier", 50.0);
        assert_ne!(set.cursor(), second, "put off, whatever else was put in");
    }

    #[test]
    fn adding_removing_or_advancing_entries_of_a_schedule_does_not_move_the_cursor() {
        let mut set = SortedSet::new(&[("stuck", 100.0), ("nightly", 900.0)]);
        let first = set.cursor();
        set.put("earlier", 50.0);
        assert_eq!(set.cursor(), first, "something earlier was put in");
        set.remove("earlier");
        assert_eq!(set.cursor(), first, "and taken out again");
        set.put("stuck", 90.0);
        assert_eq!(set.cursor(), first, "brought forward");
        set.remove("stuck");
        assert_eq!(set.cursor(), first, "what is stuck was deleted");
        set.put("stuck", 5_000.0);
        assert_eq!(set.cursor(), first, "and came back, when it was not watched any more");
        set.remove("nightly");
        set.remove("stuck");
        assert_eq!(set.cursor(), first, "nothing is left");
        set.put("nightly", 900.0);
        assert_eq!(set.cursor(), first);
        set.put("nightly", 1_000.0);
        assert_ne!(set.cursor(), first);
    }

    #[test]
    fn a_lease_that_is_not_read_for_a_while_is_remembered_and_of_too_many_the_last_read_are() {
        let mut schedules = DueScheduleTracker::new(2);
        let entry = |score| Some(Entry { member: (*b"m").into(), score });
        let mut postponed = |lease: &str| {
            let lease = Arc::from(lease);
            schedules.update(&lease, entry(1.0), None);
            let cursor = schedules.update(&lease, entry(2.0), Some(2.0));
            schedules.finish_reading();
            cursor
        };
        let moved = postponed("a");
        for lease in ["b", "c", "d"] {
            postponed(lease);
        }
        assert_eq!(schedules.update(&"a".into(), entry(2.0), Some(2.0)), moved);
        schedules.finish_reading();
        schedules.update(&"e".into(), entry(2.0), None);
        schedules.finish_reading();
        assert_eq!(
            (schedules.first_member("b"), schedules.first_member("a"), schedules.schedules.len()),
            (&b""[..], &b"m"[..], 4)
        );
    }

    #[test]
    fn no_name_of_an_entry_is_shown() {
        let mut schedules = DueScheduleTracker::new(2);
        schedules.update(&"a".into(), Some(Entry { member: (*b"planted").into(), score: 1.0 }), None);
        let shown = format!("{schedules:?}");
        assert!(shown.contains("leases: 1") && !shown.contains(&format!("{:?}", b"planted")), "{shown}");
    }
}
