//! Patterns as Redis reads them: `*`, `?`, `[a-z]`, `[^a-z]`, and `\` before a character that is to stand for itself.

use crate::wildcard;

/// A pattern for a whole key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisGlob {
    text: Box<str>,
    tokens: Box<[Token]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Any,
    Run,
    Class { ranges: Box<[(u8, u8)]>, negated: bool },
}

impl RedisGlob {
    pub(super) fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, mut after)) = rest.split_first() {
            let token = match first {
                b'*' => Token::Run,
                b'?' => Token::Any,
                b'[' => class(&mut after),
                b'\\' if !after.is_empty() => Token::Byte(take(&mut after)),
                byte => Token::Byte(*byte),
            };
            if token != Token::Run || tokens.last() != Some(&Token::Run) {
                tokens.push(token);
            }
            rest = after;
        }
        Self { text: text.into(), tokens: tokens.into() }
    }

    pub(super) const fn text(&self) -> &str {
        &self.text
    }

    /// Whether the pattern matches the whole key.
    pub(super) fn matches(&self, key: &[u8]) -> bool {
        wildcard::matches(&self.tokens, key.iter().copied(), |token| *token == Token::Run, Token::takes)
    }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => true,
            Self::Run => false,
            Self::Class { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&byte)) != *negated
            }
        }
    }
}

/// Removes the first byte. The caller has checked that there is one.
fn take(rest: &mut &[u8]) -> u8 {
    let (first, after) = rest.split_first().unwrap_or((&0, &[]));
    *rest = after;
    *first
}

/// Parses a class after its `[`. A class without `]` extends to the end.
fn class(rest: &mut &[u8]) -> Token {
    let negated = rest.first() == Some(&b'^');
    if negated {
        take(rest);
    }
    let mut ranges = Vec::new();
    while !rest.is_empty() {
        match take(rest) {
            b']' => break,
            b'\\' if !rest.is_empty() => {
                let byte = take(rest);
                ranges.push((byte, byte));
            }
            low if rest.first() == Some(&b'-') && rest.len() >= 2 => {
                take(rest);
                let high = take(rest);
                ranges.push((low.min(high), low.max(high)));
            }
            byte => ranges.push((byte, byte)),
        }
    }
    Token::Class { ranges: ranges.into(), negated }
}
