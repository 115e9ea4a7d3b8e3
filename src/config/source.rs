//! One source: a store, what to read there, and how.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::lease::{Clock, Kind, Policies, Rules};
use crate::preset::{Dialect, Preset};

use super::access::{Access, Question, Reads};
use super::address::Address;
use super::clock;
use super::duration::{DurationFault, Zero, duration};
use super::keys::layout;
use super::limits::length;
use super::parameters;
use super::policies::SourcePolicies;
use super::problem::{Diagnostics, Problem};
use super::raw::{RawSource, Text};
use crate::diagnostic::QuotedValue;
use crate::store::Statement;
use crate::suggestion::similar_names;

/// One place to read.
#[derive(Clone)]
pub struct Source {
    /// Its name: the label `source`.
    pub name: Arc<str>,
    /// Where it is, and what to read there.
    pub store: Reads,
    /// Where that comes from, and so whose mistake it is if it does not fit.
    pub origin: Origin,
    /// What holds for all its leases.
    pub rules: Rules,
    /// How long a reading may take.
    pub timeout: Duration,
    /// For how long scrapes share one reading; zero for never.
    pub reuse_for: Duration,
    /// The limits of each lease.
    pub policies: Arc<dyn Policies>,
}

/// Where a source's statement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The preset of this name.
    Preset(&'static str),
    /// The configuration, as a query.
    Query,
    /// The configuration, as keys.
    Keys,
}

impl Source {
    /// The default of `timeout`.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// The default of `reuse_for`.
    pub const REUSE_FOR: Duration = Duration::from_secs(1);
    /// The most that `reuse_for` may be. A usual scrape interval: what is older is no longer what a scrape asks for.
    pub const MOST_REUSE: Duration = Duration::from_secs(60);
    /// A time to live that is left is told to the millisecond, from when the server comes to tell it.
    pub const RESOLUTION_OF_KEYS: Duration = Duration::from_millis(20);
    /// The most that `max_leases` may be.
    pub const MOST_LEASES: usize = 1_000_000;

    /// Checks a source; takes note of all that is wrong with it, and gives it if nothing is.
    pub(super) fn new(
        raw: &RawSource,
        line: u64,
        policies: SourcePolicies,
        base_dir: &Path,
        faults: &mut Diagnostics,
    ) -> Option<Self> {
        let name = required("name", raw.name.as_ref(), line, faults).and_then(|text| name(text, faults));
        let address = required("store", raw.store.as_ref(), line, faults)
            .and_then(|text| faults.keep(text.referenced.line(), Address::parse(&text.value, base_dir)));
        let read = Read::new(raw, line, address.as_ref(), faults);
        let access = address.as_ref().and_then(|address| Access::new(raw, address, base_dir, faults));
        let timeout = length("timeout", raw.timeout.as_ref(), Zero::Refused, faults);
        let clock_skew = length("clock_skew", raw.clock_skew.as_ref(), Zero::Refused, faults);
        let reuse_for = raw.reuse_for.as_ref().and_then(|text| reuse_for(text, faults));
        let max_leases = raw.max_leases.as_ref().and_then(|text| max_leases(text, faults));
        let read = read?;
        let resolution = match &read.question {
            Question::Statement(_) => Duration::ZERO,
            Question::Keys(_) => Self::RESOLUTION_OF_KEYS,
        };
        let name = name?;
        let policies = match read.only_lease(&name) {
            Some(lease) => policies.expecting(lease),
            None => policies,
        };
        Some(Self {
            name,
            store: Reads::new(address?, access?, read.question)?,
            origin: read.origin,
            rules: Rules {
                kind: read.kind,
                clock: read.clock,
                clock_skew: clock_skew.unwrap_or(Rules::CLOCK_SKEW),
                max_leases: max_leases.unwrap_or(Rules::MAX_LEASES),
                resolution,
            },
            timeout: timeout.unwrap_or(Self::TIMEOUT),
            reuse_for: reuse_for.unwrap_or(Self::REUSE_FOR),
            policies: Arc::new(policies),
        })
    }
}

