//! A snapshot as a status page, for people: everything that matters, the worst first, readable at 3 a.m.
//!
//! The page is made here whole and needs no script. `assets/live.js` only fetches it again and again and puts the new
//! `<main>` in place of the old one, so there is one template and one way to render a lease.

mod lease;
mod picture;
mod source;
mod words;

use std::cmp::Reverse;
use std::time::{Duration, UNIX_EPOCH};

use askama::Template;

use super::counts::{Counts, SEVERITY};
use crate::lease::{Progress, SourceSnapshot, State, Status};
use lease::LeaseView;
use source::SourceView;

/// The style sheet that the page asks for as `style.css`.
pub const STYLE: &str = include_str!("assets/style.css");
/// The script that the page asks for as `live.js`.
pub const SCRIPT: &str = include_str!("assets/live.js");
/// The icon that the page asks for as `favicon.ico`: an SVG.
pub const ICON: &str = include_str!("assets/icon.svg");

/// How many leases a page shows at the most. A browser is slow with more, and nobody reads them; the JSON has all.
pub const MOST_LEASES: usize = 500;

/// Renders the page, made at `unix_seconds`, with a link to the metrics at `metrics_path`.
///
/// Leases come in the order of [`SEVERITY`], then by source and name. Where there are more than [`MOST_LEASES`], those
/// in one state come by how long ago their work moved, so that the worst are shown; where all are, a lease had better
/// stay in its place. Links are relative, so that the page works behind
/// a proxy that puts it under a path of its own.
///
/// # Errors
/// None that is known: the template writes nothing that can fail.
pub fn render(snapshots: &[&SourceSnapshot], unix_seconds: f64, metrics_path: &str) -> askama::Result<String> {
    let counts = Counts::of(snapshots);
    let mut leases: Vec<(&SourceSnapshot, &Status)> =
        snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(move |status| (*snapshot, status))).collect();
    let severity = |state: State| SEVERITY.into_iter().position(|other| other == state);
    let some_are_left_out = leases.len() > MOST_LEASES;
    leases.sort_by_key(|(snapshot, status)| {
        let unmoved = if some_are_left_out { unmoved(status) } else { None };
        (severity(status.verdict.state), Reverse(unmoved), &snapshot.source, &status.lease)
    });
    let made_at = UNIX_EPOCH + Duration::try_from_secs_f64(unix_seconds).unwrap_or_default();
    Page {
        title: title(counts, snapshots),
        made_at: humantime::format_rfc3339_seconds(made_at).to_string().replace('T', " ").replace('Z', " UTC"),
        metrics_path: metrics_path.trim_start_matches('/'),
        tallies: SEVERITY.map(|state| Tally { state, word: words::state(state), count: counts.in_state(state) }),
        sources: snapshots.iter().map(|snapshot| SourceView::of(snapshot)).collect(),
        more: leases.len().saturating_sub(MOST_LEASES),
        leases: leases
            .into_iter()
            .take(MOST_LEASES)
            .map(|(snapshot, status)| LeaseView::of(&snapshot.source, status))
            .collect(),
    }
    .render()
}

/// For how long the work of a lease has not moved, at least; `None`, which is less than any, where that is not known.
fn unmoved(status: &Status) -> Option<Duration> {
    match &status.evidence()?.progress {
        Progress::Made { when, .. } => when.shown().or_else(|| Some(when.age.lower()).filter(|age| !age.is_zero())),
        _ => None,
    }
}

#[derive(Template)]
#[template(path = "status.html")]
struct Page<'a> {
    title: String,
    made_at: String,
    metrics_path: &'a str,
    tallies: [Tally; SEVERITY.len()],
    sources: Vec<SourceView>,
    leases: Vec<LeaseView>,
    /// How many leases there are beyond those shown.
    more: usize,
}

/// How many leases are in a state.
struct Tally {
    state: State,
    word: &'static str,
    count: usize,
}

/// What the tab of a browser shows of a page in the background: the worst first.
fn title(counts: Counts, snapshots: &[&SourceSnapshot]) -> String {
    let failed = snapshots.iter().filter(|snapshot| snapshot.health.outcome.is_err()).count();
    match counts.worst() {
        Some(state) => format!("{} {}", counts.in_state(state), words::state(state)),
        None if failed > 0 => format!("{failed} not readable"),
        None => "no leases".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::{golden, sample};
    use crate::lease::{Age, Observation};

    #[expect(clippy::cast_precision_loss, reason = "it fits")]
    fn rendered(snapshots: &[SourceSnapshot]) -> String {
        render(&snapshots.iter().collect::<Vec<_>>(), sample::NOW as f64, "/metrics").unwrap()
    }

    #[test]
    fn the_page_of_every_state() {
        golden::assert_matches("status.html", &rendered(&sample::snapshots()));
    }

    #[test]
    fn a_hostile_name_stays_text() {
        let page = rendered(&sample::snapshots());
        assert_eq!(page.matches("<script").count(), 1, "only the page's own");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{200f}'), "direction marks are spelt out");
        assert!(page.contains(r"&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;\n{{7*7}}\u{202e}gnp."), "{page}");
    }

    #[test]
    fn nothing_on_the_page_needs_what_its_security_policy_forbids() {
        let page = rendered(&sample::snapshots());
        for forbidden in [" style=", "<style", " onclick=", "javascript:", "http://", "https://", "//"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_page_shows_the_worst_and_says_how_many_more_there_are() {
        let mut snapshots = vec![sample::many(MOST_LEASES + 50)];
        snapshots.extend(sample::snapshots());
        let page = rendered(&snapshots);
        assert_eq!(page.matches("<li class=\"lease ").count(), MOST_LEASES);
        let stalled = page.find("lease stalled").unwrap();
        assert!(stalled < page.find("lease active").unwrap());
        assert!(page.contains("more leases are not shown"), "{}", &page[page.len() - 600..]);
    }

    #[test]
    fn of_too_many_leases_in_one_state_those_are_shown_whose_work_has_not_moved_for_longest() {
        let names = |page: &str| -> Vec<String> {
            let after = page.split("<h2 title=\"").skip(1);
            after.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let aged = |number: usize, at: usize, age: Age| {
            let mut snapshot = sample::many(number);
            let Observation::Seen(evidence) = &mut snapshot.leases[at].observation else {
                panic!("it was read");
            };
            let Progress::Made { when, .. } = &mut evidence.progress else { panic!("it has progress") };
            when.age = age;
            snapshot
        };
        let day = Duration::from_secs(86_400);
        let number = MOST_LEASES + 50;
        let last = format!("lease-{:05}", number - 1);
        for age in [Age::exact(day), Age::at_least(day)] {
            let shown = names(&rendered(&[aged(number, number - 1, age)]));
            assert_eq!(shown[..2], [last.clone(), "lease-00000".to_owned()]);
        }
        // What is not known comes last.
        assert_eq!(names(&rendered(&[aged(number, 0, Age::UNBOUNDED)]))[0], "lease-00001");
        // Where all are shown, none moves about as its work goes on.
        assert_eq!(names(&rendered(&[aged(3, 2, Age::exact(day))])), ["lease-00000", "lease-00001", "lease-00002"]);
    }

    #[test]
    fn the_title_begins_with_the_worst() {
        assert!(rendered(&sample::snapshots()).contains("<title>2 stalled "));
        assert!(rendered(&[sample::many(2)]).contains("<title>2 active "));
        let mut down = sample::snapshots().pop().unwrap();
        down.leases.clear();
        assert!(rendered(&[down]).contains("<title>1 not readable "));
        assert!(rendered(&[]).contains("<title>no leases "));
    }
}
