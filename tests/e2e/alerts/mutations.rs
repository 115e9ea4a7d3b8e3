//! The tests of the alert rules fail if any part of a rule is removed.

use super::files::{ALERTS, Copy, RULES, text};
use super::promtool::run;

/// A part of the recording rules: what is lost with it, how it is taken out, and the test that notices.
struct Mutation {
    loses: &'static str,
    from: &'static str,
    to: &'static str,
    noticed_by: &'static str,
}

const fn mutation(loses: &'static str, from: &'static str, to: &'static str, noticed_by: &'static str) -> Mutation {
    Mutation { loses, from, to, noticed_by }
}

const MUTATIONS: &[Mutation] = &[
    mutation(
        "known beats unknown",
        "1 - max by (source, lease) (lease:state{state!=\"unknown\"})",
        "max by (source, lease) (lease_state{state=\"unknown\"})",
        "replicas",
    ),
    mutation(
        "a source that an exporter gave up is not missed",
        "            or\n            (last_over_time(lease:source_reported[1d]) == 1 and on (job, instance) lease_exporter_build_info)\n",
        "",
        "taken_out",
    ),
    mutation(
        "an exporter is not missed while others report its source",
        "            (last_over_time(lease:source_reported[1d]) == 1 and on (source) lease_source_up)\n            or\n",
        "",
        "taken_out",
    ),
    mutation("a source that is reported is not lost", " unless on (source) lease:source_up\n", "\n", "exporter_absent"),
    mutation(
        "an exporter that is away takes nothing with it",
        "(lease:source_up == 0 or lease:source_lost)",
        "(lease:source_up == 0)",
        "exporter_absent",
    ),
    mutation(
        "a store that is away takes nothing with it",
        "(lease:source_up == 0 or lease:source_lost)",
        "(lease:source_lost)",
        "store_outage",
    ),
    mutation(
        "a lease that is gone does not come back",
        "          or\n          -1 * (last_over_time(lease:reported[1h]) >= 0) ^ 0\n",
        "",
        "taken_out",
    ),
    mutation(
        "a lease out of sight is remembered",
        "          or\n          0 * (last_over_time(lease:reported[1h]) >= 0 and on (source) (lease:source_unread or lease:source_exporter_missed))\n",
        "",
        "store_outage",
    ),
    mutation(
        "a registry has no new leader",
        "          unless on (source) lease_source_info{kind=\"registry\"}\n",
        "",
        "takeover",
    ),
    mutation(
        "a lease that is held is not leaderless",
        "lease_authority_state{state=\"held\"} == 1",
        "lease_authority_state{state=\"held\"} == 2",
        "store_outage",
    ),
    mutation("a new leader ends the stall of the last", "lease:new_leader or group", "group", "takeover"),
    mutation(
        "a stall ends where progress is not reported",
        "lease:new_leader or group by (source, lease) (lease_state_reason{reason=\"progress_not_reported\"} == 1)",
        "lease:new_leader",
        "store_outage",
    ),
    mutation(
        "the last known state is remembered",
        "            last_over_time(lease:last_known_state[1h]) == 1\n",
        "            last_over_time(lease:last_known_state[1h]) == 2\n",
        "store_outage",
    ),
    mutation(
        "what is remembered can be refuted",
        "            unless on (source, lease, state) lease:last_known_state_void\n",
        "",
        "store_outage",
    ),
    mutation(
        "the last known state ends with 0",
        "          or\n          0 * (last_over_time(lease:last_known_state[1h]) == 1)\n",
        "",
        "store_outage",
    ),
    mutation(
        "what is enabled is remembered",
        "          or\n          (last_over_time(lease:alert_enabled[1h]) == 1 and on (source, lease) (lease:reported == 0))\n",
        "",
        "store_outage",
    ),
    mutation(
        "what is enabled is only remembered while the lease is out of sight",
        "(last_over_time(lease:alert_enabled[1h]) == 1 and on (source, lease) (lease:reported == 0))",
        "(last_over_time(lease:alert_enabled[1h]) == 1)",
        "work_stalled",
    ),
    mutation(
        "opting out ends with 0",
        "          or\n          0 * (last_over_time(lease:alert_enabled[1h]) == 1)\n",
        "",
        "exporter_absent",
    ),
    mutation(
        "only standing leases flap",
        "          and on (source) lease_source_info{kind=\"standing\"}\n",
        "",
        "leadership_flapping",
    ),
    mutation(
        "without an epoch the time of acquisition counts",
        "            or\n            max by (source, lease) (lease_acquired_timestamp_seconds)\n",
        "",
        "leadership_flapping",
    ),
    mutation("a step back is no taking", " - 2 * resets(lease:leadership_term[15m])", "", "leadership_flapping"),
    mutation(
        "a lease that is gone does not flap",
        "            and on (source, lease) (lease:reported >= 0)\n",
        "",
        "leadership_flapping",
    ),
    mutation("a new leader is given time", " unless on (source, lease) lease:new_leader\n", "\n", "takeover"),
    mutation(
        "new leaders are not given time for ever",
        "resets(lease:leadership_term[1h]) >= 3",
        "resets(lease:leadership_term[1h]) >= 9",
        "takeover",
    ),
    mutation(
        "a lease that nobody reports is unknown",
        "(lease:state{state=\"unknown\"} == 1 or lease:reported == 0)\n          unless",
        "(lease:state{state=\"unknown\"} == 1)\n          unless",
        "state_unknown",
    ),
    mutation(
        "what another alert told of is not unknown as soon as that is over",
        "          unless on (source) lease:source_read_again\n",
        "",
        "state_unknown",
    ),
    mutation(
        "a source that was down is read again",
        "{alert=~\"LeaseSourceDown|LeaseExporterAbsent\"}",
        "{alert=~\"LeaseExporterAbsent\"}",
        "state_unknown",
    ),
    mutation(
        "a source whose exporter was absent is read again",
        "{alert=~\"LeaseSourceDown|LeaseExporterAbsent\"}",
        "{alert=~\"LeaseSourceDown\"}",
        "state_unknown",
    ),
    mutation(
        "what no other alert told of does not begin the wait anew",
        "lease:alert_would_fire{alert=~",
        "lease:alert_condition{alert=~",
        "state_unknown",
    ),
    mutation(
        "a source is read again only when it is read",
        " and on (source) lease:source_up == 1\n",
        "\n",
        "state_unknown",
    ),
    mutation(
        "the smallest limit counts",
        "min by (source, lease) (lease_stall_after_seconds)",
        "max by (source, lease) (lease_stall_after_seconds)",
        "takeover",
    ),
    mutation(
        "a stall outlasts new leaders",
        "            last_over_time(lease:stall_unsettled[1h]) == 1\n",
        "            last_over_time(lease:stall_unsettled[1h]) == 2\n",
        "takeover",
    ),
    mutation("a stall that was worked off is over", "state=~\"active|idle\"", "state=~\"idle\"", "takeover"),
    mutation("a stall is over where nothing is due", "state=~\"active|idle\"", "state=~\"active\"", "takeover"),
    mutation(
        "a stall is settled where progress is not reported",
        "            unless on (source, lease) lease_state_reason{reason=\"progress_not_reported\"} == 1\n",
        "",
        "takeover",
    ),
    mutation(
        "a stall is over when the lease is gone",
        "            and on (source, lease) lease:reported >= 0\n",
        "",
        "takeover",
    ),
    mutation(
        "a stall that was worked off ends with 0",
        "          or\n          0 * (last_over_time(lease:stall_unsettled[1h]) == 1)\n",
        "",
        "takeover",
    ),
    mutation(
        "a lease is not gone because one scrape was missed",
        ">= 0 and on (source) (lease:source_unread or lease:source_exporter_missed)",
        ">= 0 and on (source) lease:source_unread",
        "replicas",
    ),
    mutation(
        "a regression outlasts a missed scrape",
        "            and on (source) (lease:source_unread or lease:source_exporter_missed)\n",
        "            and on (source) lease:source_unread\n",
        "epoch_regressed",
    ),
    mutation(
        "an exporter is not missed for ever",
        "last_over_time(lease_source_up[5m])",
        "last_over_time(lease_source_up[1h])",
        "replicas",
    ),
    mutation(
        "an exporter that is scraped is not missed",
        "            unless lease_source_up\n            unless on (job, instance) lease_exporter_build_info\n",
        "",
        "taken_out",
    ),
    mutation(
        "an exporter that gave up the source is not missed",
        "            unless on (job, instance) lease_exporter_build_info\n",
        "",
        "taken_out",
    ),
    mutation(
        "the counter of regressions counts",
        "            increase(lease_anomalies_total{anomaly=\"epoch_regressed\"}[15m]) > 0\n            or\n",
        "",
        "epoch_regressed",
    ),
    mutation(
        "a regression outlasts an outage",
        "            or\n            lease:alert_condition{alert=\"LeaseEpochRegressed\"}\n            and on (source) (lease:source_unread or lease:source_exporter_missed)\n",
        "",
        "epoch_regressed",
    ),
    mutation(
        "a counter that begins anew has not grown",
        "increase(lease_anomalies_total{anomaly=\"progress_from_stale_epoch\"}[15m]) > 0",
        "changes(lease_anomalies_total{anomaly=\"progress_from_stale_epoch\"}[15m]) > 0",
        "fenced_writer",
    ),
    mutation(
        "a source stays down while its exporter is away",
        "              or\n              last_over_time(lease:source_up[1h]) == 0 and on (source) lease:source_lost\n",
        "",
        "source_down",
    ),
    mutation(
        "an exporter must be away",
        "lease:reported == 0 and on (source) lease:source_lost",
        "lease:reported == 0",
        "source_down",
    ),
    mutation(
        "a condition that ended begins anew",
        "          or\n          0 * (last_over_time(lease:alert_condition_since_timestamp_seconds[1h]) > 0)\n",
        "",
        "no_leader",
    ),
    mutation("LeaseNoLeader waits", "vector(120)", "vector(90)", "no_leader"),
    mutation("LeaseWorkStalled waits", "vector(60)", "vector(30)", "work_stalled"),
    mutation("LeaseStateUnknown waits", "vector(900)", "vector(870)", "state_unknown"),
    mutation(
        "LeaseSourceDown waits",
        "vector(300)\n        labels:\n          alert: LeaseSourceDown",
        "vector(270)\n        labels:\n          alert: LeaseSourceDown",
        "source_down",
    ),
    mutation(
        "LeaseExporterAbsent waits",
        "vector(300)\n        labels:\n          alert: LeaseExporterAbsent",
        "vector(270)\n        labels:\n          alert: LeaseExporterAbsent",
        "exporter_absent",
    ),
    mutation(
        "nothing would fire before its wait is over",
        "            >= on (alert) group_left () lease:alert_wait_seconds\n",
        "",
        "no_leader",
    ),
];

