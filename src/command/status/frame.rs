//! What a terminal shows of the latest looks: the worst first, cut to its size.

use std::time::Duration;

use super::super::terminal::{Size, Style, waiting_text};
use super::painted;
use crate::expose::table::NameWidth;
use crate::expose::{SEVERITY, StateCounts, severity_key, table, truncate_to_width};
use crate::lease::{Readable, SourceSnapshot, State, Status};

/// What there is to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// What was seen last of each source that was looked at already.
    pub(super) snapshots: &'a [&'a SourceSnapshot],
    /// The sources that are being looked at for long, or for the first time, and for how long the first of them has been.
    pub(super) awaited: Option<(&'a [String], Duration)>,
    /// How often they are looked at.
    pub(super) every: Duration,
    /// The time, as it is shown.
    pub(super) time: &'a str,
}

/// The lines for a terminal of this size: never more than it has, none wider.
pub(super) fn frame(shown: &Shown<'_>, size: Size, colour: bool) -> Vec<String> {
    let style = |style: Style, text: String| if colour { style.paint(&text) } else { text };
    let counts = StateCounts::of(shown.snapshots);
    let every = Readable(shown.every);
    let title = format!("lease-exporter status, every {every}: {}; Ctrl-C ends it", shown.time);
    let mut lines =
        vec![style(Style::Bold, truncate_to_width(&title, size.columns)), tally(counts, size.columns, colour)];
    if let Some((names, waited)) = shown.awaited {
        lines.push(style(Style::Dim, truncate_to_width(&waiting_text("reading", names, waited), size.columns)));
    }
    lines.extend(troubles(shown.snapshots, size).into_iter().map(|line| style(Style::Of(State::Unknown), line)));
    lines.push(String::new());
    let rest = size.rows.saturating_sub(lines.len());
    lines.extend(leases(shown, rest, size.columns, colour));
    lines.truncate(size.rows);
    lines
}

/// How many leases there are in each state.
fn tally(counts: StateCounts, columns: usize, colour: bool) -> String {
    let mut text = format!("{} leases", counts.total());
    let mut places = Vec::new();
    for state in SEVERITY.into_iter().filter(|state| counts.in_state(*state) > 0) {
        text.push_str(if places.is_empty() { ": " } else { ", " });
        let from = text.len();
        text.push_str(&format!("{} {state}", counts.in_state(state)));
        places.push((state, from..text.len()));
    }
    let mut text = truncate_to_width(&text, columns);
    // From the end, so that the places before stay what they are.
    for (state, place) in places.into_iter().rev().filter(|_| colour) {
        text = Style::Of(state).paint_part(&text, &place);
    }
    text
}

/// What is wrong with sources, in a third of the terminal at the most.
fn troubles(snapshots: &[&SourceSnapshot], size: Size) -> Vec<String> {
    let mut lines = table::source_problems(snapshots);
    let room = (size.rows / 3).max(1);
    if lines.len() > room {
        let more = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(format!("and {more} more sources"));
    }
    lines.iter().map(|line| truncate_to_width(line, size.columns)).collect()
}

