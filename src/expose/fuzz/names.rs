//! A lease of any name, in both formats of the metrics, in JSON, on both pages and in the table: the name comes back from
//! each as it was, and but for it each is what it is with a harmless one.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::html::{Piece, pieces};
use crate::expose::metrics::{Exposition, SourceMetrics};
use crate::expose::page::{self, ObservedSource, View};
use crate::expose::testing::snapshots;
use crate::expose::{Format, json, table};
use crate::fuzz::exposition::{Sample, samples};
use crate::fuzz::{NAMES, hostile};
use crate::history::History;
use crate::lease::SourceSnapshot;

static LOOKS: LazyLock<Vec<(SourceSnapshot, History)>> = LazyLock::new(snapshots::with_history);

/// One lease of one source, by these names.
fn named(source: usize, lease: usize, names: (&str, &str)) -> (SourceSnapshot, &'static History) {
    let (snapshot, history) = &LOOKS[source % LOOKS.len()];
    let mut snapshot = snapshot.clone();
    let at = lease % snapshot.leases.len();
    snapshot.leases = vec![snapshot.leases.swap_remove(at)];
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

/// What a person sees, as it was: the inverse of the escapes.
fn seen(shown: &str) -> Option<String> {
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

/// Marks and attributes without their values.
fn skeleton(pieces: &[Piece]) -> Vec<String> {
    let marks = pieces.iter().filter_map(|piece| match piece {
        Piece::Opens(name, attributes) => {
            let names: Vec<_> = attributes.iter().map(|(attribute, _)| attribute.as_str()).collect();
            Some(format!("<{name} {}>", names.join(" ")))
        }
        Piece::Closes(name) => Some(format!("</{name}>")),
        Piece::Text(_) => None,
    });
    marks.collect()
}

/// The texts between `<bdi>` and `</bdi>`, which is where names stand.
fn names_on(pieces: &[Piece]) -> Vec<Option<String>> {
    let within = pieces.windows(3).filter_map(|three| match three {
        [Piece::Opens(name, _), Piece::Text(text), Piece::Closes(_)] if name == "bdi" => Some(seen(text)),
        _ => None,
    });
    within.collect()
}

fn on_page(view: &View, (snapshot, history): &(SourceSnapshot, &History)) -> Result<Vec<Piece>, TestCaseError> {
    let now = snapshots::now();
    let looked = ObservedSource { snapshot, history, at: now.monotonic, unanswered: None };
    let page = page::page(view, &[looked], &[&snapshot.source], now, "/metrics").unwrap();
    prop_assert!(page.found);
    // Neither has anything of a store in it; what is within would be read in another way.
    let without: String = page.html.split("</style>").map(|part| part.split("<style").next().unwrap()).collect();
    pieces(&without).map_err(TestCaseError::fail)
}

/// Whether this is the name, or the beginning and the end of one that is too long for a list.
fn is_abridged(shown: &str, name: &str) -> bool {
    match shown.split_once('\u{2026}') {
        Some((beginning, end)) if name.chars().count() > 100 && shown.chars().count() > 100 => {
            name.starts_with(beginning) && name.ends_with(end)
        }
        _ => shown == name,
    }
}

#[test]
fn names_come_back_from_everything_that_shows_them() {
    let exactly_one =
        |names: &[Option<String>], name: &str| names.iter().filter(|other| other.as_deref() == Some(name)).count();
    NAMES.run((any::<usize>(), any::<usize>(), hostile::name(), hostile::name()), |(at, lease_at, source, lease)| {
        let hostile = named(at, lease_at, (&source, &lease));
        let harmless = named(at, lease_at, ("s", "l"));

        for format in Format::ALL {
            let as_harmless = metrics(&hostile.0, format)?.into_iter().map(|mut sample| {
                for (label, value) in &mut sample.labels {
                    let expected = match label.as_str() {
                        "source" => (&source, "s"),
                        "lease" => (&lease, "l"),
                        _ => continue,
                    };
                    prop_assert_eq!(&*value, expected.0);
                    *value = expected.1.to_owned();
                }
                Ok(sample)
            });
            prop_assert_eq!(as_harmless.collect::<Result<Vec<_>, _>>()?, metrics(&harmless.0, format)?);
        }

        let all: serde_json::Value = serde_json::from_slice(&json::to_vec(&[Arc::new(hostile.0.clone())])).unwrap();
        prop_assert_eq!(&all["sources"][0]["source"], &source);
        prop_assert_eq!(&all["sources"][0]["leases"][0]["lease"], &lease);
        let one = json::lease_to_vec(&hostile.0, &lease).unwrap().unwrap();
        let one: serde_json::Value = serde_json::from_slice(&one).unwrap();
        prop_assert_eq!(&one["lease"], &all["sources"][0]["leases"][0]);

        for (view, usual) in [
            (View::list(""), View::list("")),
            (
                View::Lease { source: source.clone(), lease: lease.clone() },
                View::Lease { source: "s".into(), lease: "l".into() },
            ),
        ] {
            let (page, usual) = (on_page(&view, &hostile)?, on_page(&usual, &harmless)?);
            prop_assert_eq!(skeleton(&page), skeleton(&usual));
            let (names, usual) = (names_on(&page), names_on(&usual));
            let shown = match view {
                View::List(_) => names.iter().flatten().any(|name| is_abridged(name, &lease)),
                View::Lease { .. } => exactly_one(&names, &lease) >= 1,
            };
            prop_assert!(shown && exactly_one(&names, &source) >= 1, "{names:?}");
            prop_assert_eq!(names.len(), usual.len());
            let links = page.iter().filter_map(|piece| match piece {
                Piece::Opens(name, attributes) if name == "a" => attributes.iter().find(|(name, _)| name == "href"),
                _ => None,
            });
            let named: Vec<_> = links.filter_map(|(_, link)| link.strip_prefix("lease?")).map(View::lease).collect();
            let expected = View::Lease { source: source.clone(), lease: lease.clone() };
            prop_assert!(named.iter().all(|view| *view == expected) && !named.is_empty(), "{named:?}");
        }

        let table = |snapshot: &SourceSnapshot| {
            let leases: Vec<_> = snapshot.leases.iter().map(|status| (snapshot, status)).collect();
            let lines = table::lines(&leases, table::NameWidth::Full).into_iter().map(|line| line.text);
            lines.chain(table::source_problems(&[snapshot])).collect::<Vec<_>>()
        };
        let (shown, usual) = (table(&hostile.0), table(&harmless.0));
        prop_assert_eq!(shown.len(), usual.len());
        prop_assert!(!shown.iter().any(|line| line.contains(char::is_control)), "{shown:?}");
        Ok(())
    });
}

/// What cannot be told apart by the eye is told apart by its escapes; and what can be seen as it is stays as it is.
#[test]
fn names_shown_to_people_are_never_two_of_one_look() {
    use crate::expose::display_name::DisplayName;
    NAMES.run(prop::collection::vec(hostile::text(), 40), |names| {
        for name in names {
            let shown = DisplayName(&name).to_string();
            prop_assert_eq!(seen(&shown), Some(name.clone()));
            let invisible = |letter: char| letter.is_control() || (letter.is_whitespace() && letter != ' ');
            prop_assert!(!shown.contains(invisible) && shown.trim() == shown, "{shown:?}");
        }
        Ok(())
    });
}
