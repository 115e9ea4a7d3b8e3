//! A snapshot as a plain table, for a terminal.

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

use super::display_name::DisplayName;
use super::truncate_to_width;
use crate::lease::{Due, EventAge, Readable, RecordFault, SourceSnapshot, State, Status};

const HEADER: [&str; 9] =
    ["SOURCE", "LEASE", "STATE", "AUTHORITY", "PROGRESS", "EPOCH", "LEASE-AGE", "PROGRESS-AGE", "DUE"];
/// The first column of numbers and ages, which are aligned to the right.
const FIRST_RIGHT: usize = 5;

const STATE: usize = 2;

/// The largest width of a column. A longer value shifts the rest of its line, so that one name of a kilobyte does not widen
/// every line.
const MAX_WIDTH: usize = 60;

/// The text for a value that is not known.
const NOT_KNOWN: &str = "-";

/// How the names of sources and leases are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameWidth {
    /// In full.
    Full,
    /// Truncated to this number of columns.
    AtMost(usize),
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLine {
    /// The text.
    pub text: String,
    /// The state of the lease, and its place in the text.
    pub state: Option<(State, Range<usize>)>,
}

impl TableLine {
    const fn plain(text: String) -> Self {
        Self { text, state: None }
    }
}

/// The header and, for each lease, a line with its values and a line with the reason.
///
/// Names are escaped, so that they cannot break the table or send commands to the terminal. A value that is not known is
/// `-`; an age with only a lower bound is `>5m`.
#[must_use]
pub fn lines(leases: &[(&SourceSnapshot, &Status)], names: NameWidth) -> Vec<TableLine> {
    if leases.is_empty() {
        return vec![TableLine::plain("no leases".to_owned())];
    }
    let rows: Vec<_> = leases.iter().map(|(snapshot, status)| cells(&snapshot.source, status, names)).collect();
    let mut widths = HEADER.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width().min(MAX_WIDTH));
        }
    }
    let mut lines = vec![TableLine::plain(line(&HEADER.map(str::to_owned), &widths).0)];
    for (row, (_, status)) in rows.iter().zip(leases) {
        let (text, place) = line(row, &widths);
        lines.push(TableLine { text, state: Some((status.verdict.state, place)) });
        lines.push(TableLine::plain(format!("  {}", status.sentence())));
    }
    lines
}

/// A line for each source that could not be read, and for each source with rejected rows.
#[must_use]
pub fn source_problems(snapshots: &[&SourceSnapshot]) -> Vec<String> {
    let mut lines = Vec::new();
    for SourceSnapshot { source, health, .. } in snapshots {
        let source = DisplayName(source);
        if let Err(failure) = health.outcome {
            lines.push(format!("{source}: could not be read after {}: {failure}", Readable(health.duration)));
        }
        let rejected = &health.rejected_now;
        if rejected.total() > 0 {
            let faults = RecordFault::ALL.into_iter().filter(|fault| rejected.count(*fault) > 0);
            let faults: String = faults.map(|fault| format!(" {fault} {}", rejected.count(fault))).collect();
            lines.push(format!("{source}: rows not used: {}:{faults}", rejected.total()));
        }
    }
    lines
}

/// A line, and the place of the state in it.
fn line(cells: &[String; HEADER.len()], widths: &[usize; HEADER.len()]) -> (String, Range<usize>) {
    let (mut line, mut state) = (String::new(), 0..0);
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        if column > 0 {
            line.push_str("  ");
        }
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        let (before, after) = if column >= FIRST_RIGHT { (&*padding, "") } else { ("", &*padding) };
        line.push_str(before);
        if column == STATE {
            state = line.len()..line.len() + cell.len();
        }
        line.push_str(cell);
        line.push_str(after);
    }
    line.truncate(line.trim_end().len());
    (line, state)
}

