//! Key patterns and key templates, compared with their definition.

use proptest::prelude::*;

use super::{KeyPattern, KeyTemplate, glob::RedisGlob};
use crate::testing::cases;

/// Whether a key matches a pattern, by the rules in the documentation of Redis.
fn matches(pattern: &[u8], key: &[u8]) -> bool {
    match pattern {
        [] => key.is_empty(),
        [b'*', rest @ ..] => (0..=key.len()).any(|skipped| matches(rest, &key[skipped..])),
        [b'?', rest @ ..] => !key.is_empty() && matches(rest, &key[1..]),
        [b'[', class @ ..] => {
            let Some((first, key)) = key.split_first() else { return false };
            let (negated, mut class) = match class {
                [b'^', class @ ..] => (true, class),
                class => (false, class),
            };
            let mut in_class = false;
            loop {
                class = match class {
                    [] => break,
                    [b']', rest @ ..] => {
                        class = rest;
                        break;
                    }
                    [b'\\', letter, rest @ ..] => {
                        in_class |= letter == first;
                        rest
                    }
                    [low, b'-', high, rest @ ..] => {
                        in_class |= (low.min(high)..=low.max(high)).contains(&first);
                        rest
                    }
                    [letter, rest @ ..] => {
                        in_class |= letter == first;
                        rest
                    }
                };
            }
            in_class != negated && matches(class, key)
        }
        [b'\\', letter, rest @ ..] => key.first() == Some(letter) && matches(rest, &key[1..]),
        [letter, rest @ ..] => key.first() == Some(letter) && matches(rest, &key[1..]),
    }
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn pattern_matches_the_keys_of_its_definition_and_names_each_by_its_variable_part(
        pattern in "[ab:*?\\[\\]^\\\\-]{1,9}",
        key in "[ab:*?\\[\\]^\\\\-]{0,9}",
        template in "(\\{key\\}|\\{name\\}|[ab:{}]){0,3}",
    ) {
        let expected = matches(pattern.as_bytes(), key.as_bytes());
        prop_assert_eq!(RedisGlob::new(&pattern).matches(key.as_bytes()), expected);
        let keys = KeyPattern::new(&pattern);
        match &keys {
            // A text without special characters is one literal key.
            KeyPattern::One(one) => prop_assert_eq!(keys.name(&key).is_some(), **one == *key),
            KeyPattern::Between { .. } | KeyPattern::Matching(_) => prop_assert_eq!(keys.name(&key).is_some(), expected),
        }
        prop_assert_eq!(keys.text(), pattern);
        let Some(name) = keys.name(&key) else { return Ok(()) };
        if let KeyPattern::Between { prefix, suffix } = &keys {
            prop_assert_eq!(format!("{prefix}{name}{suffix}"), key.clone());
        }
        // A key made by a template is recognized as such, unless the template would make the same key for each lease.
        if let Ok(template) = KeyTemplate::new(&template) {
            let made = template.key(&key, name);
            prop_assert!(template.makes(&made, &keys) || name.is_empty(), "{made}");
        }
    }
}