/// How each alert begins in the file.
const BEGINNING: &str = "      - alert: ";

#[test]
fn no_part_of_the_rules_can_be_taken_out_unnoticed() {
    let (rules, alerts) = (text(RULES), text(ALERTS));
    for Mutation { loses, from, to, noticed_by } in MUTATIONS {
        assert_eq!(rules.matches(from).count(), 1, "{loses}: the rules have it once");
        notices(loses, &Copy::new(&rules.replace(from, to), &alerts), noticed_by);
    }
}

#[test]
fn no_alert_can_lose_its_gate_unnoticed() {
    let (rules, alerts) = (text(RULES), text(ALERTS));
    let (head, blocks) = alerts.split_once(BEGINNING).unwrap();
    let blocks: Vec<_> = blocks.split(BEGINNING).collect();
    assert_eq!(blocks.len(), 8);
    for (at, block) in blocks.iter().enumerate() {
        let alert = block.lines().next().unwrap();
        let enabled = format!("(lease:alert_enabled{{alert=\"{alert}\"}} == 1)");
        let gate = format!("\n            and on (source, lease, alert) {enabled}");
        assert_eq!(block.matches(&gate).count(), 1, "{alert} has one gate");
        let with = |gate_instead: &str| {
            let mut blocks: Vec<_> = blocks.iter().map(|block| (*block).to_owned()).collect();
            blocks[at] = block.replace(&gate, gate_instead);
            Copy::new(&rules, &format!("{head}{BEGINNING}{}", blocks.join(BEGINNING)))
        };
        notices(&format!("the gate of {alert}"), &with(""), "silent_by_default");
        // What is enabled for one alert opens no other's gate.
        let any = "\n            and on (source, lease) (lease:alert_enabled == 1)";
        notices(&format!("the gate of {alert} alone"), &with(any), "in_its_own_state_alone");
    }
}

#[test]
fn no_text_can_lose_the_quotes_around_a_name_unnoticed() {
    let (rules, alerts) = (text(RULES), text(ALERTS));
    let unquoted = alerts.replace("source=%q,lease=%q", "source=\\\"%s\\\",lease=\\\"%s\\\"");
    assert_ne!(unquoted, alerts);
    notices("names are quoted in queries", &Copy::new(&rules, &unquoted), "texts");
    let bare = alerts.replace("{{ printf \"%q\" $labels.lease }}", "{{ $labels.lease }}");
    assert_ne!(bare, alerts);
    notices("names are quoted in texts", &Copy::new(&rules, &bare), "texts");
}

/// Fails unless a test does, and not because the rules are none any more.
fn notices(loses: &str, copy: &Copy, test: &str) {
    let (well_formed, said) = run(copy.folder(), &["check", "rules", "--lint=none", RULES, ALERTS]);
    assert!(well_formed, "{loses}: {said}");
    let (content, said) = run(&copy.folder().join("tests"), &["test", "rules", &format!("{test}.yaml")]);
    assert!(!content, "{test} does not notice that this is lost: {loses}");
    assert!(said.contains("exp:") && said.contains("got:"), "{loses}: {said}");
}
