//! What somebody wants to see, as the address says it.
//!
//! Everything that can be chosen is in the query of the address, so that a view can be reloaded, kept and sent to others.
//! A lease is named in the query and not in the path: a name may be `..` or have slashes in it, which browsers and proxies
//! take for something else there.

use std::collections::BTreeSet;

use url::form_urlencoded::{Serializer, parse};

use super::super::{SEVERITY, display_name::DisplayName};
use crate::lease::{HolderToken, SourceSnapshot, State, Status};

/// How many leases a page shows: few enough that it loads at once and a person still looks at it.
pub const LEASES_PER_PAGE: usize = 100;

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// All leases, or some.
    List(Filter),
    /// One lease with its evidence.
    Lease {
        /// The source's name.
        source: String,
        /// The lease's.
        lease: String,
    },
}

/// Which leases to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In any of these states, in the order of [`SEVERITY`]; any at all, if there is none.
    states: Vec<State>,
    /// Of this source; of any, if empty.
    source: String,
    /// With this text in what is shown of them; any, if empty.
    text: String,
    /// Counted from 0.
    page: usize,
    /// What of the address means nothing here. It leaves nothing out, and the page says so.
    not_understood: BTreeSet<&'static str>,
}

impl View {
    /// What `/` shows with this query.
    #[must_use]
    pub fn list(query: &str) -> Self {
        Self::List(Filter::of(query))
    }

    /// What `/lease` shows with this query.
    #[must_use]
    pub fn lease(query: &str) -> Self {
        let named = |name| parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        Self::Lease { source: named("source").unwrap_or_default(), lease: named("lease").unwrap_or_default() }
    }

    /// The view of `/live` with this query: that of the page whose script asks for it.
    #[must_use]
    pub fn live(query: &str) -> Self {
        if parse(query.as_bytes()).any(|(key, _)| key == "lease") { Self::lease(query) } else { Self::list(query) }
    }

    /// The only source that it shows; `None` if any may be on it.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::List(filter) => Some(filter.source()).filter(|source| !source.is_empty()),
            Self::Lease { source, .. } => Some(source),
        }
    }

    /// Where the main part of this view is.
    pub(super) fn live_link(&self) -> String {
        match self {
            Self::List(filter) => format!("live{}", filter.link()),
            Self::Lease { source, lease } => of_lease("live", source, lease),
        }
    }
}

/// The page of a lease.
pub(super) fn link_to(source: &str, lease: &str) -> String {
    of_lease("lease", source, lease)
}

