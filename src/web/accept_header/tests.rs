//! Headers that clients send, and headers that they might send.

use hyper::header::{ACCEPT, HeaderValue};
use proptest::prelude::*;

use super::*;

fn of(lines: &[&[u8]]) -> Option<Vec<Member>> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(ACCEPT, HeaderValue::from_bytes(line).unwrap());
    }
    members(&headers, &ACCEPT)
}

fn parsed(lines: &[&str]) -> Vec<String> {
    let lines: Vec<_> = lines.iter().map(|line| line.as_bytes()).collect();
    let members = of(&lines).unwrap();
    members.iter().map(|Member { name, parameters, quality }| format!("{name} {parameters:?} {quality}")).collect()
}

#[test]
fn a_list_is_parsed_into_members_with_parameters_and_quality() {
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[b""]), Some(Vec::new()));
    assert_eq!(parsed(&["gzip"]), ["gzip [] 1000"]);
    assert_eq!(parsed(&[" GZip ; Q=0.5 ,, x;a=B ;c"]), ["gzip [] 500", "x [(\"a\", \"B\")] 1000"]);
    assert_eq!(parsed(&["a;q=1;level=3", "b"]), ["a [] 1000", "b [] 1000"]);
    assert_eq!(parsed(&[r#"a;b="x,y;\"z";q=0.1,c"#]), [r#"a [("b", "x,y;\"z")] 100"#, "c [] 1000"]);
    assert_eq!(parsed(&[r#"a;b="never ends, c;q=0"#]), [r#"a [("b", "\"never ends, c;q=0")] 1000"#]);
}

#[test]
fn a_header_line_that_is_not_text_is_ignored() {
    let members = of(&[b"a\xff", b"b"]).unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].name, "b");
}

#[test]
fn a_member_with_an_invalid_quality_is_left_out() {
    for (text, quality) in [
        ("1", Some(1_000)),
        ("1.000", Some(1_000)),
        ("0", Some(0)),
        ("0.0", Some(0)),
        ("0.5", Some(500)),
        ("0.75", Some(750)),
        ("0.001", Some(1)),
        ("0.0009", Some(0)),
        (".2", Some(200)),
        ("1.", Some(1_000)),
        ("1.001", None),
        ("2", None),
        ("65536", None),
        ("99999999999999999999", None),
        ("-1", None),
        ("+1", None),
        ("1e-1", None),
        ("", None),
        (".", None),
        ("NaN", None),
        ("½", None),
    ] {
        assert_eq!(parse_quality(text), quality, "{text:?}");
    }
    assert_eq!(parsed(&["a;q=x,b;q=\"0.3\""]), ["b [] 300"]);
}

proptest! {
    #[test]
    fn any_header_is_parsed_without_a_panic(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..4)) {
        let lines: Vec<Vec<u8>> =
            lines.into_iter().map(|line| line.into_iter().filter(|&byte| byte >= 32 && byte != 127).collect()).collect();
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        for member in of(&lines).unwrap_or_default() {
            prop_assert!(member.quality <= MAX_QUALITY);
            prop_assert!(!member.name.is_empty());
        }
    }

    #[test]
    fn a_list_in_one_line_or_in_several_says_the_same(members in proptest::collection::vec("[a-z*/]{1,6}(;[a-z]=\"?[a-z,; ]{0,3}\"?)?(;q=[01]?\\.?[0-9]{0,4})?", 1..5)) {
        // A quote left open reaches to the end of its line.
        prop_assume!(members.iter().all(|member| member.matches('"').count() != 1));
        let lines: Vec<&[u8]> = members.iter().map(String::as_bytes).collect();
        prop_assert_eq!(of(&lines), of(&[members.join(" ,").as_bytes()]));
    }
}
