//! The metrics in both formats, plain and compressed.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::super::testing::{golden, snapshots};
use super::*;

fn sources(snapshots: &[SourceSnapshot]) -> Vec<Arc<SourceMetrics>> {
    snapshots.iter().map(|snapshot| Arc::new(SourceMetrics::new(Arc::new(snapshot.clone())))).collect()
}

fn text(exposition: &Exposition, snapshots: &[SourceSnapshot]) -> String {
    text_as(Format::Text, exposition, snapshots)
}

fn text_as(format: Format, exposition: &Exposition, snapshots: &[SourceSnapshot]) -> String {
    let chunks: Vec<_> = exposition.text(format, sources(snapshots), vec![format.end().into()]).collect();
    String::from_utf8(chunks.concat()).unwrap()
}

fn unpacked(stream: &[Bytes]) -> String {
    let (stream, mut text) = (stream.concat(), String::new());
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&stream[..]), &mut text).unwrap();
    text
}

#[test]
fn the_metrics_of_every_state() {
    let whole = Exposition::without(|_| false);
    golden::assert_matches("metrics.txt", &text(&whole, &snapshots::all()));
    golden::assert_matches("metrics.openmetrics", &text_as(Format::OpenMetrics, &whole, &snapshots::all()));
}

#[test]
fn both_formats_have_the_same_samples() {
    let whole = Exposition::without(|_| false);
    let samples = |format| -> Vec<String> {
        let text = text_as(format, &whole, &snapshots::all());
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(samples(Format::Text), samples(Format::OpenMetrics));
    assert!(!samples(Format::Text).is_empty());
}

#[test]
fn sources_compressed_separately_join_to_the_plain_text_in_any_format_and_selection() {
    let whole = Exposition::without(|_| false);
    let all = sources(&snapshots::all());
    let compressed: Vec<_> = all.iter().map(|source| whole.compress(source, None).unwrap()).collect();
    let rest = [Bytes::from_static(b"own 1\n"), Bytes::from_static(b"# EOF\n")];
    for format in Format::ALL {
        for choice in [&[0, 1, 2, 3, 4][..], &[3], &[4, 2], &[]] {
            let chosen: Vec<_> = choice.iter().map(|at| Arc::clone(&all[*at])).collect();
            let parts: Vec<_> = choice.iter().map(|at| (&*all[*at], &compressed[*at])).collect();
            let stream = whole.joined_gzip(format, &parts, &rest).unwrap();
            let expected: Vec<_> = whole.text(format, chosen, rest.to_vec()).collect();
            assert!(unpacked(&stream).as_bytes() == expected.concat(), "{format:?} {choice:?}");
        }
    }
}

/// The bytes of each block that has a line.
fn blocks(metrics: &CompressedMetrics) -> impl Iterator<Item = &Bytes> {
    let blocks = metrics.families.iter().flat_map(|family| family.blocks.iter());
    blocks.filter_map(|block| block.part.as_ref()).map(|part| &part.blocks[0])
}

/// The number of blocks that a reading shares with the previous one, and the number of all blocks.
fn shared(before: &CompressedMetrics, after: &CompressedMetrics) -> (usize, usize) {
    blocks(before).zip(blocks(after)).fold((0, 0), |(shared, all), (before, after)| {
        (shared + usize::from(before.as_ptr() == after.as_ptr()), all + 1)
    })
}

#[test]
fn only_blocks_with_changed_values_or_names_are_compressed_again() {
    let whole = Exposition::without(|_| false);
    let before = snapshots::many(3 * BLOCK);
    let first = whole.compress(&sources(std::slice::from_ref(&before))[0], None).unwrap();
    let compress = |snapshot: &SourceSnapshot| {
        let source = &sources(std::slice::from_ref(snapshot))[0];
        let compressed = whole.compress(source, Some(&first)).unwrap();
        let stream = whole.joined_gzip(Format::Text, &[(source, &compressed)], &[]).unwrap();
        assert!(unpacked(&stream) == text(&whole, std::slice::from_ref(snapshot)));
        shared(&first, &compressed)
    };
    let all = blocks(&first).count();
    assert_eq!(compress(&before), (all, all), "nothing changed");

    let mut other_epoch = before.clone();
    let at = BLOCK + 7;
    other_epoch.leases[at].anomalies.increment(crate::lease::Anomaly::ClockSkew);
    assert_eq!(compress(&other_epoch), (all - 1, all), "one counter of one lease");

    let mut renamed = before.clone();
    renamed.leases[at].lease = "lease-another".into();
    assert_eq!(compress(&renamed), (all - all / 3, all), "all families of its block");

    let mut fewer = before.clone();
    fewer.leases.truncate(2 * BLOCK + 1);
    assert!(compress(&fewer).0 >= all / 3 * 2 - 1);

    let mut other_source = before;
    other_source.source = "another".into();
    assert_eq!(compress(&other_source).0, 0);
}

#[test]
fn blocks_of_another_exposition_are_not_reused() {
    let (whole, fewer) = (Exposition::without(|_| false), Exposition::without(|name| name == "lease_state"));
    let source = &sources(&[snapshots::many(BLOCK)])[0];
    let first = whole.compress(source, None).unwrap();
    let second = fewer.compress(source, Some(&first)).unwrap();
    let stream = fewer.joined_gzip(Format::Text, &[(source, &second)], &[]).unwrap();
    assert!(unpacked(&stream) == text(&fewer, &[snapshots::many(BLOCK)]));
}

#[test]
fn every_family_has_one_header_and_every_state_set_has_one_sample_of_1() {
    let text = text(&Exposition::without(|_| false), &snapshots::all());
    let heads: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), heads.len());
    let leases: usize = snapshots::all().iter().map(|snapshot| snapshot.leases.len()).sum();
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
fn a_lease_that_could_not_be_read_exposes_only_states_policy_and_counters() {
    let text = text(&Exposition::without(|_| false), &snapshots::all());
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
fn only_dropped_families_are_missing() {
    let whole = text(&Exposition::without(|_| false), &snapshots::all());
    let dropped = text(&Exposition::without(|name| name == "lease_due"), &snapshots::all());
    let kept: Vec<_> = whole
        .lines()
        .filter(|line| !line.starts_with("lease_due{") && !line.split(' ').any(|word| word == "lease_due"))
        .collect();
    assert_eq!(dropped.lines().collect::<Vec<_>>(), kept);
    assert!(whole.lines().count() > kept.len());
}

#[test]
fn more_leases_than_a_block_stay_in_order() {
    let text = text(&Exposition::without(|name| name != "lease_epoch"), &[snapshots::many(3 * BLOCK + 1)]);
    let leases: Vec<_> = text.lines().skip(2).collect();
    assert_eq!(leases.len(), 3 * BLOCK + 1);
    assert!(leases.is_sorted());
}

#[test]
fn the_text_of_many_leases_comes_in_chunks_of_bounded_length() {
    let whole = Exposition::without(|_| false);
    let chunks: Vec<_> = whole.text(Format::Text, sources(&[snapshots::many(2_000)]), Vec::new()).collect();
    assert!(chunks.len() > 50, "{}", chunks.len());
    let (last, others) = chunks.split_last().unwrap();
    assert!(others.iter().all(|chunk| (64 * 1024..128 * 1024).contains(&chunk.len())) && !last.is_empty());
}
