//! One rule broken at a time: the oracle must notice each.

use std::borrow::Cow;

use lease_protocol::sqlite::Statements;

use crate::exporter::Mistake;
use crate::world::{Script, World};

/// A mutation that is not noticed within so many stories is not noticed.
const STORIES: u64 = 400;

fn noticed(script: &Script) -> Option<(u64, String)> {
    (0..STORIES).find_map(|seed| World::new(seed, script.clone()).run().err().map(|lie| (seed, lie)))
}

fn protocol(change: impl FnOnce(&mut Statements)) -> Script {
    let mut statements = Statements::reference();
    change(&mut statements);
    assert_ne!(statements, Statements::reference(), "the mutation changes nothing");
    Script { statements, mistake: Mistake::None }
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
        let (seed, lie) = noticed(&script).unwrap_or_else(|| panic!("nobody noticed: {rule}"));
        println!("{rule}\n    noticed in story {seed}: {}", lie.chars().take(100).collect::<String>());
    }
}

#[test]
fn an_exporter_that_makes_a_mistake_is_noticed() {
    for mistake in [
        Mistake::ServesTheLastReading,
        Mistake::TakesNoAnswerForNoLeader,
        Mistake::IgnoresTheEpochOfProgress,
        Mistake::TakesRenewalForProgress,
        Mistake::IgnoresDueWork,
        Mistake::ForgivesExpiry,
        Mistake::IsTooPatient,
        Mistake::IsTooImpatient,
        Mistake::TakesAnyDueWorkForOverdue,
        Mistake::TakesTheFirstSightForProgress,
    ] {
        let script = Script { mistake, ..Script::default() };
        let (seed, lie) = noticed(&script).unwrap_or_else(|| panic!("nobody noticed: {mistake:?}"));
        println!("{mistake:?}\n    noticed in story {seed}: {}", lie.chars().take(100).collect::<String>());
    }
}
