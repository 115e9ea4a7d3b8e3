//! Many leases: the worst first, some of them, a page at a time.

use askama::Template;

use super::lease::LeaseView;
use super::source::SourceView;
use super::view::{Filter, LEASES_A_PAGE, View};
use super::{Counts, Looked, Now, SEVERITY, words};
use crate::expose::worst_first;
use crate::lease::{State, Status};

/// What is between the header and the end of the page.
#[derive(Template)]
#[template(path = "leases.html")]
pub(super) struct List {
    title: String,
    stream: String,
    made_at: String,
    tallies: [Tally; SEVERITY.len()],
    sources: Vec<SourceView>,
    leases: Vec<LeaseView>,
    narrow: bool,
    /// How many leases there are, and how many of them are admitted.
    all: usize,
    admitted: usize,
    pages: Pages,
}

/// How many leases are in a state, whatever is shown.
struct Tally {
    state: State,
    word: &'static str,
    count: usize,
    chosen: bool,
    link: String,
}

/// Where in the list one is.
struct Pages {
    number: usize,
    of: usize,
    first: usize,
    last: usize,
    before: Option<String>,
    after: Option<String>,
}

impl List {
    /// The leases that the filter admits, a page of them.
    pub(super) fn of(filter: &Filter, looks: &[Looked<'_>], now: Now) -> Self {
        let snapshots: Vec<_> = looks.iter().map(|look| look.snapshot).collect();
        let counts = Counts::of(&snapshots);
        let mut leases: Vec<(&Looked<'_>, &Status)> = looks
            .iter()
            .flat_map(|look| look.snapshot.leases.iter().map(move |status| (look, status)))
            .filter(|(look, status)| filter.admits(look.snapshot, status))
            .collect();
        leases.sort_by(|(a, one), (b, other)| worst_first(a.snapshot, one).cmp(&worst_first(b.snapshot, other)));
        let pages = Pages::of(filter, leases.len());
        Self {
            title: title(counts, looks),
            stream: View::List(filter.clone()).stream(),
            made_at: now.date_and_time(),
            tallies: SEVERITY.map(|state| Tally {
                state,
                word: words::state(state),
                count: counts.in_state(state),
                chosen: filter.states().contains(&state),
                link: filter.toggled(state).link(),
            }),
            sources: snapshots.iter().map(|snapshot| SourceView::of(snapshot)).collect(),
            narrow: filter.is_narrow(),
            all: counts.total(),
            admitted: leases.len(),
            leases: leases
                .into_iter()
                .skip(pages.first.saturating_sub(1))
                .take(LEASES_A_PAGE)
                .map(|(look, status)| LeaseView::of(look, status, now))
                .collect(),
            pages,
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

impl Pages {
    fn of(filter: &Filter, leases: usize) -> Self {
        let (page, of) = filter.page_of(leases);
        let link = |page: usize| filter.at_page(page).link();
        Self {
            number: page + 1,
            of,
            first: page * LEASES_A_PAGE + 1,
            last: leases.min((page + 1) * LEASES_A_PAGE),
            before: page.checked_sub(1).map(link),
            after: Some(page + 1).filter(|page| *page < of).map(link),
        }
    }
}

/// What the tab of a browser shows of a page in the background: the worst first.
fn title(counts: Counts, looks: &[Looked<'_>]) -> String {
    let failed = looks.iter().filter(|look| look.snapshot.health.outcome.is_err()).count();
    match counts.worst() {
        Some(state) => format!("{} {}", counts.in_state(state), words::state(state)),
        None if failed > 0 => format!("{failed} not readable"),
        None => "no leases".to_owned(),
    }
}