/// The table of as many leases as there is room for, and how many are not in it. Where not all have room with a reason
/// below each, those that are active or idle go without.
fn leases(shown: &Shown<'_>, rows: usize, columns: usize, colour: bool) -> Vec<String> {
    let snapshots = shown.snapshots;
    let all_read = shown.awaited.is_none();
    let mut leases: Vec<(&SourceSnapshot, &Status)> =
        snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(|status| (*snapshot, status))).collect();
    leases.sort_by(|(a, one), (b, other)| severity_key(a, one).cmp(&severity_key(b, other)));
    // With the head above them.
    let all_have_room = 2 * leases.len() < rows;
    let with_reason = |status: &Status| all_have_room || !matches!(status.verdict.state, State::Active | State::Idle);
    let takes = |status: &Status| if with_reason(status) { 2 } else { 1 };
    let mut room = rows.saturating_sub(1);
    if leases.iter().map(|(_, status)| takes(status)).sum::<usize>() > room {
        // The last line says how many have none.
        room = room.saturating_sub(1);
    }
    let fit = leases.iter().take_while(|(_, status)| {
        let enough = room >= takes(status);
        room = room.saturating_sub(takes(status));
        enough
    });
    let fit = fit.count();
    let (shown, not_shown) = leases.split_at(fit);
    let mut lines = Vec::new();
    if !shown.is_empty() || (not_shown.is_empty() && all_read) {
        // A long name must not push the states off the terminal.
        let table = table::lines(shown, NameWidth::AtMost((columns / 4).max(8)));
        lines.extend(table.first().map(|head| truncate_to_width(&head.text, columns)));
        for ((_, status), of_lease) in shown.iter().zip(table[1..].chunks(2)) {
            for line in &of_lease[..takes(status).min(of_lease.len())] {
                let text = truncate_to_width(&line.text, columns);
                lines.push(if colour { painted(&text, line) } else { text });
            }
        }
    }
    if !not_shown.is_empty() {
        let states = SEVERITY.into_iter().filter_map(|state| {
            let count = not_shown.iter().filter(|(_, status)| status.verdict.state == state).count();
            (count > 0).then(|| format!("{count} {state}"))
        });
        let states = states.collect::<Vec<_>>().join(", ");
        lines.push(truncate_to_width(&format!("… and {} more: {states}", not_shown.len()), columns));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    const WIDE: usize = 110;

    fn lines(snapshots: &[SourceSnapshot], columns: usize, rows: usize) -> Vec<String> {
        let snapshots: Vec<_> = snapshots.iter().collect();
        let awaited = ["cache".to_owned()];
        let awaited = Some((&awaited[..], Duration::from_secs(3)));
        let shown =
            Shown { snapshots: &snapshots, awaited, every: Duration::from_secs(2), time: "2027-01-15T08:00:00Z" };
        frame(&shown, Size { columns, rows }, false)
    }

    #[test]
    fn every_terminal_gets_what_it_has_room_for_the_worst_first() {
        let snapshots = snapshots::all();
        for (name, columns, rows) in [("watch-tall.txt", WIDE, 60), ("watch.txt", 80, 24), ("watch-small.txt", 40, 12)]
        {
            let shown = lines(&snapshots, columns, rows).join("\n") + "\n";
            crate::expose::testing::golden::assert_matches(name, &shown);
        }
    }

    #[test]
    fn no_size_gets_more_rows_or_columns_than_it_has() {
        use unicode_width::UnicodeWidthStr as _;
        let mut snapshots = snapshots::all();
        snapshots.push(snapshots::many(100));
        for columns in 0..=WIDE {
            for rows in 0..=50 {
                let shown = lines(&snapshots, columns, rows);
                assert!(shown.len() <= rows, "{rows}: {shown:#?}");
                assert!(shown.iter().all(|line| line.width() <= columns), "{columns}: {shown:#?}");
            }
        }
    }

    #[test]
    fn each_lease_is_shown_or_counted() {
        let snapshots = [snapshots::many(10_000)];
        for rows in [10, 24, 60] {
            let shown = lines(&snapshots, WIDE, rows);
            assert_eq!(shown.len(), rows, "no row is wasted");
            let table = shown.iter().filter(|line| line.starts_with("many ")).count();
            assert_eq!(shown.last(), Some(&format!("… and {} more: {} active", 10_000 - table, 10_000 - table)));
        }
    }

    #[test]
    fn that_there_are_no_leases_is_said_once_all_sources_were_looked_at() {
        let names = ["cache".to_owned()];
        for (awaited, says) in [(Some((&names[..], Duration::ZERO)), false), (None, true)] {
            let shown = Shown { snapshots: &[], awaited, every: Duration::from_secs(2), time: "now" };
            let lines = frame(&shown, Size { columns: 80, rows: 24 }, false);
            assert_eq!(lines.contains(&"no leases".to_owned()), says, "{lines:?}");
        }
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let snapshots = snapshots::all();
        let snapshots: Vec<_> = snapshots.iter().collect();
        let shown = Shown { snapshots: &snapshots, awaited: None, every: Duration::from_secs(2), time: "now" };
        let size = Size { columns: 80, rows: 40 };
        let coloured = frame(&shown, size, true).join("\n");
        assert!(coloured.contains("\x1b[1;31mstalled\x1b[0m"), "{coloured}");
        let mut plain = String::new();
        for (number, part) in coloured.split('\x1b').enumerate() {
            plain.push_str(if number == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(plain, frame(&shown, size, false).join("\n"));
    }
}
