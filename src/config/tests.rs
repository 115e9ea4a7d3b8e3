use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::preset::Preset;
use crate::store::sqlite::SqliteFile;

use super::{Config, ConfigError, Families, Origin, Source};
use crate::fixtures::{assert_expected, fixtures};
use crate::lease::{Alert, Clock, LeaseKind, Policy, Rules, Work};

const FAMILIES: Families<'_> = Families {
    all: &["lease_state", "lease_held_seconds", "lease_holders", "lease_epoch"],
    of_alerts: &["lease_state", "lease_held_seconds", "lease_epoch"],
};
const CANARY: &str = "planted";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config")
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, "config.yml", &folder(), FAMILIES)
}

/// A file with one source and these lines after it.
fn with(lines: &str) -> Config {
    parse(&format!("sources: [{{name: documents, store: 'sqlite://d.db', preset: reference}}]\n{lines}")).unwrap()
}

fn source(config: &Config, name: &str) -> Source {
    config.sources.iter().find(|source| *source.name == *name).unwrap().clone()
}

#[test]
fn every_good_file_is_taken() {
    for path in fixtures("config", "good-") {
        if let Err(error) = Config::load(&path, FAMILIES) {
            panic!("{error}");
        }
    }
}

/// With `UPDATE_GOLDEN=1` the expected texts are written anew.
#[test]
fn every_bad_file_is_refused_with_the_text_beside_it_and_no_secret() {
    for path in fixtures("config", "bad-") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let error = Config::parse(&text, name, &folder(), FAMILIES).expect_err(name);
        let shown = format!("{error}\n");
        assert!(!format!("{shown}{error:?}").contains(CANARY), "{name} repeats a secret: {shown}");
        assert!(error.problems().iter().all(|found| !found.problem.to_string().is_empty()));
        assert_expected(&path, &shown);
    }
}

#[test]
fn keys_that_are_left_out_have_their_defaults() {
    let config = Config::load(&folder().join("good-minimal.yml"), FAMILIES).unwrap();
    assert!(config.token_key.is_none() && config.dropped.is_empty());
    let source = source(&config, "documents");
    let reference = Preset::named("reference").unwrap().query_text("sqlite").unwrap().into();
    let file = SqliteFile { path: "/var/lib/documents/scheduler.db".into(), sql: reference };
    assert_eq!(source.store.downcast_ref(), Some(&file));
    assert_eq!(source.origin, Origin::Preset("reference"));
    let rules = Rules {
        kind: LeaseKind::Standing,
        clock: Clock::Store,
        clock_skew: Duration::from_secs(2),
        max_leases: 10_000,
        resolution: Duration::ZERO,
    };
    assert_eq!(source.rules, rules);
    assert_eq!((source.timeout, source.reuse_for), (Duration::from_secs(5), Duration::from_secs(1)));
    assert_eq!(*source.policies.policy("anything"), Policy::default());
    assert!(source.policies.expected_leases().is_empty());
}

#[test]
fn everything_given_arrives() {
    let config = Config::load(&folder().join("good-full.yml"), FAMILIES).unwrap();
    assert_eq!(config.dropped.iter().collect::<Vec<_>>(), ["lease_holders"]);
    let key = crate::lease::TokenKey::new(b"a fixture and no secret of anyone");
    assert_eq!(config.token_key.as_ref().map(|key| key.token("h")), Some(key.token("h")));

    let documents = source(&config, "documents");
    assert_eq!((documents.timeout, documents.reuse_for), (Duration::from_secs(3), Duration::ZERO));
    assert_eq!((documents.rules.clock_skew, documents.rules.max_leases), (Duration::from_millis(500), 200));

    let jobs = source(&config, "jobs.eu-1");
    let SqliteFile { path, sql } = jobs.store.downcast_ref().unwrap();
    assert_eq!(*path, folder().join("beside/jobs.db"));
    assert_eq!(
        (jobs.origin, jobs.rules.kind, jobs.rules.clock),
        (Origin::Key("query"), LeaseKind::Claim, Clock::Holder)
    );
    assert!(sql.starts_with("SELECT unixepoch()"));
}

#[test]
fn the_first_entry_that_matches_is_the_policy_and_takes_the_rest_from_the_defaults() {
    let config = Config::load(&folder().join("good-full.yml"), FAMILIES).unwrap();
    let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
    let defaults = Policy {
        stall_after: 10 * minute,
        overdue_after: Some(hour),
        work: Work::Cadence(5 * minute),
        ..Policy::default()
    };
    let documents = source(&config, "documents").policies;
    let daily = Policy {
        stall_after: 15 * minute,
        work: Work::Cadence(24 * hour),
        alerts: [Alert::NoLeader, Alert::WorkStalled].into_iter().collect(),
        ..defaults
    };
    assert_eq!(*documents.policy("retention-daily"), daily);
    assert_eq!(*documents.policy("retention-weekly"), Policy { work: Work::Continuous, ..defaults });
    assert_eq!(*documents.policy("nightly"), defaults);
    assert!(
        Arc::ptr_eq(&documents.policy("retention-a"), &documents.policy("retention-b")),
        "one policy for all of an entry"
    );

    let jobs = source(&config, "jobs.eu-1").policies;
    assert_eq!(*jobs.policy("nightly"), Policy { stall_after: 90 * minute, ..defaults });
    assert_eq!(*jobs.policy("retention-daily"), defaults);
}

