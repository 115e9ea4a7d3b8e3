//! The status page, for people: the leases with the worst first, and one page for each lease with its evidence.
//!
//! Pages are rendered as a whole and need no script. `assets/live.js` only replaces `<main>` by a newer one, so that each
//! page has one template.

mod advice;
mod age_bars;
mod clock;
mod lease_list;
mod lease_page;
mod lease_row;
mod phrases;
#[cfg(test)]
mod properties;
mod request;
mod source;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use askama::Template;

use super::display_name::DisplayName;
use super::severity::{SEVERITY, StateCounts};
use crate::history::History;
use crate::lease::SourceSnapshot;
use lease_list::LeaseList;
use lease_page::LeasePage;

pub use advice::Advice;
pub use clock::PageClock;
pub use request::{Filter, LEASES_PER_PAGE, PageRequest};

/// The style sheet, which the page links as `style.css`.
pub const STYLE: &str = include_str!("assets/style.css");
/// The script, which the page links as `live.js`.
pub const SCRIPT: &str = include_str!("assets/live.js");
/// The icon, an SVG, which the page links as `favicon.ico`.
pub const ICON: &str = include_str!("assets/icon.svg");

/// The latest snapshot of one source and its history.
#[derive(Clone, Debug)]
pub struct ObservedSource {
    /// The latest snapshot, or the leases without their status if it is too old.
    pub snapshot: Arc<SourceSnapshot>,
    /// The states of its leases over time, up to that snapshot.
    pub history: History,
    /// The time of the snapshot on the monotonic clock. Ages are as of this time.
    pub observed_at: Duration,
    /// How long the store has not answered, if the latest read failed by timeout or is still running.
    pub unanswered_for: Option<Duration>,
}

/// A rendered page.
#[derive(Debug)]
pub struct RenderedPage {
    /// The HTML.
    pub html: String,
    /// Whether the lease or the source named in the address is known.
    pub found: bool,
}

/// Renders the page of a view. `sources` are those of [`PageRequest::source`]; `source_names` are the choices of the filter.
///
/// Links are relative, so that the page works behind a proxy that serves it under another path.
///
/// # Errors
/// The template could not be rendered. No cause is known.
pub fn render(
    view: &PageRequest,
    sources: &[ObservedSource],
    source_names: &[impl AsRef<str>],
    now: PageClock,
    metrics_path: &str,
) -> askama::Result<RenderedPage> {
    let metrics_path = metrics_path.trim_start_matches('/');
    let (title, main, form, found) = match view {
        PageRequest::List(filter) => {
            let list = LeaseList::of(filter, sources, now);
            let form = Form::of(filter, source_names);
            (list.title.clone(), list.render()?, Some(form), list.missing_source.is_none())
        }
        PageRequest::Lease { source, lease } => {
            let page = LeasePage::of(source, lease, sources, now);
            (page.title.clone(), page.render()?, None, page.details.is_some())
        }
    };
    Ok(RenderedPage { html: Page { title, metrics_path, main, form }.render()?, found })
}

/// Renders only the `<main>` of a view, for a page that is already open.
///
/// # Errors
/// As for [`render`].
pub fn render_main(view: &PageRequest, sources: &[ObservedSource], now: PageClock) -> askama::Result<String> {
    match view {
        PageRequest::List(filter) => LeaseList::of(filter, sources, now).render(),
        PageRequest::Lease { source, lease } => LeasePage::of(source, lease, sources, now).render(),
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

/// The filter form. It is outside of `<main>`, so that an update does not disturb somebody who types.
struct Form<'a> {
    filter: &'a Filter,
    sources: Vec<SourceOption<'a>>,
}

struct SourceOption<'a> {
    value: &'a str,
    name: String,
    selected: bool,
}

impl<'a> Form<'a> {
    fn of(filter: &'a Filter, source_names: &'a [impl AsRef<str>]) -> Self {
        let option = |value: &'a str| SourceOption {
            value,
            name: DisplayName(value).to_string(),
            selected: value == filter.source,
        };
        let mut sources: Vec<_> = source_names.iter().map(|name| option(name.as_ref())).collect();
        // The filter may name a source that is no longer configured.
        if !filter.source.is_empty() && !sources.iter().any(|source| source.selected) {
            sources.push(option(&filter.source));
        }
        Self { filter, sources }
    }
}

#[cfg(test)]
mod tests;
