//! The lines of `status --watch` on a terminal: the worst leases first, cut to the terminal's size.

use std::time::Duration;

use anstyle::Style;

use super::super::terminal::{Size, paint, paint_part, progress_text, state_style};
use super::paint_state;
use crate::expose::table::NameWidth;
use crate::expose::{SEVERITY, StateCounts, severity_key, table, truncate_to_width};
use crate::lease::{Readable, SourceSnapshot, State, Status};

/// The content of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameContent<'a> {
    /// The latest snapshot of each source that has been read.
    pub(super) snapshots: &'a [&'a SourceSnapshot],
    /// The sources whose reading is slow, or is the first one, and the longest time that any of these takes.
    pub(super) pending: Option<(&'a [String], Duration)>,
    /// The interval of readings.
    pub(super) every: Duration,
    /// The current time.
    pub(super) time: &'a str,
}

/// The lines for a terminal of this size. They never exceed its rows and columns.
pub(super) fn frame(content: &FrameContent<'_>, size: Size, colour: bool) -> Vec<String> {
    let styled = |style: Style, text: String| if colour { paint(style, &text) } else { text };
    let counts = StateCounts::of(content.snapshots);
    let every = Readable(content.every);
    let title = format!("lease-exporter status, every {every}: {}; Ctrl-C ends it", content.time);
    let mut lines = vec![
        styled(Style::new().bold(), truncate_to_width(&title, size.columns)),
        state_counts(counts, size.columns, colour),
    ];
    if let Some((names, elapsed)) = content.pending {
        lines.push(styled(
            Style::new().dimmed(),
            truncate_to_width(&progress_text("reading", names, elapsed), size.columns),
        ));
    }
    lines.extend(problems(content.snapshots, size).into_iter().map(|line| styled(state_style(State::Unknown), line)));
    lines.push(String::new());
    let rows = size.rows.saturating_sub(lines.len());
    lines.extend(leases(content, rows, size.columns, colour));
    lines.truncate(size.rows);
    lines
}

/// The number of leases in each state.
fn state_counts(counts: StateCounts, columns: usize, colour: bool) -> String {
    let mut text = format!("{} leases", counts.total());
    let mut ranges = Vec::new();
    for state in SEVERITY.into_iter().filter(|state| counts.in_state(*state) > 0) {
        text.push_str(if ranges.is_empty() { ": " } else { ", " });
        let start = text.len();
        text.push_str(&format!("{} {state}", counts.in_state(state)));
        ranges.push((state, start..text.len()));
    }
    let mut text = truncate_to_width(&text, columns);
    // Backwards, so that the ranges before stay valid.
    for (state, range) in ranges.into_iter().rev().filter(|_| colour) {
        text = paint_part(state_style(state), &text, &range);
    }
    text
}

/// The problems of sources, in at most a third of the rows.
fn problems(snapshots: &[&SourceSnapshot], size: Size) -> Vec<String> {
    let mut lines = table::source_problems(snapshots);
    let limit = (size.rows / 3).max(1);
    if lines.len() > limit {
        let more = lines.len() - (limit - 1);
        lines.truncate(limit - 1);
        lines.push(format!("and {more} more sources"));
    }
    lines.iter().map(|line| truncate_to_width(line, size.columns)).collect()
}

/// The table of the leases that fit, and the number of the others. If not all leases fit with a reason below each, active
/// and idle leases have no reason.
fn leases(content: &FrameContent<'_>, rows: usize, columns: usize, colour: bool) -> Vec<String> {
    let mut leases: Vec<(&SourceSnapshot, &Status)> = content
        .snapshots
        .iter()
        .flat_map(|snapshot| snapshot.leases.iter().map(|status| (*snapshot, status)))
        .collect();
    leases.sort_by(|(a, one), (b, other)| severity_key(a, one).cmp(&severity_key(b, other)));
    // One row is needed for the table head.
    let all_fit = 2 * leases.len() < rows;
    let with_reason = |status: &Status| all_fit || !matches!(status.verdict.state, State::Active | State::Idle);
    let height = |status: &Status| if with_reason(status) { 2 } else { 1 };
    let mut free = rows.saturating_sub(1);
    if leases.iter().map(|(_, status)| height(status)).sum::<usize>() > free {
        // One row is needed for the number of the other leases.
        free = free.saturating_sub(1);
    }
    let fitting = leases.iter().take_while(|(_, status)| {
        let fits = free >= height(status);
        free = free.saturating_sub(height(status));
        fits
    });
    let fitting = fitting.count();
    let (shown, not_shown) = leases.split_at(fitting);
    let mut lines = Vec::new();
    if !shown.is_empty() || (not_shown.is_empty() && content.pending.is_none()) {
        // Long names are cut, so that the states stay visible.
        let table = table::lines(shown, NameWidth::AtMost((columns / 4).max(8)));
        lines.extend(table.first().map(|head| truncate_to_width(&head.text, columns)));
        for ((_, status), of_lease) in shown.iter().zip(table[1..].chunks(2)) {
            for line in &of_lease[..height(status).min(of_lease.len())] {
                let text = truncate_to_width(&line.text, columns);
                lines.push(if colour { paint_state(&text, line) } else { text });
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
        let pending = ["cache".to_owned()];
        let pending = Some((&pending[..], Duration::from_secs(3)));
        let content = FrameContent {
            snapshots: &snapshots,
            pending,
            every: Duration::from_secs(2),
            time: "2027-01-15T08:00:00Z",
        };
        frame(&content, Size { columns, rows }, false)
    }

    #[test]
    fn a_frame_shows_the_worst_leases_that_fit() {
        let snapshots = snapshots::all();
        for (name, columns, rows) in [("watch-tall.txt", WIDE, 60), ("watch.txt", 80, 24), ("watch-small.txt", 40, 12)]
        {
            let shown = lines(&snapshots, columns, rows).join("\n") + "\n";
            crate::expose::testing::golden::assert_matches(name, &shown);
        }
    }

    #[test]
    fn a_frame_never_exceeds_the_terminal() {
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
    fn every_lease_is_shown_or_counted() {
        let snapshots = [snapshots::many(10_000)];
        for rows in [10, 24, 60] {
            let shown = lines(&snapshots, WIDE, rows);
            assert_eq!(shown.len(), rows, "no row is wasted");
            let table = shown.iter().filter(|line| line.starts_with("many ")).count();
            assert_eq!(shown.last(), Some(&format!("… and {} more: {} active", 10_000 - table, 10_000 - table)));
        }
    }

    #[test]
    fn the_absence_of_leases_is_shown_once_all_sources_have_been_read() {
        let names = ["cache".to_owned()];
        for (pending, expected) in [(Some((&names[..], Duration::ZERO)), false), (None, true)] {
            let content = FrameContent { snapshots: &[], pending, every: Duration::from_secs(2), time: "now" };
            let lines = frame(&content, Size { columns: 80, rows: 24 }, false);
            assert_eq!(lines.contains(&"no leases".to_owned()), expected, "{lines:?}");
        }
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let snapshots = snapshots::all();
        let snapshots: Vec<_> = snapshots.iter().collect();
        let content = FrameContent { snapshots: &snapshots, pending: None, every: Duration::from_secs(2), time: "now" };
        let size = Size { columns: 80, rows: 40 };
        let coloured = frame(&content, size, true).join("\n");
        assert!(coloured.contains("\x1b[1m\x1b[31mstalled\x1b[0m"), "{coloured}");
        let mut plain = String::new();
        for (number, part) in coloured.split('\x1b').enumerate() {
            plain.push_str(if number == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(plain, frame(&content, size, false).join("\n"));
    }
}