fn of_lease(path: &str, source: &str, lease: &str) -> String {
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
                "source" if filter.source.is_empty() => filter.source = written(&value),
                "q" => filter.text = written(value.trim()),
                "page" if let Ok(page) = value.parse::<usize>() => filter.page = page.saturating_sub(1),
                // It is not repeated: people paste into addresses what no page should show.
                key => {
                    filter.not_understood.insert(match key {
                        "source" => "more than one source",
                        "state" => "a state that is none",
                        "page" => "a page that is no number",
                        _ => "what is neither state, source, q nor page",
                    });
                }
            }
        }
        filter.states = SEVERITY.into_iter().filter(|state| states.contains(state)).collect();
        filter
    }

    /// The same without what was not understood, which no address made of it says.
    #[cfg(test)]
    pub(super) fn understood(self) -> Self {
        Self { not_understood: BTreeSet::new(), ..self }
    }

    /// What of the address means nothing here, each kind of it once.
    pub(super) const fn not_understood(&self) -> &BTreeSet<&'static str> {
        &self.not_understood
    }

    /// Whether it leaves any lease out.
    pub(super) fn is_narrow(&self) -> bool {
        !(self.states.is_empty() && self.source.is_empty() && self.text.is_empty())
    }

    pub(super) fn states(&self) -> &[State] {
        &self.states
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a source is one of those that are asked for.
    pub(super) fn asks_for(&self, snapshot: &SourceSnapshot) -> bool {
        self.source.is_empty() || *self.source == *snapshot.source
    }

    /// The source that is asked for, if it is none of these.
    pub(super) fn source_beside(&self, snapshots: &[&SourceSnapshot]) -> Option<&str> {
        let is_there = snapshots.iter().any(|snapshot| self.asks_for(snapshot));
        (!self.source.is_empty() && !is_there).then_some(&self.source)
    }

    /// Which page of how many, for so many leases. Beyond the last there is none.
    pub(super) fn page_of(&self, leases: usize) -> (usize, usize) {
        let pages = leases.div_ceil(LEASES_PER_PAGE).max(1);
        (self.page.min(pages - 1), pages)
    }

    /// Whether a lease is to be shown.
    pub(super) fn admits(&self, snapshot: &SourceSnapshot, status: &Status) -> bool {
        (self.states.is_empty() || self.states.contains(&status.verdict.state))
            && self.asks_for(snapshot)
            && (self.text.is_empty() || self.says(snapshot, status))
    }

    /// Whether the text is in the names of the lease or the source, in the reason, or in a holder's token.
    fn says(&self, snapshot: &SourceSnapshot, status: &Status) -> bool {
        let text = self.text.to_lowercase();
        let has = |shown: &str| shown.to_lowercase().contains(&text);
        let holder = |token: &HolderToken| has(&token.to_string());
        let held_by = || status.holder().is_some_and(|found| found.token.iter().chain(&*found.others).any(holder));
        has(&status.lease)
            || has(&DisplayName(&status.lease).to_string())
            || has(&snapshot.source)
            || has(status.verdict.reason.as_str())
            || held_by()
    }

    /// The address of this view, relative to the page.
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

    /// The same with this state chosen, or no longer. It begins with the first page.
    pub(super) fn toggled(&self, state: State) -> Self {
        let chosen = |other: &State| self.states.contains(other) != (*other == state);
        Self { states: SEVERITY.into_iter().filter(chosen).collect(), page: 0, ..self.clone() }
    }

    /// The same, whatever the state.
    pub(super) fn in_any_state(&self) -> Self {
        Self { states: Vec::new(), ..self.clone() }
    }

    /// The same on another page, counted from 0.
    pub(super) fn at_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }
}

/// A text as a page can hold it: HTML knows no NUL.
fn written(text: &str) -> String {
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
    fn a_query_and_the_address_made_of_it_say_the_same() {
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
            let understood = filter(query).understood();
            assert_eq!(filter(&link[1..]), understood, "{query}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told_once_and_never_repeated() {
        let told = |query: &str| Vec::from_iter(filter(query).not_understood);
        assert_eq!(told("state=stalled&source=a&q=b&page=2"), [""; 0]);
        assert_eq!(told("state=STALLED&state=x&page=x"), ["a page that is no number", "a state that is none"]);
        assert_eq!(told("any=thing&planted"), ["what is neither state, source, q nor page"]);
    }

    #[test]
    fn a_filter_admits_what_it_says() {
        let snapshots = snapshots::all();
        let admitted = |query: &str| -> Vec<String> {
            let filter = filter(query);
            let leases =
                snapshots.iter().flat_map(|snapshot| snapshot.leases.iter().map(move |lease| (snapshot, lease)));
            let admitted = leases.filter(|(snapshot, lease)| filter.admits(snapshot, lease));
            admitted.map(|(_, lease)| lease.lease.to_string()).collect()
        };
        let all = admitted("").len();
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
            assert_eq!(admitted(query), expected, "{query}");
        }
        let token = snapshots[0].leases.iter().find_map(|lease| lease.holder()?.token.as_ref()).unwrap().to_string();
        let held = admitted(&format!("q={}", token[..9].to_uppercase()));
        assert!(held.contains(&"retention".to_owned()) && held.len() < all, "{held:?}");
    }

    #[test]
    fn choosing_a_state_again_takes_the_choice_back_and_begins_with_the_first_page() {
        let chosen = filter("state=idle&q=a&page=4");
        assert_eq!(chosen.toggled(State::Stalled).link(), "?state=stalled&state=idle&q=a");
        assert_eq!(chosen.toggled(State::Idle).link(), "?q=a");
        assert_eq!(chosen.at_page(0).link(), "?state=idle&q=a");
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
            let link = link_to("s/1", name);
            let (path, query) = link.split_once('?').unwrap();
            assert_eq!(path, "lease");
            let view = View::lease(query);
            assert_eq!(view, View::Lease { source: "s/1".to_owned(), lease: name.to_owned() });
            assert_eq!(View::live(view.live_link().split_once('?').unwrap().1), view);
        }
        assert_eq!(View::live("state=idle"), View::list("state=idle"));
    }
}
