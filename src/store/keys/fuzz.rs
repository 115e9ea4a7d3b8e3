//! Patterns and templates, against the definition of them.

use proptest::prelude::*;

use super::{KeyPattern, KeyTemplate, glob::Glob};
use crate::fuzz::KEYS;

/// What Redis's documentation says of a pattern, as plain as it can be said.
fn matches(pattern: &[u8], key: &[u8]) -> bool {
    match pattern {
        [] => key.is_empty(),
        [b'*', rest @ ..] => (0..=key.len()).any(|taken| matches(rest, &key[taken..])),
        [b'?', rest @ ..] => !key.is_empty() && matches(rest, &key[1..]),
        [b'[', class @ ..] => {
            let Some((first, key)) = key.split_first() else { return false };
            let (negated, mut class) = match class {
                [b'^', class @ ..] => (true, class),
                class => (false, class),
            };
            let mut within = false;
            loop {
                class = match class {
                    [] => break,
                    [b']', rest @ ..] => {
                        class = rest;
                        break;
                    }
                    [b'\\', letter, rest @ ..] => {
                        within |= letter == first;
                        rest
                    }
                    [low, b'-', high, rest @ ..] => {
                        within |= (low.min(high)..=low.max(high)).contains(&first);
                        rest
                    }
                    [letter, rest @ ..] => {
                        within |= letter == first;
                        rest
                    }
                };
            }
            within != negated && matches(class, key)
        }
        [b'\\', letter, rest @ ..] => key.first() == Some(letter) && matches(rest, &key[1..]),
        [letter, rest @ ..] => key.first() == Some(letter) && matches(rest, &key[1..]),
    }
}

#[test]
fn keys_match_as_the_definition_says_and_have_the_name_between() {
    let letters = "[ab:*?\\[\\]^\\\\-]{1,9}";
    KEYS.run(
        (letters, "[ab:*?\\[\\]^\\\\-]{0,9}", "(\\{key\\}|\\{name\\}|[ab:{}]){0,3}"),
        |(pattern, key, template)| {
            let expected = matches(pattern.as_bytes(), key.as_bytes());
            prop_assert_eq!(Glob::new(&pattern).matches(key.as_bytes()), expected);
            let keys = KeyPattern::new(&pattern);
            // A text without any of what makes a pattern is one key, as it stands.
            match &keys {
                KeyPattern::One(one) => prop_assert_eq!(keys.name(&key).is_some(), **one == *key),
                KeyPattern::Between { .. } | KeyPattern::Matching(_) => {
                    prop_assert_eq!(keys.name(&key).is_some(), expected)
                }
            }
            prop_assert_eq!(keys.text(), pattern);
            let Some(name) = keys.name(&key) else { return Ok(()) };
            if let KeyPattern::Between { prefix, suffix } = &keys {
                prop_assert_eq!(format!("{prefix}{name}{suffix}"), key.clone());
            }
            // What belongs to a lease is known for what it is, unless it would be every key's.
            if let Ok(template) = KeyTemplate::new(&template) {
                let beside = template.key(&key, name);
                prop_assert!(template.makes(&beside, &keys) || name.is_empty(), "{beside}");
            }
            Ok(())
        },
    );
}
