//! The text as Prometheus reads it.

use std::collections::BTreeSet;

use super::super::{golden, sample};
use super::*;

fn rendered(exposition: &Exposition, snapshots: &[SourceSnapshot]) -> Vec<Rendered> {
    snapshots.iter().map(|snapshot| Renderer::new(exposition.clone()).render(snapshot)).collect()
}

fn text(exposition: &Exposition, snapshots: &[SourceSnapshot]) -> String {
    text_as(Format::Text, exposition, snapshots)
}

fn text_as(format: Format, exposition: &Exposition, snapshots: &[SourceSnapshot]) -> String {
    let rendered = rendered(exposition, snapshots);
    let chunks = exposition.joined(format, &rendered.iter().collect::<Vec<_>>());
    String::from_utf8(chunks.concat()).unwrap() + format.end()
}

#[test]
fn the_metrics_of_every_state() {
    let whole = Exposition::without(|_| false);
    golden::assert_matches("metrics.txt", &text(&whole, &sample::snapshots()));
    golden::assert_matches("metrics.openmetrics", &text_as(Format::OpenMetrics, &whole, &sample::snapshots()));
}

#[test]
fn both_formats_have_the_same_samples() {
    let whole = Exposition::without(|_| false);
    let samples = |format| -> Vec<String> {
        let text = text_as(format, &whole, &sample::snapshots());
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(samples(Format::Text), samples(Format::OpenMetrics));
    assert!(!samples(Format::Text).is_empty());
}

#[test]
fn both_formats_share_the_pieces_of_one_rendering() {
    let whole = Exposition::without(|_| false);
    let rendered = rendered(&whole, &[sample::many(1_000)]);
    let places = |format| -> BTreeSet<_> {
        let chunks = whole.joined(format, &[&rendered[0]]);
        chunks.into_iter().filter(|chunk| !chunk.starts_with(b"#")).map(|chunk| chunk.as_ptr()).collect()
    };
    assert_eq!(places(Format::Text), places(Format::OpenMetrics));
    assert!(places(Format::Text).len() > 20);
}

#[test]
fn what_is_compressed_source_by_source_is_the_joined_text_in_either_format_and_of_any_choice_of_sources() {
    let whole = Exposition::without(|_| false);
    let rendered = rendered(&whole, &sample::snapshots());
    let compressed: Vec<_> = rendered.iter().map(|rendered| rendered.compressed().unwrap()).collect();
    let rest = [Bytes::from_static(b"own 1\n"), Bytes::from_static(b"# EOF\n")];
    for format in Format::ALL {
        for choice in [&[0, 1, 2, 3, 4][..], &[3], &[4, 2], &[]] {
            let text: Vec<_> = choice.iter().map(|at| &rendered[*at]).collect();
            let parts: Vec<_> = choice.iter().map(|at| &compressed[*at]).collect();
            let stream = whole.joined_gzip(format, &parts, &rest).unwrap().concat();
            let mut unpacked = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&stream[..]), &mut unpacked).unwrap();
            let expected = [whole.joined(format, &text).concat(), rest.concat()].concat();
            assert!(unpacked == expected, "{format:?} {choice:?}");
        }
    }
}

#[test]
fn every_family_stands_once_with_its_header_and_every_state_set_sums_to_one() {
    let text = text(&Exposition::without(|_| false), &sample::snapshots());
    let heads: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), heads.len());
    let leases: usize = sample::snapshots().iter().map(|snapshot| snapshot.leases.len()).sum();
    for family in ["lease_state{", "lease_authority_state{", "lease_progress_state{", "lease_state_reason{"] {
        let ones = text.lines().filter(|line| line.starts_with(family) && line.ends_with("} 1")).count();
        assert_eq!(ones, leases, "{family}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit_once(' ').unwrap().1;
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
    }
}

#[test]
fn a_lease_that_could_not_be_looked_at_shows_its_states_its_policy_and_its_counters_alone() {
    let text = text(&Exposition::without(|_| false), &sample::snapshots());
    let families: BTreeSet<_> = text
        .lines()
        .filter(|line| line.contains("source=\"billing\",lease="))
        .filter_map(|line| line.split('{').next())
        .collect();
    let expected = [
        "lease_anomalies_total",
        "lease_authority_state",
        "lease_progress_state",
        "lease_stall_after_seconds",
        "lease_state",
        "lease_state_reason",
    ];
    let allowed: BTreeSet<_> =
        expected.into_iter().chain(["lease_alert_enabled", "lease_overdue_after_seconds"]).collect();
    assert!(families.is_superset(&BTreeSet::from(expected)), "{families:?}");
    assert!(families.is_subset(&allowed), "{families:?}");
}

#[test]
fn dropped_families_are_gone_and_nothing_else_is() {
    let whole = text(&Exposition::without(|_| false), &sample::snapshots());
    let dropped = text(&Exposition::without(|name| name == "lease_due"), &sample::snapshots());
    let kept: Vec<_> = whole
        .lines()
        .filter(|line| !line.starts_with("lease_due{") && !line.split(' ').any(|word| word == "lease_due"))
        .collect();
    assert_eq!(dropped.lines().collect::<Vec<_>>(), kept);
    assert!(whole.lines().count() > kept.len());
}

#[test]
fn a_buffer_is_used_again_only_once_nobody_reads_it() {
    let snapshots = sample::snapshots();
    let mut renderer = Renderer::new(Exposition::without(|_| false));
    let first = renderer.render(&snapshots[0]);
    let places = |rendered: &Rendered| {
        let first = rendered.families.iter().map(|pieces| pieces.first());
        first.map(|piece| piece.map(|piece| piece.as_ptr())).collect::<Vec<_>>()
    };
    let (held, before) = (first.families[0].clone(), places(&first));
    renderer.take_back(first);
    let second = renderer.render(&snapshots[0]);
    assert_eq!(held, second.families[0]);
    assert_ne!(places(&second)[0], before[0]);
    assert_eq!(places(&second)[1..], before[1..]);
}

#[test]
fn more_leases_than_go_through_at_once_come_out_in_order() {
    let text = text(&Exposition::without(|name| name != "lease_epoch"), &[sample::many(3 * BLOCK + 1)]);
    let leases: Vec<_> = text.lines().skip(2).collect();
    assert_eq!(leases.len(), 3 * BLOCK + 1);
    assert!(leases.is_sorted());
}