#[test]
fn a_lease_named_in_full_is_expected_in_each_source_left_open_or_named() {
    let config = Config::load(&folder().join("good-full.yml"), FAMILIES).unwrap();
    let expected = |name| source(&config, name).policies.expected_leases();
    assert_eq!(expected("documents"), ["retention-daily".into(), "billing".into()] as [Arc<str>; 2]);
    assert_eq!(expected("jobs.eu-1"), ["billing".into()] as [Arc<str>; 1]);
}

#[test]
fn an_entry_hidden_only_in_some_sources_still_applies_in_the_others() {
    let config = parse(
        "sources:\n\
         - {name: a, store: 'sqlite://a.db', preset: reference}\n\
         - {name: b, store: 'sqlite://b.db', preset: reference}\n\
         leases:\n\
         - {match: {source: a}, stall_after: 1m}\n\
         - {match: {lease: x}, stall_after: 2m}\n",
    )
    .unwrap();
    let stall_after = |name| source(&config, name).policies.policy("x").stall_after;
    assert_eq!((stall_after("a"), stall_after("b")), (Duration::from_secs(60), Duration::from_secs(120)));
}

#[test]
fn an_entry_may_say_of_work_what_the_defaults_do_not() {
    let config = with("defaults: {work: continuous}\nleases: [{match: {lease: a}, cadence: 5m}]\n");
    let policies = source(&config, "documents").policies;
    assert_eq!(policies.policy("a").work, Work::Cadence(Duration::from_secs(300)));
    assert_eq!(policies.policy("b").work, Work::Continuous);
}

#[test]
fn the_debug_text_of_a_configuration_has_no_path_no_query_and_no_key() {
    let config = Config::load(&folder().join("good-full.yml"), FAMILIES).unwrap();
    let printed = format!("{config:?}");
    for hidden in ["scheduler.db", "jobs.db", "unixepoch", "fixture", "/var/lib"] {
        assert!(!printed.contains(hidden), "{hidden} in {printed}");
    }
}

