//! The request for a page, as an address makes it.
//!
//! Everything that can be chosen is in the query of the address, so that a page can be reloaded, bookmarked and shared. The
//! name of a lease is in the query and not in the path, because browsers and proxies rewrite paths that contain `..` or `//`.

use std::collections::BTreeSet;

use url::form_urlencoded::{Serializer, parse};

use super::super::{SEVERITY, display_name::DisplayName};
use crate::lease::{HolderToken, SourceSnapshot, State, Status};

/// The number of leases on a page, few enough to load at once and to read.
pub const LEASES_PER_PAGE: usize = 100;

/// The request for a page: the list with a filter, or one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// The leases that pass the filter.
    List(Filter),
    /// One lease with its evidence.
    Lease {
        /// The name of the source.
        source: String,
        /// The name of the lease.
        lease: String,
    },
}

/// The leases to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The states to show, in the order of [`SEVERITY`]; empty for all.
    pub(super) states: Vec<State>,
    /// The source to show; empty for all.
    pub(super) source: String,
    /// A text that names, reasons or holders must contain; empty for all.
    pub(super) text: String,
    /// The page, from 0.
    page: usize,
    /// Parts of the address that have no meaning. They do not restrict the page, which lists them.
    pub(super) ignored: BTreeSet<&'static str>,
}

impl PageRequest {
    /// The request for `/` with this query.
    #[must_use]
    pub fn list(query: &str) -> Self {
        Self::List(Filter::of(query))
    }

    /// The request for `/lease` with this query.
    #[must_use]
    pub fn lease(query: &str) -> Self {
        let value = |name| parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        Self::Lease { source: value("source").unwrap_or_default(), lease: value("lease").unwrap_or_default() }
    }

    /// The request for `/live` with this query, which is that of the page whose script sends it.
    #[must_use]
    pub fn live(query: &str) -> Self {
        if parse(query.as_bytes()).any(|(key, _)| key == "lease") { Self::lease(query) } else { Self::list(query) }
    }

    /// The only source on the page; `None` if all sources are.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::List(filter) => Some(&*filter.source).filter(|source| !source.is_empty()),
            Self::Lease { source, .. } => Some(source),
        }
    }

    /// The address of the `<main>` of this page.
    pub(super) fn live_link(&self) -> String {
        match self {
            Self::List(filter) => format!("live{}", filter.link()),
            Self::Lease { source, lease } => link("live", source, lease),
        }
    }
}

/// The address of a page of a lease: `lease`, or `live` for its `<main>` alone.
pub(super) fn link(path: &str, source: &str, lease: &str) -> String {
    let query = Serializer::new(String::new()).append_pair("source", source).append_pair("lease", lease).finish();
    format!("{path}?{query}")
}

impl Filter {
    fn of(query: &str) -> Self {
        let mut filter = Self::default();
        let mut states = Vec::new();
        for (key, value) in parse(query.as_bytes()) {
            match &*key {
                "state" if let Some(state) = State::ALL.into_iter().find(|state| state.as_str() == value) => {
                    states.push(state);
                }
                "source" if filter.source.is_empty() => filter.source = without_nul(&value),
                "q" => filter.text = without_nul(value.trim()),
                "page" if let Ok(page) = value.parse::<usize>() => filter.page = page.saturating_sub(1),
                // The value itself is not shown: it may be a secret that somebody pasted by mistake.
                key => {
                    filter.ignored.insert(match key {
                        "source" => "more than one source",
                        "state" => "an unknown state",
                        "page" => "a page that is not a number",
                        _ => "a parameter other than state, source, q and page",
                    });
                }
            }
        }
        filter.states = SEVERITY.into_iter().filter(|state| states.contains(state)).collect();
        filter
    }

    /// Whether the filter can exclude any lease.
    pub(super) fn is_restrictive(&self) -> bool {
        !(self.states.is_empty() && self.source.is_empty() && self.text.is_empty())
    }

    /// Whether the filter includes this source.
    pub(super) fn includes_source(&self, snapshot: &SourceSnapshot) -> bool {
        self.source.is_empty() || *self.source == *snapshot.source
    }

    /// The source of the filter, if it is none of these.
    pub(super) fn missing_source(&self, snapshots: &[&SourceSnapshot]) -> Option<&str> {
        let exists = snapshots.iter().any(|snapshot| self.includes_source(snapshot));
        (!self.source.is_empty() && !exists).then_some(&self.source)
    }

    /// The page to show, from 0 and at most the last, and the number of pages that this number of leases takes.
    pub(super) fn page_of(&self, leases: usize) -> (usize, usize) {
        let pages = leases.div_ceil(LEASES_PER_PAGE).max(1);
        (self.page.min(pages - 1), pages)
    }

    /// Whether a lease passes the filter, apart from its state.
    pub(super) fn matches_in_any_state(&self, snapshot: &SourceSnapshot, status: &Status) -> bool {
        self.includes_source(snapshot) && (self.text.is_empty() || self.matches_text(snapshot, status))
    }

    /// Whether the state of a lease passes the filter.
    pub(super) fn matches_state(&self, status: &Status) -> bool {
        self.states.is_empty() || self.states.contains(&status.verdict.state)
    }

    /// Whether the text is in the name of the lease or the source, in the reason, or in the token of a holder.
    fn matches_text(&self, snapshot: &SourceSnapshot, status: &Status) -> bool {
        let text = self.text.to_lowercase();
        let contains = |shown: &str| shown.to_lowercase().contains(&text);
        let is_match = |token: &HolderToken| contains(token.as_str());
        contains(&status.lease)
            || contains(&DisplayName(&status.lease).to_string())
            || contains(&snapshot.source)
            || contains(status.verdict.reason.as_str())
            || status.holder().is_some_and(|holder| holder.token.iter().chain(&*holder.others).any(is_match))
    }

