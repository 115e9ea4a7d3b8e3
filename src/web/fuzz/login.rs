//! Basic authentication, against base64 read bit by bit.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use proptest::prelude::*;

use crate::fuzz::{LOGIN, mutation::mutated};
use crate::web::login::credentials;

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

/// The only bytes that have this encoding.
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

#[test]
fn login_is_read_exactly_or_not_at_all() {
    let pair = (prop::collection::vec(any::<u8>(), 0..12), prop::collection::vec(any::<u8>(), 0..12));
    let sound = pair
        .prop_map(|(user, password)| [b"Basic ".to_vec(), encoded(&[user, b":".to_vec(), password].concat())].concat());
    let known =
        ["Basic YTpi", "basic dXNlcjpwYXNzOndvcmQ=", "Basic Og=="].map(|text| text.as_bytes().to_vec()).to_vec();
    LOGIN.run(prop_oneof![sound, mutated(known, TOKENS)], |line| {
        let Ok(value) = HeaderValue::from_bytes(&line) else { return Ok(()) };
        let expected = line.get(..6).filter(|scheme| scheme.eq_ignore_ascii_case(b"basic ")).and_then(|_| {
            let bytes = decoded(line[6..].trim_ascii())?;
            let mut parts = bytes.splitn(2, |byte| *byte == b':');
            Some((parts.next()?.to_vec(), parts.next()?.to_vec()))
        });
        let headers: HeaderMap = [(AUTHORIZATION, value)].into_iter().collect();
        prop_assert_eq!(credentials(&headers), expected);
        Ok(())
    });
}