impl Source {
    /// Whether what was learnt of this source holds for another of the same name: the same is read at the same place, by
    /// the same rules. How long it may take, and what limits leases have, changes nothing of what they did.
    #[must_use]
    pub fn is_read_like(&self, other: &Self) -> bool {
        self.store == other.store && self.rules == other.rules
    }
}

/// A query may hold anything, so it is left out.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("store", &self.store)
            .field("origin", &self.origin)
            .field("rules", &self.rules)
            .field("timeout", &self.timeout)
            .field("reuse_for", &self.reuse_for)
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

/// What to read.
struct Read {
    question: Question,
    origin: Origin,
    kind: Kind,
    clock: Clock,
}

impl Read {
    fn new(raw: &RawSource, line: u64, address: Option<&Address>, faults: &mut Diagnostics) -> Option<Self> {
        let dialect = address.map(Address::dialect);
        let is_keys = dialect == Some(Dialect::Redis);
        let other = |key, instead| Problem::OtherLanguage { key, store: dialect.map_or("", Dialect::as_str), instead };
        let (line, problem) = match (&raw.preset, &raw.query, &raw.keys) {
            (Some(preset), None, None) => return Self::by_preset(preset, raw, line, address, faults),
            (None, Some(query), None) if !is_keys => return Self::by_query(query, raw, dialect, faults),
            (None, None, Some(keys)) if is_keys || dialect.is_none() => {
                let (layout, times) = (layout(keys, faults), Self::times(raw, faults));
                let (question, (kind, clock)) = (Question::Keys(layout?), times?);
                return Some(Self { question, origin: Origin::Keys, kind, clock });
            }
            (None, None, None) if is_keys => (line, Problem::NoKeys),
            (None, None, None) => (line, Problem::NothingToRead),
            (Some(_), Some(query), _) => (query.referenced.line(), Problem::ReadTwice),
            (Some(_), None, Some(keys)) => (keys.referenced.line(), Problem::PresetAndKeys),
            (None, Some(query), _) if is_keys => (query.referenced.line(), other("query", "keys")),
            (None, _, Some(keys)) => (keys.referenced.line(), other("keys", "query")),
            (None, Some(_), None) => return None,
        };
        faults.note(line, problem);
        None
    }

    fn by_preset(
        text: &Text,
        raw: &RawSource,
        line: u64,
        address: Option<&Address>,
        faults: &mut Diagnostics,
    ) -> Option<Self> {
        let preset = faults.keep(text.referenced.line(), preset(&text.value))?;
        for (key, value, given) in
            [("kind", preset.kind.as_str(), &raw.kind), ("clock", preset.clock.as_str(), &raw.clock)]
        {
            if let Some(given) = given {
                faults.note(given.referenced.line(), Problem::FixedByPreset { preset: preset.name(), key, value });
            }
        }
        let dialect = address?.dialect();
        if !preset.dialects().any(|read| read == dialect) {
            let reads = preset.dialects().map(|dialect| dialect.as_str()).collect::<Vec<_>>().join(", ");
            let problem = Problem::Dialect { preset: preset.name(), store: dialect.as_str(), reads };
            faults.note(text.referenced.line(), problem);
            return None;
        }
        let filled = parameters::filled(preset, dialect, &raw.parameters, line, faults)?;
        let question = match filled.layout(dialect) {
            Some(layout) => Question::Keys(layout),
            None => Question::Statement(filled.statement(dialect)?),
        };
        Some(Self { question, origin: Origin::Preset(preset.name()), kind: preset.kind, clock: preset.clock })
    }

