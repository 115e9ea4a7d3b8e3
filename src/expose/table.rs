//! A snapshot as a plain table, for a terminal.

use std::fmt::Display;
use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

use super::display_name::DisplayName;
use super::truncate_to_width;
use crate::lease::{Due, EventAge, Progress, Readable, RecordFault, SourceSnapshot, State, Status};

const HEAD: [&str; 9] =
    ["SOURCE", "LEASE", "STATE", "AUTHORITY", "PROGRESS", "EPOCH", "LEASE-AGE", "PROGRESS-AGE", "DUE"];
/// Numbers and ages are aligned to the right, words to the left.
const RIGHT: [bool; HEAD.len()] = [false, false, false, false, false, true, true, true, true];

/// The column with the state.
const STATE: usize = 2;

/// How wide a column is made at the most. One name of a kilobyte would else take every line with it.
const WIDEST: usize = 60;

/// How much of the names of sources and leases is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameWidth {
    /// All of it.
    Full,
    /// As much as fits into so many columns.
    AtMost(usize),
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What stands in it.
    pub text: String,
    /// The state of its lease, and where in the text the word for it is.
    pub state: Option<(State, Range<usize>)>,
}

/// The head, and for each lease a line and below it the reason.
///
/// Columns are as wide as their longest value; one of more than 60 columns pushes its own line to the right. Names are
/// written with escapes for what cannot be seen, so a name cannot break the table or command the terminal. What is not
/// known is `-`; an age with a lower bound alone is `>5m`.
#[must_use]
pub fn lines(leases: &[(&SourceSnapshot, &Status)], names: NameWidth) -> Vec<Line> {
    let plain = |text| Line { text, state: None };
    if leases.is_empty() {
        return vec![plain("no leases".to_owned())];
    }
    let rows: Vec<_> = leases.iter().map(|(snapshot, status)| cells(&snapshot.source, status, names)).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width().min(WIDEST));
        }
    }
    let mut lines = vec![plain(line(&HEAD.map(str::to_owned), &widths).0)];
    for (row, (_, status)) in rows.iter().zip(leases) {
        let (text, place) = line(row, &widths);
        lines.push(Line { text, state: Some((status.verdict.state, place)) });
        lines.push(plain(format!("  {}", status.sentence())));
    }
    lines
}

/// A line for each source that could not be read, and for each of which some rows were not used.
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

/// A line, and where the cell with the state is in it.
fn line(cells: &[String; HEAD.len()], widths: &[usize; HEAD.len()]) -> (String, Range<usize>) {
    let (mut line, mut state) = (String::new(), 0..0);
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        if column > 0 {
            line.push_str("  ");
        }
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        if RIGHT[column] {
            line.push_str(&padding);
        }
        if column == STATE {
            state = line.len()..line.len() + cell.len();
        }
        line.push_str(cell);
        if !RIGHT[column] {
            line.push_str(&padding);
        }
    }
    line.truncate(line.trim_end().len());
    (line, state)
}

fn cells(source: &str, status: &Status, names: NameWidth) -> [String; HEAD.len()] {
    let name = |name: &str| match names {
        NameWidth::Full => DisplayName(name).to_string(),
        NameWidth::AtMost(columns) => truncate_to_width(&DisplayName(name).to_string(), columns),
    };
    let verdict = &status.verdict;
    let holder = status.holder();
    let progress = status.evidence().map(|evidence| evidence.progress);
    [
        name(source),
        name(&status.lease),
        verdict.state.to_string(),
        verdict.authority.to_string(),
        verdict.progress.to_string(),
        known(status.epoch()),
        age(holder.map(|holder| &holder.renewed)),
        age(match &progress {
            Some(Progress::Made { age: when, .. }) => Some(when),
            _ => None,
        }),
        match status.evidence().map(|evidence| evidence.due) {
            Some(Due::Nothing) => "0".to_owned(),
            Some(Due::Waiting { count: Some(count), .. }) => count.to_string(),
            Some(Due::Waiting { count: None, .. }) => "some".to_owned(),
            Some(Due::NotKnown) | None => "-".to_owned(),
        },
    ]
}

fn known(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn age(dated: Option<&EventAge>) -> String {
    let Some(EventAge { age, .. }) = dated else { return "-".to_owned() };
    match (age.lower(), age.upper()) {
        (lower, Some(_)) => Readable(lower).to_string(),
        (lower, None) if lower.is_zero() => "-".to_owned(),
        (lower, None) => format!(">{}", Readable(lower)),
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
    fn each_lease_says_where_the_word_for_its_state_is() {
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
    fn a_very_long_name_pushes_its_own_line_alone() {
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
    fn a_name_in_wide_letters_leaves_the_columns_where_they_are() {
        let mut snapshot = snapshots::many(2);
        snapshot.leases[0].lease = "保持-リース".into();
        let table = text(&[&snapshot]);
        let column = |line: &str| line.split(" active").next().unwrap().width();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(column(lines[1]), column(lines[3]), "{table}");
    }

    #[test]
    fn names_within_so_many_columns_are_cut_and_take_no_more() {
        let mut snapshot = snapshots::many(1);
        snapshot.leases[0].lease = "x".repeat(1024).as_str().into();
        let lines = lines(&[(&snapshot, &snapshot.leases[0])], NameWidth::AtMost(10));
        assert!(lines[1].text.starts_with("many    xxxxxxxxx…  active "), "{}", lines[1].text);
    }

    #[test]
    fn no_lease_at_all_is_said_in_words() {
        assert_eq!(text(&[]), "no leases\n");
    }
}
