//! Mutations of the protocol and of the exporter, one rule each. The oracle must notice every one.

use std::borrow::Cow;

use lease_protocol::sqlite::Statements;

use crate::exporter::Mutation;
use crate::world::{Script, World};

/// How many runs a mutation has to be noticed.
const RUNS: u64 = 400;

fn noticed(script: &Script) -> Option<(u64, String)> {
    (0..RUNS).find_map(|seed| World::new(seed, script.clone()).run().err().map(|error| (seed, error)))
}

fn protocol(change: impl FnOnce(&mut Statements)) -> Script {
    let mut statements = Statements::reference();
    change(&mut statements);
    assert_ne!(statements, Statements::reference(), "the mutation changes nothing");
    Script { statements, mutation: Mutation::None }
}

fn replaced(statement: &mut Cow<'static, str>, from: &str, to: &str) {
    *statement = Cow::Owned(statement.replacen(from, to, 1));
}

#[test]
fn a_protocol_without_one_of_its_rules_is_noticed() {
    let mutations = [
        (
            "ALEASE-101: an acquisition does not raise the epoch",
            protocol(|s| replaced(&mut s.acquire, "scheduler_lease.epoch + 1", "scheduler_lease.epoch")),
        ),
        (
            "ALEASE-104: whoever asks acquires",
            protocol(|s| replaced(&mut s.acquire, "WHERE scheduler_lease.holder IS NULL OR", "WHERE 1 OR")),
        ),
        (
            "ALEASE-104: a lease can be acquired half a second before it expires",
            protocol(|s| {
                replaced(&mut s.acquire, "scheduler_lease.expires_at_ms <=", "scheduler_lease.expires_at_ms - 500 <=")
            }),
        ),
        (
            "ALEASE-105: an expired lease can be renewed",
            protocol(|s| replaced(&mut s.renew, "AND expires_at_ms >", "AND expires_at_ms + 1000000 >")),
        ),
        (
            "ALEASE-105: whoever was superseded can renew",
            protocol(|s| {
                replaced(
                    &mut s.renew,
                    "AND holder = :holder AND epoch = :epoch",
                    "AND :holder = :holder AND :epoch = :epoch",
                );
            }),
        ),
        (
            "ALEASE-106: the fence lets everyone through",
            protocol(|s| {
                s.fence = Cow::Borrowed("SELECT 1 WHERE :lease = :lease AND :holder = :holder AND :epoch = :epoch");
            }),
        ),
        (
            "ALEASE-107: an occurrence can be planned again",
            protocol(|s| replaced(&mut s.plan, "AND planned_at_ms IS NULL", "")),
        ),
        (
            "progress is recorded under another epoch",
            protocol(|s| replaced(&mut s.progress, "VALUES (:lease, :epoch,", "VALUES (:lease, :epoch + 1,")),
        ),
        (
            "a release leaves the holder in place",
            protocol(|s| {
                replaced(
                    &mut s.release,
                    "holder = NULL, expires_at_ms = MIN(expires_at_ms,",
                    "expires_at_ms = MAX(expires_at_ms,",
                )
            }),
        ),
    ];
    for (rule, script) in mutations {
        let (seed, error) = noticed(&script).unwrap_or_else(|| panic!("not noticed: {rule}"));
        println!("{rule}\n    noticed with seed {seed}: {}", error.chars().take(100).collect::<String>());
    }
}

#[test]
fn a_mutation_of_the_exporter_is_noticed() {
    for mutation in [
        Mutation::StaleReading,
        Mutation::FailureAsNoLeader,
        Mutation::ProgressOfAnyEpoch,
        Mutation::RenewalAsProgress,
        Mutation::NoDueWork,
        Mutation::LateExpiry,
        Mutation::LongStallAfter,
        Mutation::ShortStallAfter,
        Mutation::DueSinceAcquisition,
        Mutation::FirstReadingAsProgress,
    ] {
        let script = Script { mutation, ..Script::default() };
        let (seed, error) = noticed(&script).unwrap_or_else(|| panic!("not noticed: {mutation:?}"));
        println!("{mutation:?}\n    noticed with seed {seed}: {}", error.chars().take(100).collect::<String>());
    }
}

/// The text of each mutation of the source code must occur once, or `mutations/run` cannot apply it.
#[test]
fn every_mutation_of_the_source_code_applies_to_exactly_one_place() {
    let mutations = include_str!("mutations/source.txt");
    let lines: Vec<_> = mutations.lines().filter(|line| !line.starts_with('#')).collect();
    for mutation in lines.join("\n").trim().split("\n\n") {
        let [file, before, after, _rule] = mutation.lines().map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("not four lines:\n{mutation}")
        };
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let source = std::fs::read_to_string(&path).unwrap();
        assert_eq!(source.matches(before).count(), 1, "{file}: {before}");
        assert_ne!(before, after, "{file}");
    }
}
