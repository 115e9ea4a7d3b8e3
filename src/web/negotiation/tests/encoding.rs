//! `Accept-Encoding` headers that clients send, and the rules behind.

use hyper::header::HeaderValue;
use proptest::prelude::*;

use super::*;

fn of(accept: Option<&str>) -> Encoding {
    let mut headers = HeaderMap::new();
    if let Some(accept) = accept {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accept).unwrap());
    }
    encoding(&headers)
}

#[test]
fn only_clients_that_accept_gzip_get_it() {
    use Encoding::{Gzip, GzipRequired, Identity};
    for (accept, expected) in [
        // Prometheus, with and without `enable_compression`; Prometheus 3 with zstd; browsers; curl --compressed.
        ("gzip", Gzip),
        ("identity", Identity),
        ("zstd;q=1.0, gzip;q=0.5", Gzip),
        ("gzip, deflate, br, zstd", Gzip),
        ("deflate, gzip", Gzip),
        ("x-gzip", Gzip),
        ("GZIP", Gzip),
        ("*", Gzip),
        ("br, *;q=0.1", Gzip),
        ("", Identity),
        ("br, zstd", Identity),
        ("gzip;q=0", Identity),
        ("gzip;q=0, *", Identity),
        ("*;q=0", Identity),
        ("gzip;q=0.5, identity", Identity),
        ("gzip;q=0.5, identity;q=0.5", Gzip),
        ("gzip;q=0.5, identity;q=0.4", Gzip),
        ("gzip, identity;q=0", GzipRequired),
        ("gzip, *;q=0", GzipRequired),
        ("*, identity;q=0", GzipRequired),
        ("identity;q=0", Identity),
        ("identity;q=0, br", Identity),
        ("identity;q=0, gzip;q=0", Identity),
        ("gzip;q=high", Identity),
        ("gzipped", Identity),
    ] {
        assert_eq!(of(Some(accept)), expected, "{accept}");
    }
    assert_eq!(of(None), Identity);
}

proptest! {
    #[test]
    fn any_header_gets_an_encoding_and_only_one_that_names_gzip_gets_gzip(accept in "[ -~]{0,80}") {
        let encoding = of(Some(&accept));
        let named = accept.to_ascii_lowercase().contains("gzip") || accept.contains('*');
        prop_assert!(named || encoding == Encoding::Identity, "{}", accept);
    }

    #[test]
    fn of_two_qualities_the_greater_counts_and_zero_is_a_refusal(gzip in 0u16..1000, identity in 0u16..1000) {
        let expected = match (gzip, identity) {
            (0, _) => Encoding::Identity,
            (_, 0) => Encoding::GzipRequired,
            _ if identity > gzip => Encoding::Identity,
            _ => Encoding::Gzip,
        };
        prop_assert_eq!(of(Some(&format!("identity;q=0.{identity:03}, gzip;q=0.{gzip:03}"))), expected);
    }
}
