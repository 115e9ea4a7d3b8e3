//! One source: a store, what to read there, and how.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::limits::length;
use super::parameters;
use super::policies::SourcePolicies;
use super::problem::{Diagnostics, Problem, with_article};
use super::raw::{RawSource, is_common};
use crate::diagnostic::QuotedValue;
use crate::duration::{DurationFault, Zero, duration};
use crate::lease::{Clock, LeaseKind, Policies, Rules};
use crate::preset::Preset;
use crate::store::kind::{StoreConfig, StoreKind};
use crate::store::kinds::{self, KINDS};
use crate::store::query::Query;
use crate::store::section::{Node, Section, StoreDiagnostics, StoreSection, Text, line};
use crate::suggestion::similar_names;

/// One store to read, and how.
#[derive(Clone)]
pub struct Source {
    /// The name: the label `source`.
    pub name: Arc<str>,
    /// The store and what to read there.
    pub store: Arc<dyn StoreConfig>,
    /// Where the query comes from.
    pub origin: Origin,
    /// The rules for all its leases.
    pub rules: Rules,
    /// How long a reading may take.
    pub timeout: Duration,
    /// For how long scrapes share one reading; zero for never.
    pub reuse_for: Duration,
    /// The limits of each lease.
    pub policies: Arc<dyn Policies>,
}

/// Where the query of a source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The preset of this name.
    Preset(&'static str),
    /// This key of the configuration.
    Key(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::Key(key) => f.write_str(&with_article(key).replace('`', "")),
        }
    }
}

impl Source {
    /// The default of `timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// The default of `reuse_for`.
    pub const REUSE_FOR: Duration = Duration::from_secs(1);
    /// The maximum of `reuse_for`: a usual scrape interval.
    pub const MAX_REUSE: Duration = Duration::from_secs(60);
    /// The maximum of `max_leases`.
    pub const MAX_LEASES: usize = 1_000_000;

    /// Checks a source. `None` if there is a problem, which is noted.
    pub(super) fn new(
        raw: &Spanned<RawSource>,
        policies: SourcePolicies,
        base_dir: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let (keys, at) = (&raw.value.0, raw.referenced.line());
        let name = required("name", keys, at, diagnostics).and_then(|text| name(text, diagnostics));
        let address = required("store", keys, at, diagnostics);
        let kind = address.and_then(|text| diagnostics.keep(line(text), kinds::of_address(&text.value)));
        let (query, facts) = QueryReader { keys, at, kind, diagnostics: &mut *diagnostics }.read().unzip();
        let has_one_lease = query.as_ref().is_some_and(|query| query.has_one_lease());
        let resolution = query.as_ref().map_or(Duration::ZERO, |query| query.resolution());
        let store = address.zip(kind).and_then(|(address, kind)| {
            note_keys_of_other_stores(keys, at, kind, diagnostics);
            let mut noted = StoreDiagnostics::default();
            let section = &mut StoreSection { address, keys, line: at, base_dir, diagnostics: &mut noted };
            let store = kind.configure(section, query);
            diagnostics.append(noted);
            store
        });
        let timeout = length("timeout", keys.text("timeout"), Zero::Refused, diagnostics);
        let clock_skew = length("clock_skew", keys.text("clock_skew"), Zero::Refused, diagnostics);
        let reuse_for = keys.text("reuse_for").and_then(|text| reuse_for(text, diagnostics));
        let max_leases = keys.text("max_leases").and_then(|text| max_leases(text, diagnostics));
        let (name, facts) = (name?, facts?);
        let lease = if has_one_lease { Some(Arc::clone(&name)) } else { facts.lease };
        Some(Self {
            policies: Arc::new(match lease {
                Some(lease) => policies.expecting(lease),
                None => policies,
            }),
            name,
            store: store?,
            origin: facts.origin,
            rules: Rules {
                kind: facts.kind,
                clock: facts.clock,
                clock_skew: clock_skew.unwrap_or(Rules::CLOCK_SKEW),
                max_leases: max_leases.unwrap_or(Rules::MAX_LEASES),
                resolution,
            },
            timeout: timeout.unwrap_or(Self::TIMEOUT),
            reuse_for: reuse_for.unwrap_or(Self::REUSE_FOR),
        })
    }

