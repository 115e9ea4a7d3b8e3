//! Names of sources and leases in every rendering: both formats of the metrics, JSON, both pages and the table. Each
//! rendering shows the name unchanged, and differs in nothing else from the rendering of a harmless name.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::html::{Token, tokens};
use crate::expose::display_name::DisplayName;
use crate::expose::metrics::{Exposition, SourceMetrics};
use crate::expose::page::{self, ObservedSource, PageRequest};
use crate::expose::testing::snapshots;
use crate::expose::{Format, json, table};
use crate::history::History;
use crate::lease::SourceSnapshot;
use crate::testing::exposition::{Sample, samples};
use crate::testing::{cases, hostile};

static SAMPLES: LazyLock<Vec<(SourceSnapshot, History)>> = LazyLock::new(snapshots::with_history);

/// A sample with one lease of one source under the given names.
fn renamed(source: usize, lease: usize, names: (&str, &str)) -> (SourceSnapshot, &'static History) {
    let (snapshot, history) = &SAMPLES[source % SAMPLES.len()];
    let mut snapshot = snapshot.clone();
    let index = lease % snapshot.leases.len();
    snapshot.leases = vec![snapshot.leases.swap_remove(index)];
    snapshot.source = names.0.into();
    snapshot.leases[0].lease = Arc::from(names.1);
    (snapshot, history)
}

fn metrics(snapshot: &SourceSnapshot, format: Format) -> Result<Vec<Sample>, TestCaseError> {
    let exposition = Exposition::without(|_| false);
    let source = Arc::new(SourceMetrics::new(Arc::new(snapshot.clone())));
    let text: Vec<_> = exposition.text(format, vec![source], vec![format.end().into()]).collect();
    let page = String::from_utf8(text.concat()).unwrap();
    samples(&page).map_err(TestCaseError::fail)
}

