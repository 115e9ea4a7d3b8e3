//! Maps paths to what is served, and parses what paths and queries name.

use percent_encoding::percent_decode_str;

use super::{probe, reload, response};
use crate::expose::page;
use crate::observer::SourceSelection;

/// The resource that a path serves by GET and HEAD.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route<'a> {
    Health,
    /// A compiled-in file: its content type and content.
    Asset(&'static str, &'static str),
    /// The probe of a lease, named `source/lease`.
    Probe(&'a str),
    Resource(Resource<'a>),
}

/// A resource that is made from readings of the sources.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resource<'a> {
    Metrics,
    LeasesPage,
    LeasePage,
    /// The main part of either page.
    Fragment,
    LeasesJson,
    /// One lease, named `source/lease`.
    LeaseJson(&'a str),
}

/// All paths but the configurable path of the metrics.
const FIXED: [(&str, Route<'static>); 9] = [
    ("/", Route::Resource(Resource::LeasesPage)),
    ("/lease", Route::Resource(Resource::LeasePage)),
    ("/live", Route::Resource(Resource::Fragment)),
    ("/api/v1/leases", Route::Resource(Resource::LeasesJson)),
    ("/-/healthy", Route::Health),
    ("/-/ready", Route::Health),
    ("/style.css", Route::Asset(response::CSS, page::STYLE)),
    ("/live.js", Route::Asset(response::SCRIPT, page::SCRIPT)),
    ("/favicon.ico", Route::Asset(response::SVG, page::ICON)),
];

const LEASE_PREFIX: &str = "/api/v1/leases/";

impl<'a> Route<'a> {
    /// The route of a path, if there is one.
    pub(super) fn of(path: &'a str, telemetry_path: &str) -> Option<Self> {
        if path == telemetry_path { Some(Self::Resource(Resource::Metrics)) } else { Self::except_metrics(path) }
    }

    fn except_metrics(path: &'a str) -> Option<Self> {
        let fixed = FIXED.into_iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| route);
        fixed
            .or_else(|| path.strip_prefix(LEASE_PREFIX).map(|name| Self::Resource(Resource::LeaseJson(name))))
            .or_else(|| probe::lease_of(path).map(Self::Probe))
    }
}

/// Whether a path is in use and cannot be the path of the metrics.
#[must_use]
pub fn is_taken(path: &str) -> bool {
    Route::except_metrics(path).is_some() || path == reload::PATH
}

/// All paths and path prefixes that are served, except the path of the metrics.
pub fn paths() -> impl Iterator<Item = &'static str> {
    let fixed = FIXED.into_iter().map(|(path, _)| path);
    fixed.chain([LEASE_PREFIX, reload::PATH, probe::PREFIX])
}

/// The sources selected by a query such as `source=a&source=b`. Other parameters are ignored.
pub(super) fn selected_sources(query: &str) -> SourceSelection {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let names: Vec<String> =
        pairs.filter(|(key, _)| decode_form(key) == "source").map(|(_, name)| decode_form(name)).collect();
    if names.is_empty() { SourceSelection::All } else { SourceSelection::Named(names) }
}

/// The names of a source and a lease in `source/lease`. The name of the lease may contain slashes.
pub(super) fn lease_name(path: &str) -> Option<(String, String)> {
    let (source, lease) = path.split_once('/')?;
    Some((percent_decode(source)?, percent_decode(lease)?))
}

/// Decodes `application/x-www-form-urlencoded` text. Invalid UTF-8 gives an empty text, which names no source.
fn decode_form(text: &str) -> String {
    percent_decode(&text.replace('+', " ")).unwrap_or_default()
}

fn percent_decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The match fails to compile for a new route, which then has to be listed below.
    const fn name(route: Route<'_>) -> &'static str {
        match route {
            Route::Health => "alive",
            Route::Asset(..) => "asset",
            Route::Resource(Resource::Fragment) => "live",
            Route::Probe(_) => "probe",
            Route::Resource(Resource::Metrics) => "metrics",
            Route::Resource(Resource::LeasesPage) => "page of leases",
            Route::Resource(Resource::LeasePage) => "page of a lease",
            Route::Resource(Resource::LeasesJson) => "leases",
            Route::Resource(Resource::LeaseJson(_)) => "lease",
        }
    }

    #[test]
    fn every_route_is_listed_by_its_path() {
        let of = |path: &'static str| match path {
            reload::PATH => "reload",
            // The path of a probe also has a suffix.
            probe::PREFIX => Route::except_metrics("/leases/source/lease/live").map_or("none", name),
            path => Route::except_metrics(path).map_or("none", name),
        };
        let mut listed: Vec<_> = paths().map(of).chain([name(Route::Resource(Resource::Metrics))]).collect();
        listed.sort_unstable();
        listed.dedup();
        let all = [
            "alive",
            "asset",
            "lease",
            "leases",
            "live",
            "metrics",
            "page of a lease",
            "page of leases",
            "probe",
            "reload",
        ];
        assert_eq!(listed, all);
    }

    #[test]
    fn a_query_selects_sources_and_other_parameters_are_ignored() {
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
            assert_eq!(selected_sources(query), chosen, "{query:?}");
        }
    }

    #[test]
    fn a_path_names_a_source_and_a_lease_with_any_characters() {
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
            assert_eq!(lease_name(path), named.map(|(source, lease)| (source.to_owned(), lease.to_owned())), "{path}");
        }
    }
}
