//! What a request names in its path and its query.

use percent_encoding::percent_decode_str;

use crate::observer::SourceSelection;

/// The sources that a query names: `?source=a&source=b`. Whatever else it has in it is ignored.
pub(super) fn sources(query: &str) -> SourceSelection {
    let pairs = query.split('&');
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let named: Vec<String> = pairs.filter(|(name, _)| form(name) == "source").map(|(_, value)| form(value)).collect();
    if named.is_empty() { SourceSelection::All } else { SourceSelection::Named(named) }
}

/// A source and its lease that a path names: `source/lease`. Slashes in the lease's name may stand as they are.
pub(super) fn lease(path: &str) -> Option<(String, String)> {
    let (source, lease) = path.split_once('/')?;
    Some((decoded(source)?, decoded(lease)?))
}

/// As a form writes it. What is no UTF-8 is no name of a source: those are ASCII.
fn form(text: &str) -> String {
    decoded(&text.replace('+', " ")).unwrap_or_default()
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_sources_and_everything_else_in_it_is_ignored() {
        let named = |names: &[&str]| SourceSelection::Named(names.iter().map(|&name| name.to_owned()).collect());
        for (query, chosen) in [
            ("", SourceSelection::All),
            ("any=query&sources=a&Source=a", SourceSelection::All),
            ("source=a", named(&["a"])),
            ("x=1&source=a&y&source=b&source=a", named(&["a", "b", "a"])),
            ("s%6Furce=a%2Db+c", named(&["a-b c"])),
            ("source", named(&[""])),
            ("source=%ff", named(&[""])),
            ("source=a=b", named(&["a=b"])),
            ("&&=&source=%", named(&["%"])),
        ] {
            assert_eq!(sources(query), chosen, "{query:?}");
        }
    }

    #[test]
    fn a_path_names_a_source_and_a_lease_whatever_characters_that_has() {
        for (path, named) in [
            ("documents/planner", Some(("documents", "planner"))),
            ("k8s/kube-system/scheduler", Some(("k8s", "kube-system/scheduler"))),
            ("k8s/kube-system%2Fscheduler", Some(("k8s", "kube-system/scheduler"))),
            ("a/%E6%97%A5+%22", Some(("a", "日+\""))),
            ("a/../b", Some(("a", "../b"))),
            ("a//", Some(("a", "/"))),
            ("a/", Some(("a", ""))),
            ("a/%ff", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(lease(path), named.map(|(source, lease)| (source.to_owned(), lease.to_owned())), "{path}");
        }
    }
}
