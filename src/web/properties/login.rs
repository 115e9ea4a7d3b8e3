//! The `Authorization` header, compared with a second implementation of base64.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use proptest::prelude::*;

use crate::testing::{cases, mutation::mutated};
use crate::web::basic_auth::credentials;

const TOKENS: &[&str] = &[
    "=", "==", "===", ":", "Og==", "YTpi", "YTo=", "+", "/", "-", "_", " ", "\t", "basic ", "Basic", "BASIC  ",
    "Bearer ",
];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encoded(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for three in bytes.chunks(3) {
        let bits: u32 = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        let letters =
            (0..4).map(|at| if at <= three.len() { ALPHABET[(bits >> (18 - 6 * at) & 63) as usize] } else { b'=' });
        text.extend(letters);
    }
    text
}

/// The bytes with this encoding. Each has one only: other spellings are refused.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.iter().copied().filter(|letter| *letter != b'=').collect();
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in letters {
        bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|other| *other == letter)?).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).unwrap());
        }
    }
    (encoded(&bytes) == text).then_some(bytes)
}

fn headers() -> impl Strategy<Value = Vec<u8>> {
    let known = ["Basic YTpi", "basic dXNlcjpwYXNzOndvcmQ=", "Basic Og=="];
    let word = || prop::collection::vec(any::<u8>(), 0..12);
    let valid = (word(), word())
        .prop_map(|(user, password)| [b"Basic ".to_vec(), encoded(&[user, b":".to_vec(), password].concat())].concat());
    prop_oneof![valid, mutated(&known, TOKENS).prop_map(String::into_bytes)]
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn credentials_are_decoded_exactly_or_refused(line in headers()) {
        let Ok(value) = HeaderValue::from_bytes(&line) else { return Ok(()) };
        let expected = line.get(..6).filter(|scheme| scheme.eq_ignore_ascii_case(b"basic ")).and_then(|_| {
            let bytes = decoded(line[6..].trim_ascii())?;
            let mut parts = bytes.splitn(2, |byte| *byte == b':');
            Some((parts.next()?.to_vec(), parts.next()?.to_vec()))
        });
        let headers: HeaderMap = [(AUTHORIZATION, value)].into_iter().collect();
        prop_assert_eq!(credentials(&headers), expected);
    }
}
