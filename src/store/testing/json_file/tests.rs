use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::Leases;
use crate::config::{Config, ConfigError, Families, Origin};
use crate::lease::Epoch;
use crate::store::Scope;

const SOURCE: &str = "sources:\n  - name: files\n    store: json-file://leases.json\n    pointer: /jobs\n";

fn parse(text: &str, folder: &Path) -> Result<Config, ConfigError> {
    Config::parse(text, "config.yml", folder, Families { all: &[], of_alerts: &[] })
}

#[tokio::test]
async fn a_kind_of_store_in_one_folder_is_configured_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let content = r#"{
        "clock": { "seconds": 1796040000 },
        "jobs": [
            { "lease": "nightly", "holder": "host-1", "epoch": 7, "expires_at": 1796040030 },
            { "lease": "weekly", "holder": null, "epoch": "seven" }
        ]
    }"#;
    std::fs::write(folder.path().join("leases.json"), content).unwrap();
    let config = parse(&format!("{SOURCE}    clock_pointer: /clock/seconds\n"), folder.path()).unwrap();
    let source = &config.sources[0];
    assert_eq!((source.store.to_string().as_str(), source.origin), ("json-file", Origin::Key("pointer")));
    let scope = Scope { only_lease: source.name.clone(), max_leases: source.rules.max_leases };
    let read = source.store.store(scope).read(Instant::now() + Duration::from_secs(9)).await.unwrap();
    let [record] = read.records.accepted.as_slice() else { panic!("{read:?}") };
    assert_eq!((record.lease.as_deref(), record.holder.as_deref()), (Some("nightly"), Some("host-1")));
    assert_eq!(record.epoch, Some(Epoch(7)));
    assert_eq!(read.store_now.unix_micros(), 1_796_040_000_000_000);
    let [rejected] = read.records.rejected.as_slice() else { panic!("{read:?}") };
    assert_eq!(rejected.lease.as_deref(), Some("weekly"));
}

#[test]
fn its_own_key_has_a_default_and_tells_two_sources_apart() {
    let of = |text: &str| parse(text, Path::new("/var")).unwrap().sources.remove(0);
    let (source, other) = (of(SOURCE), of(&format!("{SOURCE}    clock_pointer: /then\n")));
    let leases = source.store.downcast_ref::<Leases>().unwrap();
    assert_eq!((leases.path.as_path(), leases.clock.as_str()), (Path::new("/var/leases.json"), "/now"));
    assert!(source.is_read_like(&of(SOURCE)) && !source.is_read_like(&other));
}

#[test]
fn problems_with_its_keys_are_reported_with_their_lines() {
    for (line, problem) in [
        ("clock_pointer: now", "config.yml:5: `clock_pointer` begins with `/`"),
        ("clock_pointr: /now", "config.yml:5: unknown key `clock_pointr`"),
        ("schema: public", "config.yml:5: `schema` has no meaning for json-file; leave it out"),
        ("query: SELECT 1", "config.yml:5: `query` has no meaning for json-file; write `pointer` instead"),
        ("preset: reference", "config.yml:4: the source has both a `preset` and a `pointer`; leave one"),
    ] {
        let error = parse(&format!("{SOURCE}    {line}\n"), Path::new("")).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{line}: {error}");
    }
    let sqlite =
        SOURCE.replace("json-file", "sqlite").replace("pointer: /jobs", "clock_pointer: /now\n    query: SELECT 1");
    let error = parse(&sqlite, Path::new("")).unwrap_err().to_string();
    assert_eq!(error, "config.yml:4: `clock_pointer` has no meaning for sqlite; leave it out");
}
