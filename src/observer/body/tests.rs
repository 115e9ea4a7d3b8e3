//! Bodies of many readings, plain and compressed, and what they share.

use super::*;
use crate::expose::testing::snapshots;
use crate::history::History;
use crate::lease::SourceSnapshot;

fn reading(snapshot: SourceSnapshot) -> Arc<CachedReading> {
    Arc::new(CachedReading::new(Arc::new(snapshot), History::default(), std::time::Duration::ZERO, Arc::default()))
}

async fn metrics(
    exposition: &Exposition,
    readings: &[Arc<CachedReading>],
    format: Format,
    encoding: Encoding,
    rest: Vec<Bytes>,
) -> EncodedText {
    Observer::new(exposition.clone(), Vec::new()).metrics(readings, format, encoding, rest).await
}

fn unpacked(body: &EncodedText) -> Vec<u8> {
    let EncodedText::Gzip(pieces) = body else { panic!("not compressed: {body:?}") };
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&pieces.concat()[..]), &mut text).unwrap();
    text
}

fn plain(body: EncodedText) -> Vec<u8> {
    match body {
        EncodedText::Plain(pieces) => pieces.concat(),
        EncodedText::Lazy(text) => text.pieces.collect::<Vec<_>>().concat(),
        EncodedText::Gzip(_) => panic!("compressed"),
    }
}

/// Where the pieces of a body are that are longer than any header.
fn places(body: &EncodedText) -> Vec<*const u8> {
    let EncodedText::Gzip(pieces) = body else { panic!("not compressed: {body:?}") };
    pieces.iter().filter(|piece| piece.len() > 300).map(|piece| piece.as_ptr()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_scrapes_of_one_reading_in_either_format_send_blocks_that_were_compressed_once() {
    let exposition = Exposition::without(|_| false);
    let readings = [reading(snapshots::many(1_000)), reading(snapshots::many(700))];
    let rest = vec![Bytes::from_static(b"own 1\n")];
    let scrapes: Vec<_> = (0..16)
        .map(|number| {
            let (exposition, readings, rest) = (exposition.clone(), readings.clone(), rest.clone());
            let format = Format::ALL[number % 2];
            tokio::spawn(async move { metrics(&exposition, &readings, format, Encoding::Gzip, rest).await })
        })
        .collect();
    let mut bodies = Vec::new();
    for scrape in scrapes {
        bodies.push(scrape.await.unwrap());
    }
    // But for the last, which is the exporter's own and compressed for each.
    let shared = |body: &EncodedText| places(body).into_iter().take(20).collect::<Vec<_>>();
    assert_eq!(shared(&bodies[0]).len(), 20);
    for (body, format) in bodies.iter().zip(Format::ALL.into_iter().cycle()) {
        assert_eq!(shared(body), shared(&bodies[0]), "compressed more than once");
        let text = metrics(&exposition, &readings, format, Encoding::Identity, rest.clone()).await;
        assert!(unpacked(body) == plain(text));
    }
}

#[tokio::test]
async fn a_short_text_is_compressed_as_a_whole_and_a_very_short_one_not_at_all() {
    let exposition = Exposition::without(|name| name != "lease_epoch");
    for (leases, shared) in [
        (1, None),
        (MAX_LEASES_COMPRESSED_WHOLE, Some(false)),
        (MAX_LEASES_COMPRESSED_WHOLE + 1, Some(true)),
        (3_000, Some(true)),
    ] {
        let readings = [reading(snapshots::many(leases))];
        let body = metrics(&exposition, &readings, Format::Text, Encoding::Gzip, Vec::new()).await;
        match shared {
            None => assert!(matches!(body, EncodedText::Plain(_)), "{leases}"),
            Some(shared) => {
                assert_eq!(readings[0].compressed_metrics.is_made(), shared, "{leases}");
                let text = metrics(&exposition, &readings, Format::Text, Encoding::Identity, Vec::new()).await;
                assert!(unpacked(&body) == plain(text), "{leases}");
            }
        }
    }
}

#[tokio::test]
async fn plain_text_of_many_leases_is_written_as_it_is_sent_and_keeps_its_readings_alive_until_then() {
    let exposition = Exposition::without(|_| false);
    let readings = [reading(snapshots::many(2_000)), reading(snapshots::many(30))];
    let body = metrics(&exposition, &readings, Format::Text, Encoding::Identity, Vec::new()).await;
    let EncodedText::Lazy(text) = body else { panic!("{body:?}") };
    assert!(!readings[0].compressed_metrics.is_made());
    let ids: Vec<_> = readings.iter().map(|reading| Arc::as_ptr(reading).addr()).collect();
    assert_eq!(text.retained.iter().map(|retained| retained.id).collect::<Vec<_>>(), ids);
    assert!(text.retained[0].bytes > 50 * text.retained[1].bytes);
    for piece in text.pieces {
        assert!(!piece.is_empty() && piece.len() < 256 * 1024, "{}", piece.len());
    }
}

#[tokio::test]
async fn json_that_was_compressed_once_makes_the_document_of_any_selection() {
    let all: Vec<_> = snapshots::all().into_iter().chain([snapshots::many(500)]).map(reading).collect();
    let body = json(&all, Encoding::Gzip).await.unwrap();
    let longest = |body: &EncodedText| {
        let EncodedText::Gzip(pieces) = body else { panic!("not compressed") };
        pieces.iter().max_by_key(|piece| piece.len()).unwrap().as_ptr()
    };
    for chosen in [&all[..], &all[2..], &all[5..]] {
        let again = json(chosen, Encoding::GzipRequired).await.unwrap();
        assert!(unpacked(&again) == plain(json(chosen, Encoding::Identity).await.unwrap()));
        assert_eq!(longest(&again), longest(&body), "compressed more than once");
    }
    for chosen in [&all[..1], &all[..0]] {
        let body = json(chosen, Encoding::GzipRequired).await.unwrap();
        assert!(unpacked(&body) == plain(json(chosen, Encoding::Identity).await.unwrap()));
    }
}
