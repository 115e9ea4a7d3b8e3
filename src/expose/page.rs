//! The latest looks as a status page, for people: everything that matters, the worst first, readable at 3 a.m.
//!
//! Two views: the list of leases, and one lease with its evidence, each with an address of its own. Pages are made here
//! whole and need no script. `assets/live.js` only puts the `<main>` that it asks for in place of the old one, so there is one
//! template and one way to render a lease.

mod advice;
mod age_bars;
mod clock;
mod lease_list;
mod lease_page;
mod lease_row;
mod phrases;
mod problem_banner;
#[cfg(test)]
mod properties;
mod source;
mod timeline;
mod view;

use std::collections::BTreeSet;
use std::time::Duration;

use askama::Template;

use super::display_name::DisplayName;
use super::severity::{SEVERITY, StateCounts};
use crate::history::History;
use crate::lease::{SourceSnapshot, State};
use lease_list::LeaseList;
use lease_page::LeasePage;

pub use advice::Advice;
pub use clock::PageClock;
pub use view::{Filter, LEASES_PER_PAGE, View};

/// The style sheet that the page asks for as `style.css`.
pub const STYLE: &str = include_str!("assets/style.css");
/// The script that the page asks for as `live.js`.
pub const SCRIPT: &str = include_str!("assets/live.js");
/// The icon that the page asks for as `favicon.ico`: an SVG.
pub const ICON: &str = include_str!("assets/icon.svg");

/// The latest look at one source, and what the looks until then showed.
#[derive(Clone, Copy, Debug)]
pub struct ObservedSource<'a> {
    /// The latest look.
    pub snapshot: &'a SourceSnapshot,
    /// The looks until then.
    pub history: &'a History,
    /// When it was, on the clock of looks. What is said of its leases is as of then.
    pub at: Duration,
    /// For how long the store has not answered, if it is being asked again or did not answer this look.
    pub unanswered: Option<Duration>,
}

/// A view that was rendered.
#[derive(Debug)]
pub struct RenderedPage {
    /// The page, or its `<main>` alone.
    pub html: String,
    /// Whether what was asked for is there: a lease or a source that is not known is not.
    pub found: bool,
}

/// Renders the page of a view from looks at what [`View::source`] says, with a choice of `sources` and a link to the metrics
/// at `metrics_path`.
///
/// Links are relative, so that the page works behind a proxy that puts it under a path of its own.
///
/// # Errors
/// None that is known: the template writes nothing that can fail.
pub fn page(
    view: &View,
    looks: &[ObservedSource<'_>],
    sources: &[impl AsRef<str>],
    now: PageClock,
    metrics_path: &str,
) -> askama::Result<RenderedPage> {
    let metrics_path = metrics_path.trim_start_matches('/');
    let (title, main, form, found) = match view {
        View::List(filter) => {
            let list = LeaseList::of(filter, looks, now);
            (list.title().to_owned(), list.render()?, Some(Form::of(filter, sources)), list.is_found())
        }
        View::Lease { source, lease } => {
            let opened = LeasePage::of(source, lease, looks, now);
            (opened.title().to_owned(), opened.render()?, None, opened.is_known())
        }
    };
    Ok(RenderedPage { html: Page { title, metrics_path, main, form }.render()?, found })
}

/// Renders the `<main>` of a view alone, for a page that is already there.
///
/// # Errors
/// None that is known, as with [`page`].
pub fn main(view: &View, looks: &[ObservedSource<'_>], now: PageClock) -> askama::Result<String> {
    match view {
        View::List(filter) => LeaseList::of(filter, looks, now).render(),
        View::Lease { source, lease } => LeasePage::of(source, lease, looks, now).render(),
    }
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: String,
    metrics_path: &'a str,
    main: String,
    form: Option<Form<'a>>,
}

/// By what to filter. It is no part of what changes while one looks at it.
struct Form<'a> {
    states: &'a [State],
    text: &'a str,
    sources: Vec<Choice<'a>>,
    narrow: bool,
    not_understood: &'a BTreeSet<&'static str>,
}

struct Choice<'a> {
    value: &'a str,
    name: String,
    chosen: bool,
}

impl<'a> Form<'a> {
    fn of(filter: &'a Filter, sources: &'a [impl AsRef<str>]) -> Self {
        let choice =
            |value: &'a str| Choice { value, name: DisplayName(value).to_string(), chosen: value == filter.source() };
        let mut sources: Vec<_> = sources.iter().map(|source| choice(source.as_ref())).collect();
        // One that is not there any more is still what is filtered by.
        if !filter.source().is_empty() && !sources.iter().any(|source| source.chosen) {
            sources.push(choice(filter.source()));
        }
        Self {
            states: filter.states(),
            text: filter.text(),
            sources,
            narrow: filter.is_narrow(),
            not_understood: filter.not_understood(),
        }
    }
}

#[cfg(test)]
mod tests;