    /// Whether what was learned about this source holds for another source of the same name: both read the same store in
    /// the same way, by the same rules. Timeouts and the limits of leases may differ.
    #[must_use]
    pub fn is_read_like(&self, other: &Self) -> bool {
        *self.store == *other.store && self.rules == other.rules
    }
}

/// Leaves out the query, which can contain anything.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("store", &format_args!("{}", self.store))
            .field("origin", &self.origin)
            .field("rules", &self.rules)
            .field("timeout", &self.timeout)
            .field("reuse_for", &self.reuse_for)
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

/// The properties of the leases of a source.
struct LeaseFacts {
    origin: Origin,
    kind: LeaseKind,
    clock: Clock,
    /// The name of the only lease, if a preset gives it.
    lease: Option<Arc<str>>,
}

/// Reads the query of a source.
struct QueryReader<'a> {
    keys: &'a Section,
    /// The line of the source.
    at: u64,
    /// `None` if there is a problem with the address.
    kind: Option<&'static dyn StoreKind>,
    diagnostics: &'a mut Diagnostics,
}

type QueryAndFacts = (Box<dyn Query>, LeaseFacts);

impl QueryReader<'_> {
    /// The query of the source: its preset's, or the one under the query key of its kind of store.
    fn read(&mut self) -> Option<QueryAndFacts> {
        let of_key = |key: &str| KINDS.iter().copied().find(|kind| kind.query_key().name == key);
        let given = self.keys.entries().filter_map(|(key, node)| Some((of_key(key)?, node.clone())));
        let given: Vec<(&dyn StoreKind, Node)> = given.collect();
        if let Some(preset) = self.keys.text("preset").cloned() {
            let Some((other, node)) = given.first() else { return self.of_preset(&preset) };
            self.note(node, Problem::PresetAndQuery(other.query_key().name));
            return None;
        }
        let is_own =
            |other: &dyn StoreKind| self.kind.is_none_or(|kind| kind.query_key().name == other.query_key().name);
        let (own, others): (Vec<_>, Vec<_>) = given.iter().partition(|(other, _)| is_own(*other));
        for (other, node) in others {
            let (store, instead) = self.kind.map_or(("", ""), |kind| (kind.name(), kind.query_key().name));
            self.note(node, Problem::QueryOfOtherStore { key: other.query_key().name, store, instead });
        }
        if given.is_empty() && kinds::left_out_keys().all(|key| self.keys.get(key.name).is_none()) {
            let kind = self.kind.unwrap_or(KINDS[0]);
            self.diagnostics.note(self.at, Problem::NoQuery(kind.query_key().name));
        }
        let (other, node) = own.first()?;
        self.of_own(self.kind.unwrap_or(*other), node)
    }

    fn of_preset(&mut self, text: &Text) -> Option<QueryAndFacts> {
        let preset = self.diagnostics.keep(line(text), preset(&text.value))?;
        for (key, value) in [("kind", preset.kind.as_str()), ("clock", preset.clock.as_str())] {
            if let Some(given) = self.keys.text(key) {
                let problem = Problem::FixedByPreset { preset: preset.name(), key, value };
                self.diagnostics.note(line(given), problem);
            }
        }
        let store = self.kind?.name();
        if !preset.stores().any(|read| read == store) {
            let reads = preset.stores().collect::<Vec<_>>().join(", ");
            self.diagnostics.note(line(text), Problem::PresetOfOtherStore { preset: preset.name(), store, reads });
            return None;
        }
        let given = self.keys.section("parameters");
        let query = parameters::filled(preset, store, given, self.at, self.diagnostics)?.query(store)?;
        let origin = Origin::Preset(preset.name());
        Some((query, LeaseFacts { origin, kind: preset.kind, clock: preset.clock, lease: preset.lease.clone() }))
    }

    /// The query under the query key of this kind of store.
    fn of_own(&mut self, store: &dyn StoreKind, node: &Node) -> Option<QueryAndFacts> {
        let (kinds, clocks) =
            (LeaseKind::ALL.map(|kind| (kind.as_str(), kind)), Clock::ALL.map(|clock| (clock.as_str(), clock)));
        let kind = choice("kind", self.keys.text("kind"), LeaseKind::Standing, kinds, self.diagnostics);
        let clock = choice("clock", self.keys.text("clock"), Clock::Store, clocks, self.diagnostics);
        if let Some(at) = self.keys.get("parameters").and_then(Node::line) {
            self.diagnostics.note(at, Problem::ParametersOfQuery);
        }
        let mut noted = StoreDiagnostics::default();
        let query = store.query(node, self.at, &mut noted);
        self.diagnostics.append(noted);
        let origin = Origin::Key(store.query_key().name);
        Some((query?, LeaseFacts { origin, kind: kind?, clock: clock?, lease: None }))
    }

    fn note(&mut self, node: &Node, problem: Problem) {
        self.diagnostics.note(node.line().unwrap_or(self.at), problem);
    }
}