fn cells(source: &str, status: &Status, names: NameWidth) -> [String; HEADER.len()] {
    let name = |name: &str| match names {
        NameWidth::Full => DisplayName(name).to_string(),
        NameWidth::AtMost(columns) => truncate_to_width(&DisplayName(name).to_string(), columns),
    };
    let verdict = &status.verdict;
    let evidence = status.evidence();
    [
        name(source),
        name(&status.lease),
        verdict.state.to_string(),
        verdict.authority.to_string(),
        verdict.progress.to_string(),
        status.epoch().map_or_else(|| NOT_KNOWN.to_owned(), |epoch| epoch.to_string()),
        age(status.holder().map(|holder| holder.renewed)),
        age(evidence.and_then(|evidence| evidence.progress.age())),
        match evidence.map(|evidence| evidence.due) {
            Some(Due::Nothing) => "0".to_owned(),
            Some(Due::Waiting { count: Some(count), .. }) => count.to_string(),
            Some(Due::Waiting { count: None, .. }) => "some".to_owned(),
            Some(Due::NotKnown) | None => NOT_KNOWN.to_owned(),
        },
    ]
}

fn age(dated: Option<EventAge>) -> String {
    match dated.map(|dated| (dated.age.lower(), dated.age.upper())) {
        Some((lower, Some(_))) => Readable(lower).to_string(),
        Some((lower, None)) if !lower.is_zero() => format!(">{}", Readable(lower)),
        Some(_) | None => NOT_KNOWN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::{golden, snapshots};

    fn text(snapshots: &[&SourceSnapshot]) -> String {
        let leases: Vec<_> =
            snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(|status| (*snapshot, status))).collect();
        let lines = source_problems(snapshots)
            .into_iter()
            .chain(lines(&leases, NameWidth::Full).into_iter().map(|line| line.text));
        lines.map(|line| line + "\n").collect()
    }

    #[test]
    fn the_table_of_every_state() {
        golden::assert_matches("status.txt", &text(&snapshots::all().iter().collect::<Vec<_>>()));
    }

    #[test]
    fn each_line_of_a_lease_has_the_place_of_its_state() {
        let snapshots = snapshots::all();
        let leases: Vec<_> = snapshots
            .iter()
            .flat_map(|snapshot| snapshot.leases.iter().map(move |status| (snapshot, status)))
            .collect();
        let lines = lines(&leases, NameWidth::Full);
        let marked: Vec<_> = lines.iter().filter_map(|line| Some((line, line.state.clone()?))).collect();
        assert_eq!(marked.len(), leases.len());
        for (line, (state, place)) in marked {
            assert_eq!(&line.text[place], state.as_str(), "{}", line.text);
        }
    }

    #[test]
    fn a_very_long_name_widens_only_its_own_line() {
        let mut snapshot = snapshots::many(2);
        let long = "x".repeat(1024);
        snapshot.leases[0].lease = long.as_str().into();
        let table = text(&[&snapshot]);
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[1].starts_with(&format!("many    {long}  active ")), "{table}");
        assert!(lines[3].starts_with(&format!("many    {:<60}  active ", "lease-00001")), "{table}");
        assert!(lines[0].chars().count() < 200, "{table}");
    }

    #[test]
    fn wide_characters_do_not_shift_columns() {
        let mut snapshot = snapshots::many(2);
        snapshot.leases[0].lease = "保持-リース".into();
        let table = text(&[&snapshot]);
        let column = |line: &str| line.split(" active").next().unwrap().width();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(column(lines[1]), column(lines[3]), "{table}");
    }

    #[test]
    fn names_are_truncated_to_the_given_width() {
        let mut snapshot = snapshots::many(1);
        snapshot.leases[0].lease = "x".repeat(1024).as_str().into();
        let lines = lines(&[(&snapshot, &snapshot.leases[0])], NameWidth::AtMost(10));
        assert!(lines[1].text.starts_with("many    xxxxxxxxx…  active "), "{}", lines[1].text);
    }

    #[test]
    fn an_empty_table_says_that_there_are_no_leases() {
        assert_eq!(text(&[]), "no leases\n");
    }
}
