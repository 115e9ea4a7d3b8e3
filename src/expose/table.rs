//! A snapshot as a plain table, for a terminal.

use std::fmt::{self, Display, Write};

use super::epoch;
use super::visible::Visible;
use crate::lease::{Dated, Due, Progress, Readable, RowFault, SourceSnapshot, Status};

const HEAD: [&str; 9] =
    ["SOURCE", "LEASE", "STATE", "AUTHORITY", "PROGRESS", "EPOCH", "LEASE-AGE", "PROGRESS-AGE", "DUE"];
/// Numbers and ages are aligned to the right, words to the left.
const RIGHT: [bool; HEAD.len()] = [false, false, false, false, false, true, true, true, true];

/// How wide a column is made at the most. One name of a kilobyte would else take every line with it.
const WIDEST: usize = 60;

/// Writes one line per lease and below it the reason; first a line for each source that was not read in full.
///
/// Columns are as wide as their longest value in characters, not in terminal cells: a name in wide characters, such as
/// Chinese, pushes its own line to the right. So does a value of more than 60 characters. Names are written with escapes for what cannot be seen, so a name cannot
/// break the table or command the terminal. What is not known is `-`; an age with a lower bound alone is `>5m`.
///
/// # Errors
/// What the writer says.
pub fn write(out: &mut impl Write, snapshots: &[&SourceSnapshot]) -> fmt::Result {
    for snapshot in snapshots {
        troubles(out, snapshot)?;
    }
    let leases = || snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(|status| (*snapshot, status)));
    let rows: Vec<_> = leases().map(|(snapshot, status)| cells(&snapshot.source, status)).collect();
    if rows.is_empty() {
        return writeln!(out, "no leases");
    }
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(WIDEST));
        }
    }
    line(out, &HEAD, &widths)?;
    for (row, (_, status)) in rows.iter().zip(leases()) {
        line(out, row, &widths)?;
        writeln!(out, "  {}", status.sentence())?;
    }
    Ok(())
}

/// Says of a source that it could not be read, or which of its rows were not used.
fn troubles(out: &mut impl Write, snapshot: &SourceSnapshot) -> fmt::Result {
    let health = &snapshot.health;
    let source = Visible(&snapshot.source);
    if let Err(failure) = health.outcome {
        writeln!(out, "{source}: could not be read after {}: {failure}", Readable(health.took))?;
    }
    let rejected = &health.rejected_now;
    if rejected.total() > 0 {
        write!(out, "{source}: rows not used: {}:", rejected.total())?;
        for fault in RowFault::ALL.into_iter().filter(|fault| rejected.rows(*fault) > 0) {
            write!(out, " {fault} {}", rejected.rows(fault))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn line(out: &mut impl Write, cells: &[impl AsRef<str>], widths: &[usize]) -> fmt::Result {
    let mut line = String::new();
    for ((cell, &width), right) in cells.iter().map(AsRef::as_ref).zip(widths).zip(RIGHT) {
        if !line.is_empty() {
            line.push_str("  ");
        }
        if right { write!(line, "{cell:>width$}")? } else { write!(line, "{cell:<width$}")? }
    }
    writeln!(out, "{}", line.trim_end())
}

fn cells(source: &str, status: &Status) -> [String; HEAD.len()] {
    let verdict = &status.verdict;
    let holding = status.holding();
    let progress = status.evidence().map(|evidence| evidence.progress);
    [
        Visible(source).to_string(),
        Visible(&status.lease).to_string(),
        verdict.state.to_string(),
        verdict.authority.to_string(),
        verdict.progress.to_string(),
        known(epoch(status)),
        age(holding.map(|holding| &holding.renewed)),
        age(match &progress {
            Some(Progress::Made { when, .. }) => Some(when),
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

fn age(dated: Option<&Dated>) -> String {
    let Some(Dated { age, .. }) = dated else { return "-".to_owned() };
    match (age.lower(), age.upper()) {
        (lower, Some(_)) => Readable(lower).to_string(),
        (lower, None) if lower.is_zero() => "-".to_owned(),
        (lower, None) => format!(">{}", Readable(lower)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::{golden, sample};

    #[test]
    fn the_table_of_every_state() {
        let mut table = String::new();
        write(&mut table, &sample::snapshots().iter().collect::<Vec<_>>()).unwrap();
        golden::assert_matches("status.txt", &table);
    }

    #[test]
    fn a_very_long_name_pushes_its_own_line_alone() {
        let mut snapshot = sample::many(2);
        let long = "x".repeat(1024);
        snapshot.leases[0].lease = long.as_str().into();
        let mut table = String::new();
        write(&mut table, &[&snapshot]).unwrap();
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[1].starts_with(&format!("many    {long}  active ")), "{table}");
        assert!(lines[3].starts_with(&format!("many    {:<60}  active ", "lease-00001")), "{table}");
        assert!(lines[0].chars().count() < 200, "{table}");
    }

    #[test]
    fn no_lease_at_all_is_said_in_words() {
        let mut table = String::new();
        write(&mut table, &[]).unwrap();
        assert_eq!(table, "no leases\n");
    }
}
