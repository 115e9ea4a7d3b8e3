//! Which path gives what.

use super::{lifecycle, probe, reply};
use crate::expose::page;

/// What a path gives to GET and HEAD.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route<'a> {
    Alive,
    /// Part of the program: its type, and it.
    Asset(&'static str, &'static str),
    /// What names the lease in the path: `source/lease`.
    Probe(&'a str),
    Shown(Shown<'a>),
}

/// What is made of a look at the sources.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shown<'a> {
    Metrics,
    LeasesPage,
    LeasePage,
    /// The main part of either page.
    Live,
    /// As JSON.
    Leases,
    /// As JSON: what names it in the path, `source/lease`.
    Lease(&'a str),
}

/// Every path of its own but that of the metrics, which is a setting.
const FIXED: [(&str, Route<'static>); 9] = [
    ("/", Route::Shown(Shown::LeasesPage)),
    ("/lease", Route::Shown(Shown::LeasePage)),
    ("/live", Route::Shown(Shown::Live)),
    ("/api/v1/leases", Route::Shown(Shown::Leases)),
    ("/-/healthy", Route::Alive),
    ("/-/ready", Route::Alive),
    ("/style.css", Route::Asset(reply::CSS, page::STYLE)),
    ("/live.js", Route::Asset(reply::SCRIPT, page::SCRIPT)),
    ("/favicon.ico", Route::Asset(reply::SVG, page::ICON)),
];

/// What stands before the names of a source and a lease.
const LEASE: &str = "/api/v1/leases/";

impl<'a> Route<'a> {
    /// Nothing, if there is nothing.
    pub(super) fn of(path: &'a str, telemetry_path: &str) -> Option<Self> {
        if path == telemetry_path { Some(Self::Shown(Shown::Metrics)) } else { Self::but_metrics(path) }
    }

    fn but_metrics(path: &'a str) -> Option<Self> {
        let fixed = FIXED.into_iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| route);
        fixed
            .or_else(|| path.strip_prefix(LEASE).map(|named| Self::Shown(Shown::Lease(named))))
            .or_else(|| probe::named(path).map(Self::Probe))
    }
}

/// Whether a path already gives something else than the metrics.
#[must_use]
pub fn is_taken(path: &str) -> bool {
    Route::but_metrics(path).is_some() || path == lifecycle::PATH
}

/// Everything that is served, as paths or what they begin with; but for the path of the metrics.
pub fn paths() -> impl Iterator<Item = &'static str> {
    let fixed = FIXED.into_iter().map(|(path, _)| path);
    fixed.chain([LEASE, lifecycle::PATH, probe::BEFORE])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new route has to be named here, and then be listed.
    const fn name(route: Route<'_>) -> &'static str {
        match route {
            Route::Alive => "alive",
            Route::Asset(..) => "asset",
            Route::Shown(Shown::Live) => "live",
            Route::Probe(_) => "probe",
            Route::Shown(Shown::Metrics) => "metrics",
            Route::Shown(Shown::LeasesPage) => "page of leases",
            Route::Shown(Shown::LeasePage) => "page of a lease",
            Route::Shown(Shown::Leases) => "leases",
            Route::Shown(Shown::Lease(_)) => "lease",
        }
    }

    #[test]
    fn every_route_is_listed_by_its_path() {
        let of = |path: &'static str| match path {
            lifecycle::PATH => "reload",
            // What begins with it has to end in something too.
            probe::BEFORE => Route::but_metrics("/leases/source/lease/live").map_or("none", name),
            path => Route::but_metrics(path).map_or("none", name),
        };
        let mut listed: Vec<_> = paths().map(of).chain([name(Route::Shown(Shown::Metrics))]).collect();
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
}