    /// The only lease of a source of this name, where it is known before the first look. A query may or may not have a
    /// column of names.
    fn only_lease(&self, source: &Arc<str>) -> Option<Arc<str>> {
        match (&self.question, self.origin) {
            (Question::Keys(layout), _) => (!layout.has_many_leases()).then(|| Arc::clone(source)),
            (_, Origin::Preset(name)) => Preset::named(name)?.lease.clone(),
            (_, Origin::Query | Origin::Keys) => None,
        }
    }

    /// What holding a lease means, and whose clock wrote its times.
    fn times(raw: &RawSource, faults: &mut Diagnostics) -> Option<(Kind, Clock)> {
        let kind =
            choice("kind", raw.kind.as_ref(), Kind::Standing, Kind::ALL.map(|kind| (kind.as_str(), kind)), faults);
        let clock =
            choice("clock", raw.clock.as_ref(), Clock::Store, Clock::ALL.map(|clock| (clock.as_str(), clock)), faults);
        parameters::note_without_preset(&raw.parameters, faults);
        Some((kind?, clock?))
    }

    fn by_query(query: &Text, raw: &RawSource, dialect: Option<Dialect>, faults: &mut Diagnostics) -> Option<Self> {
        let times = Self::times(raw, faults);
        if query.value.trim().is_empty() {
            faults.note(query.referenced.line(), Problem::Query);
            return None;
        }
        if let (Some(Dialect::Postgres), Some(clock)) = (dialect, clock::of_transaction(&query.value)) {
            faults.warn(query.referenced.line(), clock::Warning(clock));
        }
        let question = Question::Statement(Statement::Fixed(query.value.as_str().into()));
        let (kind, clock) = times?;
        Some(Self { question, origin: Origin::Query, kind, clock })
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

fn required<'a>(key: &'static str, given: Option<&'a Text>, line: u64, faults: &mut Diagnostics) -> Option<&'a Text> {
    if given.is_none() {
        faults.note(line, Problem::Missing(key));
    }
    given
}

fn name(text: &Text, faults: &mut Diagnostics) -> Option<Arc<str>> {
    let fits = (1..=100).contains(&text.value.len())
        && text.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let name = if fits { Ok(text.value.as_str().into()) } else { Err(Problem::Name(QuotedValue::new(&text.value))) };
    faults.keep(text.referenced.line(), name)
}

/// One of a closed set; the default if none is given.
fn choice<T: Copy, const N: usize>(
    key: &'static str,
    given: Option<&Text>,
    default: T,
    known: [(&'static str, T); N],
    faults: &mut Diagnostics,
) -> Option<T> {
    let Some(text) = given else { return Some(default) };
    let found = known.iter().find(|(word, _)| *word == text.value).map(|(_, value)| *value);
    let names = match key {
        "kind" => "`standing`, `registry` or `claim`",
        _ => "`store` or `holder`",
    };
    let problem = || Problem::Choice { key, value: QuotedValue::new(&text.value), known: names };
    faults.keep(text.referenced.line(), found.ok_or_else(problem))
}

fn reuse_for(text: &Text, faults: &mut Diagnostics) -> Option<Duration> {
    let read = match duration(&text.value, Zero::Allowed) {
        // The limit that counts here is the lower one.
        Err(DurationFault::TooLong) => Err(DurationFault::TooOld),
        Ok(length) if length > Source::MOST_REUSE => Err(DurationFault::TooOld),
        read => read,
    };
    let problem = |fault| Problem::Duration { key: "reuse_for", value: QuotedValue::new(&text.value), fault };
    faults.keep(text.referenced.line(), read.map_err(problem))
}

fn max_leases(text: &Text, faults: &mut Diagnostics) -> Option<usize> {
    let number = text.value.parse().ok().filter(|number| (1..=Source::MOST_LEASES).contains(number));
    let problem =
        || Problem::Number { key: "max_leases", value: QuotedValue::new(&text.value), most: Source::MOST_LEASES };
    faults.keep(text.referenced.line(), number.ok_or_else(problem))
}
