//! Loads the configuration, and makes the observer of its sources.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser};

use super::Failure;
use crate::config::{Config, Families, Source};
use crate::expose::metrics::Exposition;
use crate::expose::{REQUIRED_BY_ALERTS, family_names};
use crate::lease::{SourceEvaluator, TokenKey};
use crate::observer::{Observer, SourceSetup};
use crate::store::{Scope, Store};

/// Parses a path. An empty path is accepted and stands for none: templates leave unset variables empty.
pub(super) fn file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The path, unless it is empty.
pub(super) fn non_empty(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| !path.as_os_str().is_empty())
}

/// The path of the configuration, which is required.
pub(super) fn required(path: Option<&Path>) -> Result<&Path, Failure> {
    non_empty(path).ok_or_else(|| {
        Failure::Configuration(
            "no configuration: name a file with --config.file=FILE, or run `lease-exporter demo` to see it at work"
                .to_owned(),
        )
    })
}

/// Reads and checks the configuration file.
pub(super) fn load_config(path: &Path) -> Result<Config, Failure> {
    let families: Vec<_> = family_names().collect();
    let families = Families { all: &families, of_alerts: &REQUIRED_BY_ALERTS };
    Config::load(path, families).map_err(|error| Failure::Configuration(error.to_string()))
}

/// An observer for a command that ends soon. If the configuration has no token key, a random key is used.
pub(super) fn temporary_observer(config: &Config) -> Result<Observer, Failure> {
    let key = match &config.token_key {
        Some(key) => key.clone(),
        None => random_key()?,
    };
    Ok(observer(config, &key))
}

/// An observer of all sources.
pub(super) fn observer(config: &Config, key: &TokenKey) -> Observer {
    Observer::new(exposition(config), config.sources.iter().map(|source| source_setup(source, key)).collect())
}

/// The metric families that are not dropped.
pub(super) fn exposition(config: &Config) -> Exposition {
    Exposition::without(|family| config.dropped.contains(family))
}

pub(super) fn random_key() -> Result<TokenKey, Failure> {
    random_bytes().map(|secret| TokenKey::new(&secret))
}

pub(super) fn random_bytes() -> Result<[u8; 32], Failure> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| Failure::System(format!("the system has no random bytes for a key: {error}")))?;
    Ok(secret)
}

/// The setup of a source. Nothing is opened yet.
pub(super) fn source_setup(source: &Source, key: &TokenKey) -> SourceSetup {
    SourceSetup {
        store: store(source),
        evaluator: SourceEvaluator::new(
            Arc::clone(&source.name),
            source.rules,
            key.clone(),
            Arc::clone(&source.policies),
        ),
        name: Arc::clone(&source.name),
        timeout: source.timeout,
        reuse_for: source.reuse_for,
    }
}

/// The store of a source. Nothing is opened yet.
#[must_use]
pub fn store(source: &Source) -> Box<dyn Store> {
    let scope = Scope { only_lease: Arc::clone(&source.name), max_leases: source.rules.max_leases };
    source.store.store(scope)
}