    /// The address of this request, relative to the page.
    pub(super) fn link(&self) -> String {
        let mut query = Serializer::for_suffix(String::from("?"), 1);
        for state in &self.states {
            query.append_pair("state", state.as_str());
        }
        let page = if self.page == 0 { String::new() } else { (self.page + 1).to_string() };
        for (key, value) in [("source", &self.source), ("q", &self.text), ("page", &page)] {
            if !value.is_empty() {
                query.append_pair(key, value);
            }
        }
        query.finish()
    }

    /// The first page of the same filter with this state added, or removed if it is there.
    pub(super) fn toggled(&self, state: State) -> Self {
        let selected = |other: &State| self.states.contains(other) != (*other == state);
        Self { states: SEVERITY.into_iter().filter(selected).collect(), page: 0, ..self.clone() }
    }

    /// The same filter at another page, from 0.
    pub(super) fn at_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }
}

/// Replaces NUL, which HTML does not allow.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    fn filter(query: &str) -> Filter {
        Filter::of(query)
    }

    #[test]
    fn the_link_of_a_filter_gives_the_same_filter() {
        for (query, link) in [
            ("", "?"),
            ("any=thing&state=nonsense&page=x&page=-1&page=0&page=1", "?"),
            ("state=stalled", "?state=stalled"),
            ("state=idle&state=stalled&state=idle", "?state=stalled&state=idle"),
            ("source=a%2Fb&q=+caf%C3%A9+%26+", "?source=a%2Fb&q=caf%C3%A9+%26"),
            ("page=3&q=%22%3E%3Cscript", "?q=%22%3E%3Cscript&page=3"),
            ("page=18446744073709551615", "?page=18446744073709551615"),
            ("q=%ff%00", "?q=%EF%BF%BD%EF%BF%BD"),
            ("source=a%00b", "?source=a%EF%BF%BDb"),
        ] {
            assert_eq!(filter(query).link(), link, "{query}");
            let understood = Filter { ignored: BTreeSet::new(), ..filter(query) };
            assert_eq!(filter(&link[1..]), understood, "{query}");
        }
    }

    #[test]
    fn each_kind_of_ignored_parameter_is_listed_once_and_without_its_value() {
        let ignored = |query: &str| Vec::from_iter(filter(query).ignored);
        assert_eq!(ignored("state=stalled&source=a&q=b&page=2"), [""; 0]);
        assert_eq!(ignored("state=STALLED&state=x&page=x"), ["a page that is not a number", "an unknown state"]);
        assert_eq!(ignored("any=thing&planted"), ["a parameter other than state, source, q and page"]);
    }

    #[test]
    fn a_filter_matches_by_state_source_and_text() {
        let snapshots = snapshots::all();
        let matching = |query: &str| -> Vec<String> {
            let filter = filter(query);
            let leases =
                snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(move |lease| (snapshot, lease)));
            let matching = leases.filter(|(snapshot, lease)| {
                filter.matches_state(lease) && filter.matches_in_any_state(snapshot, lease)
            });
            matching.map(|(_, lease)| lease.lease.to_string()).collect()
        };
        let all = matching("").len();
        for (query, expected) in [
            ("state=stalled", &["retention", "tags"][..]),
            ("state=stalled&source=cache", &["tags"]),
            ("state=stalled&state=no_leader&source=documents", &["mailer", "retention", "webhooks"]),
            ("source=doc", &[]),
            ("q=TENT", &["retention"]),
            ("q=workers", &["scheduler"]),
            ("q=never_progressed", &[]),
            ("q=released", &["mailer"]),
            ("q=%5Cu%7B202e%7Dgnp", &[snapshots::HOSTILE_NAME]),
            ("q=%3Cscript", &[snapshots::HOSTILE_NAME]),
            ("q=worker-a", &[]),
        ] {
            assert_eq!(matching(query), expected, "{query}");
        }
        let token = snapshots[0].leases.iter().find_map(|lease| lease.holder()?.token.as_ref()).unwrap().to_string();
        let held = matching(&format!("q={}", token[..9].to_uppercase()));
        assert!(held.contains(&"retention".to_owned()) && held.len() < all, "{held:?}");
    }

    #[test]
    fn toggling_a_selected_state_removes_it_and_returns_to_the_first_page() {
        let selected = filter("state=idle&q=a&page=4");
        assert_eq!(selected.toggled(State::Stalled).link(), "?state=stalled&state=idle&q=a");
        assert_eq!(selected.toggled(State::Idle).link(), "?q=a");
        assert_eq!(selected.at_page(0).link(), "?state=idle&q=a");
    }

    #[test]
    fn there_is_no_page_beyond_the_last() {
        for (page, leases, expected) in
            [("1", 0, (0, 1)), ("9", 0, (0, 1)), ("1", 100, (0, 1)), ("2", 101, (1, 2)), ("3", 101, (1, 2))]
        {
            assert_eq!(filter(&format!("page={page}")).page_of(leases), expected, "{page} of {leases}");
        }
    }

    #[test]
    fn a_lease_is_named_by_the_query_whatever_its_name() {
        for name in ["a", "a/b", "..", "a b&c=d", "%2e", "\u{202e}é", snapshots::HOSTILE_NAME] {
            let link = link("lease", "s/1", name);
            let (path, query) = link.split_once('?').unwrap();
            assert_eq!(path, "lease");
            let view = PageRequest::lease(query);
            assert_eq!(view, PageRequest::Lease { source: "s/1".to_owned(), lease: name.to_owned() });
            assert_eq!(PageRequest::live(view.live_link().split_once('?').unwrap().1), view);
        }
        assert_eq!(PageRequest::live("state=idle"), PageRequest::list("state=idle"));
    }
}