/// Decodes the escapes with which names are shown to people.
fn unescaped(shown: &str) -> Option<String> {
    let (mut name, mut rest) = (String::new(), shown);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        if letter != '\\' {
            name.push(letter);
            continue;
        }
        let escape = rest.chars().next()?;
        rest = &rest[1..];
        name.push(match escape {
            '\\' => '\\',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
                rest = after;
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(name)
}

/// The tags and the names of their attributes.
fn tags(tokens: &[Token]) -> Vec<String> {
    let tags = tokens.iter().filter_map(|token| match token {
        Token::Open(name, attributes) => {
            let names: Vec<_> = attributes.iter().map(|(attribute, _)| attribute.as_str()).collect();
            Some(format!("<{name} {}>", names.join(" ")))
        }
        Token::Close(name) => Some(format!("</{name}>")),
        Token::Text(_) => None,
    });
    tags.collect()
}

/// The names on a page: the texts of its `<bdi>` elements.
fn page_names(tokens: &[Token]) -> Vec<Option<String>> {
    let names = tokens.windows(3).filter_map(|three| match three {
        [Token::Open(name, _), Token::Text(text), Token::Close(_)] if name == "bdi" => Some(unescaped(text)),
        _ => None,
    });
    names.collect()
}

/// The tokens of the page of a view.
fn page_tokens(
    view: &PageRequest,
    (snapshot, history): &(SourceSnapshot, &History),
) -> Result<Vec<Token>, TestCaseError> {
    let now = snapshots::now();
    let observed = ObservedSource {
        snapshot: snapshot.clone().into(),
        history: (*history).clone(),
        observed_at: now.monotonic,
        unanswered_for: None,
    };
    let page = page::render(view, &[observed], &[&snapshot.source], now, "/metrics").unwrap();
    prop_assert!(page.found);
    // A style sheet follows other rules than HTML, and contains nothing from a store.
    let without: String = page.html.split("</style>").map(|part| part.split("<style").next().unwrap()).collect();
    tokens(&without).map_err(TestCaseError::fail)
}

/// Whether `shown` is the name, or the beginning and the end of a name that is too long for the list.
fn is_abridged(shown: &str, name: &str) -> bool {
    match shown.split_once('\u{2026}') {
        Some((beginning, end)) if name.chars().count() > 100 && shown.chars().count() > 100 => {
            name.starts_with(beginning) && name.ends_with(end)
        }
        _ => shown == name,
    }
}

fn occurrences(names: &[Option<String>], name: &str) -> usize {
    names.iter().filter(|other| other.as_deref() == Some(name)).count()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_name_is_shown_unchanged_by_every_rendering(
        source_index in any::<usize>(), lease_index in any::<usize>(), source in hostile::name(), lease in hostile::name()
    ) {
        let hostile = renamed(source_index, lease_index, (&source, &lease));
        let harmless = renamed(source_index, lease_index, ("s", "l"));

        for format in Format::ALL {
            let renamed = metrics(&hostile.0, format)?.into_iter().map(|mut sample| {
                for (label, value) in &mut sample.labels {
                    let (expected, harmless) = match label.as_str() {
                        "source" => (&source, "s"),
                        "lease" => (&lease, "l"),
                        _ => continue,
                    };
                    prop_assert_eq!(&*value, expected);
                    *value = harmless.to_owned();
                }
                Ok(sample)
            });
            prop_assert_eq!(renamed.collect::<Result<Vec<_>, _>>()?, metrics(&harmless.0, format)?);
        }

        let all: serde_json::Value = serde_json::from_slice(&json::document_chunks(vec![Arc::new(hostile.0.clone())]).collect::<Vec<_>>().concat()).unwrap();
        prop_assert_eq!(&all["sources"][0]["source"], &source);
        prop_assert_eq!(&all["sources"][0]["leases"][0]["lease"], &lease);
        let one = json::lease_to_vec(&hostile.0, &lease).unwrap().unwrap();
        let one: serde_json::Value = serde_json::from_slice(&one).unwrap();
        prop_assert_eq!(&one["lease"], &all["sources"][0]["leases"][0]);

        let lease_view = PageRequest::Lease { source: source.clone(), lease: lease.clone() };
        let harmless_view = PageRequest::Lease { source: "s".into(), lease: "l".into() };
        for (view, harmless_view) in [(PageRequest::list(""), PageRequest::list("")), (lease_view.clone(), harmless_view)] {
            let (page, harmless_page) = (page_tokens(&view, &hostile)?, page_tokens(&harmless_view, &harmless)?);
            prop_assert_eq!(tags(&page), tags(&harmless_page));
            let names = page_names(&page);
            let is_shown = match view {
                PageRequest::List(_) => names.iter().flatten().any(|name| is_abridged(name, &lease)),
                PageRequest::Lease { .. } => occurrences(&names, &lease) >= 1,
            };
            prop_assert!(is_shown && occurrences(&names, &source) >= 1, "{names:?}");
            prop_assert_eq!(names.len(), page_names(&harmless_page).len());
            let links = page.iter().filter_map(|token| match token {
                Token::Open(name, attributes) if name == "a" => attributes.iter().find(|(name, _)| name == "href"),
                _ => None,
            });
            let views: Vec<_> = links.filter_map(|(_, link)| link.strip_prefix("lease?")).map(PageRequest::lease).collect();
            prop_assert!(views.iter().all(|view| *view == lease_view) && !views.is_empty(), "{views:?}");
        }

        let table = |snapshot: &SourceSnapshot| {
            let leases: Vec<_> = snapshot.leases.iter().map(|status| (snapshot, status)).collect();
            let lines = table::lines(&leases, table::NameWidth::Full).into_iter().map(|line| line.text);
            lines.chain(table::source_problems(&[snapshot])).collect::<Vec<_>>()
        };
        let lines = table(&hostile.0);
        prop_assert_eq!(lines.len(), table(&harmless.0).len());
        prop_assert!(!lines.iter().any(|line| line.contains(char::is_control)), "{lines:?}");
    }

    /// Two names never look the same: invisible characters are escaped, and the escapes can be decoded.
    #[test]
    fn different_names_never_look_the_same(names in prop::collection::vec(hostile::text(), 40)) {
        for name in names {
            let shown = DisplayName(&name).to_string();
            prop_assert_eq!(unescaped(&shown), Some(name.clone()));
            let is_invisible = |letter: char| letter.is_control() || (letter.is_whitespace() && letter != ' ');
            prop_assert!(!shown.contains(is_invisible) && shown.trim() == shown, "{shown:?}");
        }
    }
}
