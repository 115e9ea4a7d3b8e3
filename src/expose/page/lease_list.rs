//! The list of leases: those that pass the filter, the worst first, one page at a time.

use askama::Template;

use super::super::display_name::DisplayName;
use super::clock::date_and_time;
use super::lease_row::LeaseRow;
use super::request::{Filter, LEASES_PER_PAGE, PageRequest};
use super::source::{ProblemBanner, SourceSummary};
use super::{ObservedSource, PageClock, SEVERITY, StateCounts, phrases};
use crate::expose::severity_key;
use crate::lease::{SourceSnapshot, State, Status};

/// The number of sources above which their list is folded.
const FOLDED_SOURCES: usize = 6;

/// The `<main>` of the list.
#[derive(Template)]
#[template(path = "leases.html")]
pub(super) struct LeaseList {
    pub(super) title: String,
    live: String,
    rendered_at: String,
    states: [StateLink; SEVERITY.len()],
    banners: Vec<ProblemBanner>,
    sources: Vec<SourceSummary>,
    /// The source of the filter, if it is not configured.
    pub(super) missing_source: Option<String>,
    leases: Vec<LeaseRow>,
    /// `None` if the filter excludes nothing.
    filtered: Option<FilterSummary>,
    pages: Pagination,
}

/// The number of leases in a state, among those with the source and the text of the filter, and the link that shows them.
struct StateLink {
    state: State,
    word: &'static str,
    count: usize,
    is_selected: bool,
    link: String,
}

struct FilterSummary {
    shown: usize,
    all: usize,
    /// The states of the unhealthy leases that are excluded.
    excluded: Option<String>,
}

struct Pagination {
    page: usize,
    pages: usize,
    /// The numbers of the first and the last lease of the page, and of all leases.
    first: usize,
    last: usize,
    leases: usize,
    previous: Option<String>,
    next: Option<String>,
}

impl LeaseList {
    pub(super) fn of(filter: &Filter, sources: &[ObservedSource], now: PageClock) -> Self {
        let snapshots: Vec<_> = sources.iter().map(|source| &*source.snapshot).collect();
        let leases =
            sources.iter().flat_map(|source| source.snapshot.leases.iter().map(move |status| (source, status)));
        // The counts of the states are those of the leases that the filter shows if another state is selected.
        let (mut excluded, mut counts) = (StateCounts::default(), StateCounts::default());
        let mut shown: Vec<(&ObservedSource, &Status)> = Vec::new();
        for (source, status) in leases {
            let is_counted = filter.matches_in_any_state(&source.snapshot, status);
            if is_counted {
                counts.add(status.verdict.state);
            }
            if is_counted && filter.matches_state(status) {
                shown.push((source, status));
            } else {
                excluded.add(status.verdict.state);
            }
        }
        shown.sort_by(|(a, one), (b, other)| severity_key(&a.snapshot, one).cmp(&severity_key(&b.snapshot, other)));
        let page_time = now.of_page(sources);
        let pages = Pagination::of(filter, shown.len());
        let missing_source = filter.missing_source(&snapshots);
        Self {
            title: title(filter, counts, &snapshots),
            live: PageRequest::List(filter.clone()).live_link(),
            rendered_at: date_and_time(page_time.unix_seconds),
            states: SEVERITY.map(|state| StateLink {
                state,
                word: phrases::state(state),
                count: counts.in_state(state),
                is_selected: filter.states.contains(&state),
                link: filter.toggled(state).link(),
            }),
            banners: ProblemBanner::all_of(sources, page_time),
            sources: sources.iter().map(|source| SourceSummary::of(source, page_time)).collect(),
            missing_source: missing_source.map(|source| DisplayName(source).to_string()),
            filtered: (filter.is_restrictive() && missing_source.is_none()).then(|| FilterSummary {
                shown: shown.len(),
                all: shown.len() + excluded.total(),
                excluded: unhealthy(excluded),
            }),
            leases: shown
                .into_iter()
                .skip(pages.first - 1)
                .take(LEASES_PER_PAGE)
                .map(|(source, status)| LeaseRow::abridged(source, status, page_time))
                .collect(),
            pages,
        }
    }

    const fn are_sources_folded(&self) -> bool {
        self.sources.len() > FOLDED_SOURCES
    }

    /// The number of sources that could not be read.
    fn unreadable(&self) -> usize {
        self.sources.iter().filter(|source| source.failure.is_some()).count()
    }
}

impl Pagination {
    fn of(filter: &Filter, leases: usize) -> Self {
        let (page, pages) = filter.page_of(leases);
        let link = |page: usize| filter.at_page(page).link();
        Self {
            page: page + 1,
            pages,
            first: page * LEASES_PER_PAGE + 1,
            last: leases.min((page + 1) * LEASES_PER_PAGE),
            leases,
            previous: page.checked_sub(1).map(link),
            next: Some(page + 1).filter(|page| *page < pages).map(link),
        }
    }
}

/// The title of the browser tab, which shows the worst state while the page is in the background. It also counts unreadable
/// sources, because the leases of a source that was never read are in no count.
fn title(filter: &Filter, counts: StateCounts, snapshots: &[&SourceSnapshot]) -> String {
    let included = snapshots.iter().filter(|snapshot| filter.includes_source(snapshot));
    let unread = included.filter(|snapshot| snapshot.health.outcome.is_err()).count();
    let unread = (unread > 0).then(|| format!("{} unreadable", phrases::counted(unread, "source")));
    let worst = counts.worst().map(|state| (state, in_state(counts, state)));
    match (worst, unread) {
        (Some((State::Stalled | State::NoLeader, worst)), Some(unread)) => format!("{worst}, {unread}"),
        (Some((_, worst)), Some(unread)) => format!("{unread}, {worst}"),
        (Some((_, title)), None) | (None, Some(title)) => title,
        (None, None) if filter.missing_source(snapshots).is_some() => "no such source".to_owned(),
        (None, None) if filter.is_restrictive() => "no matching leases".to_owned(),
        (None, None) => "no leases".to_owned(),
    }
}

/// For example `2 stalled`.
fn in_state(counts: StateCounts, state: State) -> String {
    format!("{} {}", counts.in_state(state), phrases::state(state))
}

/// The number of leases in each unhealthy state, the worst first; `None` if there are none.
fn unhealthy(counts: StateCounts) -> Option<String> {
    let states = [State::Stalled, State::NoLeader, State::Unknown].into_iter();
    let states: Vec<_> =
        states.filter(|state| counts.in_state(*state) > 0).map(|state| in_state(counts, state)).collect();
    (!states.is_empty()).then(|| states.join(", "))
}