#[test]
fn a_file_that_is_not_there_or_not_text_is_named_as_given() {
    let error = Config::load(Path::new("nowhere/lease.yml"), FAMILIES).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("nowhere/lease.yml: there is no such file; a relative path starts at the working"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yml");
    std::fs::write(&path, b"sources: \xff").unwrap();
    assert!(Config::load(&path, FAMILIES).unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn a_file_with_thousands_of_entries_is_read() {
    let entries: String = (0..5_000).map(|n| format!("- {{match: {{lease: lease-{n}}}, stall_after: 1m}}\n")).collect();
    let config = with(&format!("leases:\n{entries}"));
    assert_eq!(source(&config, "documents").policies.expected_leases().len(), 5_000);
}

/// Every line of the longest good file, once with its value replaced by a secret and once with a secret put before it:
/// whatever error follows must not repeat it.
#[test]
fn no_error_repeats_a_secret_wherever_in_the_file_it_stands() {
    let text = std::fs::read_to_string(folder().join("good-full.yml")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let secrets =
        ["postgres://u:planted@h/db", "'h?password=planted'", "[planted@h]", "{planted: planted=1}", "\"planted://"];
    for at in 0..lines.len() {
        let key = lines[at].split_once(':').map_or(lines[at], |(key, _)| key);
        let indent = lines[at].len() - lines[at].trim_start().len();
        for secret in secrets {
            for line in [format!("{key}: {secret}"), format!("{}{secret}\n{}", " ".repeat(indent), lines[at])] {
                let text = [&lines[..at], &[&line], &lines[at + 1..]].concat().join("\n");
                if let Err(error) = parse(&text) {
                    let shown = error.to_string().replace("unknown key `planted`", "");
                    assert!(!shown.contains(CANARY), "{line}: {shown}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_value_anywhere_is_taken_or_refused_without_a_panic(
        key in "(sources|leases|defaults|metrics|token_key_file|match|name|store|timeout)",
        value in "[ -~\\n]{0,60}",
    ) {
        let _ = parse(&format!("{key}: {value}"));
        let _ = parse(&format!("sources: [{{{key}: {value}}}]"));
        let _ = parse(&format!("sources:\n- {key}: {value}\n"));
    }

    #[test]
    fn any_length_of_time_is_taken_or_refused_without_a_panic(text in "[0-9]{0,25} ?[a-zA-Zµ]{0,3}\\PC{0,6}") {
        let _ = crate::duration::duration(&text, crate::duration::Zero::Allowed);
    }
}

#[test]
#[cfg(all(feature = "postgres", feature = "mysql"))]
fn a_server_is_reached_over_tls_unless_it_is_this_machine_or_told_otherwise() {
    use crate::store::{Identity, PasswordFile, Tls, mysql, postgres};
    let config = Config::load(&folder().join("good-servers.yml"), FAMILIES).unwrap();
    let server = |name: &str| {
        let store = source(&config, name).store;
        let postgres = store.downcast_ref::<postgres::Database>().map(|database| database.server.clone());
        postgres.unwrap_or_else(|| store.downcast_ref::<mysql::Database>().unwrap().server.clone())
    };
    let verified = Tls::Verify { ca_file: None, identity: None };
    for (name, tls) in [("near", Tls::Off), ("plain", Tls::Off), ("default", verified)] {
        assert_eq!(server(name).tls, tls, "{name}");
    }
    let far = source(&config, "far").store;
    let far = far.downcast_ref::<postgres::Database>().unwrap();
    let identity = Identity { cert_file: folder().join("me.pem"), key_file: "/etc/me.key".into() };
    assert_eq!(far.server.tls, Tls::Verify { ca_file: Some(folder().join("ca.pem")), identity: Some(identity) });
    assert_eq!(far.server.password, Some(PasswordFile::new(folder().join("secrets/password"))));
    assert_eq!((far.schema.as_deref(), far.time_zone.to_string().as_str()), (Some("jobs"), "-03:30"));
    for (name, zone) in [("plain", "+09:00"), ("default", "+00:00")] {
        let store = source(&config, name).store;
        assert_eq!(store.downcast_ref::<mysql::Database>().unwrap().session_time_zone.to_string(), zone);
    }
}

#[test]
#[cfg(all(feature = "postgres", feature = "redis"))]
fn the_one_lease_of_a_source_is_expected_where_it_is_known_before_the_first_look() {
    let config = |read: &str| {
        let text = format!("sources:\n  - {{ name: jobs, {read} }}\n");
        let config = Config::parse(&text, "config.yml", Path::new(""), FAMILIES).unwrap();
        config.sources[0].policies.expected_leases()
    };
    assert_eq!(config("store: postgres://localhost/a, preset: river"), [Arc::<str>::from("river")]);
    assert_eq!(config("store: redis://localhost, preset: redbeat"), [Arc::<str>::from("jobs")]);
    assert_eq!(config("store: redis://localhost, keys: { lock: a }"), [Arc::<str>::from("jobs")]);
    assert!(config("store: redis://localhost, keys: { lock: \"a*\" }").is_empty());
    assert!(config("store: postgres://localhost/a, preset: reference").is_empty());
    assert!(config("store: postgres://localhost/a, query: SELECT now() AS store_now").is_empty());
}

#[test]
fn a_source_is_read_like_before_unless_what_is_read_or_how_it_is_understood_differs() {
    let of = |lines: &str| source(&parse(&format!("sources:\n  - {{name: a, {lines}}}")).unwrap(), "a");
    let before = of("store: 'sqlite:///a.db', preset: reference");
    for (same, lines) in [
        (true, "store: 'sqlite:///a.db', preset: reference"),
        (true, "store: 'sqlite:///a.db', preset: reference, timeout: 1s, reuse_for: 9s"),
        (false, "store: 'sqlite:///b.db', preset: reference"),
        (false, "store: 'sqlite:///a.db', query: SELECT 1 AS store_now, kind: standing, clock: store"),
        (false, "store: 'sqlite:///a.db', preset: reference, clock_skew: 9s"),
        (false, "store: 'sqlite:///a.db', preset: reference, max_leases: 9"),
    ] {
        assert_eq!(before.is_read_like(&of(lines)), same, "{lines}");
    }
}

#[test]
#[cfg(all(feature = "postgres", feature = "mysql"))]
fn the_transactions_clock_as_that_of_the_store_is_warned_of_by_line_and_refused_by_none() {
    let text = "sources:\n  \
        - { name: a, store: postgres://u@localhost/a, query: SELECT statement_timestamp() AS store_now }\n  \
        - { name: b, store: mysql://u@localhost/b, query: SELECT now() AS store_now }\n  \
        - name: c\n    store: postgres://u@localhost/c\n    query: SELECT now() AS store_now\n";
    let warnings: Vec<_> = parse(text).unwrap().warnings.iter().map(ToString::to_string).collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("config.yml:6: warning: the query returns `now()` as `store_now`"), "{warning}");
    assert!(warning.ends_with("write `clock_timestamp()` or `statement_timestamp()`"), "{warning}");
}