/// Notes the keys that its kind of store does not declare.
fn note_keys_of_other_stores(keys: &Section, at: u64, kind: &dyn StoreKind, diagnostics: &mut Diagnostics) {
    let is_query = |key: &str| KINDS.iter().any(|kind| kind.query_key().name == key);
    for (key, node) in keys.entries().filter(|(key, _)| !is_common(key) && !is_query(key)) {
        if !kind.keys().iter().any(|own| own.name == key) {
            let problem = Problem::KeyOfOtherStore { key: key.to_owned(), store: kind.name() };
            diagnostics.note(node.line().unwrap_or(at), problem);
        }
    }
}

fn preset(name: &str) -> Result<&'static Preset, Problem> {
    Preset::named(name).ok_or_else(|| {
        let names = || Preset::all().iter().map(Preset::name);
        let close = similar_names(name, names());
        let known = if close.is_empty() { names().collect() } else { close }.join(", ");
        Problem::Preset { value: QuotedValue::new(name), known }
    })
}

fn required<'a>(key: &'static str, keys: &'a Section, at: u64, diagnostics: &mut Diagnostics) -> Option<&'a Text> {
    let given = keys.text(key);
    if given.is_none() {
        diagnostics.note(at, Problem::Missing(key));
    }
    given
}

fn name(text: &Text, diagnostics: &mut Diagnostics) -> Option<Arc<str>> {
    let fits = (1..=100).contains(&text.value.len())
        && text.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let name = if fits { Ok(text.value.as_str().into()) } else { Err(Problem::Name(QuotedValue::new(&text.value))) };
    diagnostics.keep(line(text), name)
}

/// One of a fixed set of words; the default if there is no text.
fn choice<T: Copy, const N: usize>(
    key: &'static str,
    given: Option<&Text>,
    default: T,
    known: [(&'static str, T); N],
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    let Some(text) = given else { return Some(default) };
    let found = known.iter().find(|(word, _)| *word == text.value).map(|(_, value)| *value);
    let names = match key {
        "kind" => "`standing`, `registry` or `claim`",
        _ => "`store` or `holder`",
    };
    let problem = || Problem::Choice { key, value: QuotedValue::new(&text.value), known: names };
    diagnostics.keep(line(text), found.ok_or_else(problem))
}

fn reuse_for(text: &Text, diagnostics: &mut Diagnostics) -> Option<Duration> {
    let read = match duration(&text.value, Zero::Allowed) {
        // The limit of `reuse_for` is lower than that of durations.
        Err(DurationFault::TooLong) => Err(DurationFault::TooOld),
        Ok(length) if length > Source::MAX_REUSE => Err(DurationFault::TooOld),
        read => read,
    };
    let problem = |fault| Problem::Duration { key: "reuse_for", value: QuotedValue::new(&text.value), fault };
    diagnostics.keep(line(text), read.map_err(problem))
}

fn max_leases(text: &Text, diagnostics: &mut Diagnostics) -> Option<usize> {
    let number = text.value.parse().ok().filter(|number| (1..=Source::MAX_LEASES).contains(number));
    let problem =
        || Problem::Number { key: "max_leases", value: QuotedValue::new(&text.value), most: Source::MAX_LEASES };
    diagnostics.keep(line(text), number.ok_or_else(problem))
}
