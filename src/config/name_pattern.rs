//! Patterns for whole names: `*` is any run of characters, `?` is one character, nothing else is special.

use crate::wildcard;

/// A pattern for a whole name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePattern {
    text: Box<str>,
    tokens: Box<[Token]>,
}

/// In a run of wildcards all `?` come before a single `*`, so that equivalent patterns are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Letter(char),
    One,
    Run,
}

/// Why a text is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamePatternFault {
    /// The pattern is empty.
    #[error("an empty pattern matches no name; write `*` or leave the key out to match every one")]
    Empty,
    /// The pattern is longer than any name.
    #[error("a pattern longer than 1024 bytes matches no name; shorten it")]
    TooLong,
}

impl NamePattern {
    /// Names are not longer. The cost of a match is bounded by the length of the pattern times that of the name.
    const LONGEST: usize = 1024;

    pub(super) fn new(text: &str) -> Result<Self, NamePatternFault> {
        match text.len() {
            0 => return Err(NamePatternFault::Empty),
            length if length > Self::LONGEST => return Err(NamePatternFault::TooLong),
            _ => {}
        }
        let mut tokens = Vec::with_capacity(text.len());
        for letter in text.chars() {
            match (letter, tokens.last()) {
                ('*', Some(Token::Run)) => {}
                ('*', _) => tokens.push(Token::Run),
                ('?', Some(Token::Run)) => tokens.insert(tokens.len() - 1, Token::One),
                ('?', _) => tokens.push(Token::One),
                (letter, _) => tokens.push(Token::Letter(letter)),
            }
        }
        Ok(Self { text: text.into(), tokens: tokens.into() })
    }

    /// The pattern that matches every name.
    pub(super) fn any() -> Self {
        Self { text: "*".into(), tokens: [Token::Run].into() }
    }

    /// The name, if the pattern matches only this name.
    pub(super) fn exact(&self) -> Option<&str> {
        self.tokens.iter().all(|token| matches!(token, Token::Letter(_))).then_some(&*self.text)
    }

    /// Whether the pattern matches the whole name.
    pub(super) fn matches(&self, name: &str) -> bool {
        let takes = |token: &Token, letter| matches!(token, Token::One) || *token == Token::Letter(letter);
        wildcard::matches(&self.tokens, name.chars(), |token| *token == Token::Run, takes)
    }

    /// Whether the pattern certainly matches every name that `other` matches.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if let Some(name) = other.exact() {
            return self.matches(name);
        }
        // covered[j]: whether the tokens after the current one cover those of the other pattern from `j` on.
        let theirs = &other.tokens;
        let mut covered = vec![false; theirs.len() + 1];
        covered[theirs.len()] = true;
        let mut unbounded = false;
        for mine in self.tokens.iter().rev() {
            unbounded = match mine {
                Token::Run => true,
                Token::One => unbounded,
                Token::Letter(_) => false,
            };
            let mut now = vec![false; covered.len()];
            now[theirs.len()] = *mine == Token::Run && covered[theirs.len()];
            for at in (0..theirs.len()).rev() {
                now[at] = match (mine, theirs[at]) {
                    (Token::Run, _) => covered[at] || now[at + 1],
                    // A `*` follows before the next letter, so it covers theirs too.
                    (Token::One, Token::Run) => unbounded && now[at + 1],
                    (Token::One, _) => covered[at + 1],
                    (Token::Letter(_), their) => *mine == their && covered[at + 1],
                };
            }
            covered = now;
        }
        covered[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(text: &str) -> NamePattern {
        NamePattern::new(text).unwrap()
    }

    #[test]
    fn a_pattern_matches_the_whole_name_and_only_star_and_question_mark_are_special() {
        for (pattern, name, matches) in [
            ("*", "", true),
            ("*", "anything", true),
            ("retention-*", "retention-7", true),
            ("retention-*", "a-retention-7", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("?", "é", true),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("a.c", "abc", false),
            ("*b*", "aabaa", true),
            ("a*a", "a", false),
            ("*?", "", false),
            ("A", "a", false),
        ] {
            assert_eq!(glob(pattern).matches(name), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        let pattern = glob(&"*a".repeat(512));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(1023))));
    }

    #[test]
    fn covering_is_seen_through_stars_and_question_marks() {
        for (one, other, covers) in [
            ("*", "anything", true),
            ("*", "*", true),
            ("*", "a*b?", true),
            ("a*", "ab*", true),
            ("ab*", "a*", false),
            ("*?", "?*", true),
            ("?*", "*", false),
            ("??", "??", true),
            ("??", "?*", false),
            ("?*a", "*ba", true),
            ("*a*", "xax", true),
            ("a", "a", true),
            ("a", "?", false),
        ] {
            assert_eq!(glob(one).covers(&glob(other)), covers, "{one} {other}");
        }
    }

    /// The definition, as plain as it can be said.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', pattern @ ..], name) => naive_run(pattern, name),
            (['?', pattern @ ..], [_, name @ ..]) => naive(pattern, name),
            ([letter, pattern @ ..], [there, name @ ..]) if letter == there => naive(pattern, name),
            _ => false,
        }
    }

    fn naive_run(pattern: &[char], name: &[char]) -> bool {
        naive(pattern, name) || matches!(name, [_, name @ ..] if naive_run(pattern, name))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_matcher_agrees_with_the_definition(pattern in "[ab*?]{1,8}", name in "[abc]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(glob(&pattern).matches(&name), naive(&chars(&pattern), &chars(&name)));
        }

        #[test]
        fn what_is_covered_is_matched(one in "[ab*?]{1,5}", other in "[ab*?]{1,5}", name in "[abc]{0,7}") {
            if glob(&one).covers(&glob(&other)) && glob(&other).matches(&name) {
                prop_assert!(glob(&one).matches(&name));
            }
        }

        #[test]
        fn every_pattern_covers_itself(pattern in "[ab*?]{1,8}") {
            prop_assert!(glob(&pattern).covers(&glob(&pattern)));
        }
    }
}
