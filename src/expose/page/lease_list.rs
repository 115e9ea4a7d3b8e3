//! Many leases: the worst first, some of them, a page at a time.

use askama::Template;

use super::super::display_name::DisplayName;
use super::lease_row::{LeaseRow, abridged};
use super::problem_banner::ProblemBanner;
use super::source::SourceSummary;
use super::view::{Filter, LEASES_PER_PAGE, View};
use super::{ObservedSource, PageClock, SEVERITY, StateCounts, phrases};
use crate::expose::severity_key;
use crate::lease::{SourceSnapshot, State, Status};

/// What is between the header and the end of the page.
#[derive(Template)]
#[template(path = "leases.html")]
pub(super) struct LeaseList {
    title: String,
    live: String,
    made_at: String,
    tallies: [StateLink; SEVERITY.len()],
    troubles: Vec<ProblemBanner>,
    sources: Vec<SourceSummary>,
    /// A source that is filtered by and not there.
    no_such_source: Option<String>,
    leases: Vec<LeaseRow>,
    /// How many leases are shown of how many, where the filter leaves any out.
    narrowed: Option<FilterSummary>,
    admitted: usize,
    pages: Pagination,
}

/// How many leases are in a state, of the source and with the text that is filtered by.
struct StateLink {
    state: State,
    word: &'static str,
    count: usize,
    chosen: bool,
    link: String,
}

struct FilterSummary {
    admitted: usize,
    all: usize,
    /// What is not well among those that are left out.
    others: Option<String>,
}

/// Where in the list one is.
struct Pagination {
    number: usize,
    of: usize,
    first: usize,
    last: usize,
    before: Option<String>,
    after: Option<String>,
}

impl LeaseList {
    /// The leases that the filter admits, a page of them.
    pub(super) fn of(filter: &Filter, looks: &[ObservedSource<'_>], now: PageClock) -> Self {
        let snapshots: Vec<_> = looks.iter().map(|look| look.snapshot).collect();
        let whatever_state = filter.in_any_state();
        let all = looks.iter().flat_map(|look| look.snapshot.leases.iter().map(move |status| (look, status)));
        let (matching, others): (Vec<_>, Vec<_>) =
            all.partition(|(look, status)| whatever_state.admits(look.snapshot, status));
        let counts = matching.iter().map(|(_, status)| status.verdict.state).collect();
        let (mut leases, more): (Vec<(&ObservedSource<'_>, &Status)>, Vec<_>) =
            matching.into_iter().partition(|(look, status)| filter.admits(look.snapshot, status));
        let others: StateCounts = others.iter().chain(&more).map(|(_, status)| status.verdict.state).collect();
        let page = now.of(looks);
        leases.sort_by(|(a, one), (b, other)| severity_key(a.snapshot, one).cmp(&severity_key(b.snapshot, other)));
        let pages = Pagination::of(filter, leases.len());
        Self {
            title: title(filter, counts, &snapshots),
            live: View::List(filter.clone()).live_link(),
            made_at: page.date_and_time(),
            tallies: SEVERITY.map(|state| StateLink {
                state,
                word: phrases::state(state),
                count: counts.in_state(state),
                chosen: filter.states().contains(&state),
                link: filter.toggled(state).link(),
            }),
            troubles: ProblemBanner::of(looks, page),
            sources: looks.iter().map(|look| SourceSummary::of(look, page)).collect(),
            no_such_source: filter.source_beside(&snapshots).map(|source| DisplayName(source).to_string()),
            narrowed: (filter.is_narrow() && filter.source_beside(&snapshots).is_none()).then(|| FilterSummary {
                admitted: leases.len(),
                all: leases.len() + others.total(),
                others: in_words(others, |state| matches!(state, State::Stalled | State::NoLeader | State::Unknown)),
            }),
            admitted: leases.len(),
            leases: leases
                .into_iter()
                .skip(pages.first.saturating_sub(1))
                .take(LEASES_PER_PAGE)
                .map(|(look, status)| LeaseRow { name: abridged(&status.lease), ..LeaseRow::of(look, status, page) })
                .collect(),
            pages,
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Whether what is filtered by is there.
    pub(super) const fn is_found(&self) -> bool {
        self.no_such_source.is_none()
    }

    /// Whether there are too many sources to list them above the leases.
    const fn are_many_sources(&self) -> bool {
        self.sources.len() > 6
    }

    /// How many sources could not be read.
    fn unreadable(&self) -> usize {
        self.sources.iter().filter(|source| source.failure.is_some()).count()
    }
}

impl Pagination {
    fn of(filter: &Filter, leases: usize) -> Self {
        let (page, of) = filter.page_of(leases);
        let link = |page: usize| filter.at_page(page).link();
        Self {
            number: page + 1,
            of,
            first: page * LEASES_PER_PAGE + 1,
            last: leases.min((page + 1) * LEASES_PER_PAGE),
            before: page.checked_sub(1).map(link),
            after: Some(page + 1).filter(|page| *page < of).map(link),
        }
    }
}

/// What the tab of a browser shows of a page in the background: the worst first. Of a source that cannot be read the leases
/// may never have been known, so that no count tells of it.
fn title(filter: &Filter, counts: StateCounts, snapshots: &[&SourceSnapshot]) -> String {
    let asked = snapshots.iter().filter(|snapshot| filter.asks_for(snapshot));
    let unread = asked.filter(|snapshot| snapshot.health.outcome.is_err()).count();
    let unread = (unread > 0).then(|| format!("{} unreadable", phrases::counted(unread, "source")));
    let worst = counts.worst().map(|state| (state, format!("{} {}", counts.in_state(state), phrases::state(state))));
    match (worst, unread) {
        (Some((State::Stalled | State::NoLeader, worst)), Some(unread)) => format!("{worst}, {unread}"),
        (Some((_, worst)), Some(unread)) => format!("{unread}, {worst}"),
        (Some((_, one)), None) | (None, Some(one)) => one,
        (None, None) if filter.source_beside(snapshots).is_some() => "no such source".to_owned(),
        (None, None) if filter.is_narrow() => "no matching leases".to_owned(),
        (None, None) => "no leases".to_owned(),
    }
}

/// How many leases are in each of some states, the worst first; `None` where there is none.
fn in_words(counts: StateCounts, shown: impl Fn(State) -> bool) -> Option<String> {
    let states = SEVERITY.into_iter().filter(|state| shown(*state) && counts.in_state(*state) > 0);
    let phrases: Vec<_> = states.map(|state| format!("{} {}", counts.in_state(state), phrases::state(state))).collect();
    (!phrases.is_empty()).then(|| phrases.join(", "))
}
