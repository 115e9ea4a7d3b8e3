//! The entries of `leases`: the policies of leases, and the leases that are expected.

use std::sync::Arc;

use crate::lease::{Policies, Policy};
use crate::store::section::Text;

use super::limits::{alerts, overridden};
use super::name_pattern::NamePattern;
use super::problem::{Diagnostics, Problem};
use super::raw::RawLease;
use crate::diagnostic::QuotedValue;

/// Every entry, in the order of the file.
#[derive(Debug)]
pub(super) struct LeaseEntries {
    entries: Vec<Entry>,
    otherwise: Arc<Policy>,
}

#[derive(Debug)]
struct Entry {
    line: u64,
    /// The indexes of the sources that it applies to.
    sources: Vec<usize>,
    /// Whether the source is left out or has no wildcards. Then a lease without wildcards is expected in each source.
    names_sources: bool,
    lease: NamePattern,
    policy: Arc<Policy>,
}

impl LeaseEntries {
    /// Compiles the entries. `sources` has the names of all sources, also of invalid ones, so that a problem with a source
    /// causes no further problems here.
    pub(super) fn compile(
        raw: &[serde_saphyr::Spanned<RawLease>],
        sources: &[&str],
        defaults: Policy,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut compiled = Self { entries: Vec::with_capacity(raw.len()), otherwise: Arc::new(defaults) };
        for entry in raw {
            let line = entry.referenced.line();
            let policy = overridden(defaults, entry.value.limits(), diagnostics);
            let policy = Policy { alerts: alerts(&entry.value.alerts, diagnostics), ..policy };
            let Some(matches) = &entry.value.matches else {
                diagnostics.note(line, Problem::Missing("match"));
                continue;
            };
            let source = pattern("source", matches.source.as_ref(), diagnostics);
            let lease = pattern("lease", matches.lease.as_ref(), diagnostics);
            let (Some(source), Some(lease)) = (source, lease) else { continue };
            let matching: Vec<usize> = (0..sources.len()).filter(|at| source.matches(sources[*at])).collect();
            if let (true, Some(text)) = (matching.is_empty(), &matches.source) {
                let named = sources.iter().filter(|name| !name.is_empty());
                let known = named.map(|name| QuotedValue::new(name).to_string()).collect::<Vec<_>>().join(", ");
                let value = QuotedValue::new(&text.value);
                diagnostics.note(text.referenced.line(), Problem::NoSuchSource { value, known });
                continue;
            }
            let entry = Entry {
                line,
                sources: matching,
                names_sources: matches.source.is_none() || source.exact().is_some(),
                lease,
                policy: Arc::new(policy),
            };
            match compiled.hides(&entry) {
                Some(earlier) => diagnostics.note(line, Problem::NeverApplies { earlier }),
                None => compiled.entries.push(entry),
            }
        }
        compiled
    }

    /// The line of the last earlier entry that hides this entry; `None` if it applies in some source.
    fn hides(&self, entry: &Entry) -> Option<u64> {
        let hidden_in = |source: &usize| {
            self.entries.iter().find(|earlier| earlier.sources.contains(source) && earlier.lease.covers(&entry.lease))
        };
        let mut earlier = None;
        for source in &entry.sources {
            earlier = Some(hidden_in(source)?.line);
        }
        earlier
    }

    /// The policies of the source with this index.
    pub(super) fn of_source(&self, source: usize) -> SourcePolicies {
        let entries = self.entries.iter().filter(|entry| entry.sources.contains(&source));
        let expected = entries.clone().filter(|entry| entry.names_sources);
        SourcePolicies {
            expected: expected.filter_map(|entry| entry.lease.exact().map(Arc::from)).collect(),
            entries: entries.map(|entry| (entry.lease.clone(), Arc::clone(&entry.policy))).collect(),
            otherwise: Arc::clone(&self.otherwise),
        }
    }
}

/// A pattern that is left out matches every name. `None` if there is a problem, which is noted.
fn pattern(key: &'static str, given: Option<&Text>, diagnostics: &mut Diagnostics) -> Option<NamePattern> {
    let Some(text) = given else { return Some(NamePattern::any()) };
    let glob = NamePattern::new(&text.value).map_err(|fault| Problem::Pattern { key, fault });
    diagnostics.keep(text.referenced.line(), glob)
}

/// The policies of one source: the first entry that matches a lease's name is its policy.
#[derive(Clone, Debug)]
pub struct SourcePolicies {
    entries: Vec<(NamePattern, Arc<Policy>)>,
    otherwise: Arc<Policy>,
    expected: Vec<Arc<str>>,
}

impl SourcePolicies {
    /// The same policies, with one more expected lease.
    pub(super) fn expecting(mut self, lease: Arc<str>) -> Self {
        if !self.expected.contains(&lease) {
            self.expected.push(lease);
        }
        self
    }
}

impl Policies for SourcePolicies {
    fn policy(&self, lease: &str) -> Arc<Policy> {
        let matching = self.entries.iter().find(|(glob, _)| glob.matches(lease));
        Arc::clone(matching.map_or(&self.otherwise, |(_, policy)| policy))
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        self.expected.clone()
    }
}
