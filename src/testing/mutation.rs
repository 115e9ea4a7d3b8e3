//! Random changes of real inputs.

use proptest::prelude::*;
use proptest::sample::Index;

/// One change of a text. An `Index` is a position, scaled to the length of the text.
#[derive(Clone, Debug)]
enum Mutation {
    /// Inverts one bit of one byte.
    Flip(Index, u8),
    /// Removes some bytes.
    Remove(Index, usize),
    /// Copies some bytes to another position.
    Copy { from: Index, bytes: usize, to: Index },
    /// Inserts a token.
    Insert(Index, String),
    /// Replaces a word by a token.
    Reposition(Index, String),
    /// Exchanges two lines.
    Swap(Index, Index),
    /// Replaces everything after a position by the end of another text.
    Splice { at: Index, other: Index, from: Index },
    /// Removes everything after a position.
    Truncate(Index),
    /// Repeats some bytes many times.
    Repeat(Index, usize, usize),
    /// Replaces line feeds by carriage return and line feed.
    CrLf,
}

/// One of `texts` after a few mutations. `tokens` are the words that have a meaning in the format of the texts.
pub(crate) fn mutated_bytes(texts: Vec<Vec<u8>>, tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let mutations = prop::collection::vec(mutation(tokens), 1..6);
    (any::<Index>(), mutations).prop_map(move |(text, mutations)| {
        let text = text.get(&texts).clone();
        mutations.iter().fold(text, |text, mutation| mutation.apply(text, &texts))
    })
}

/// As [`mutated_bytes`], with invalid UTF-8 replaced.
pub(crate) fn mutated(texts: &[&str], tokens: &'static [&'static str]) -> impl Strategy<Value = String> + use<> {
    let texts = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    mutated_bytes(texts, tokens).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn mutation(tokens: &'static [&'static str]) -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    let token = move || {
        prop_oneof![
            6 => prop::sample::select(tokens).prop_map(str::to_owned),
            1 => super::hostile::text(),
            1 => any::<i128>().prop_map(|number| number.to_string()),
            1 => any::<f64>().prop_map(|number| format!("{number:e}")),
        ]
    };
    prop_oneof![
        2 => (at(), 0_u8..8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        2 => (at(), 1_usize..20).prop_map(|(at, bytes)| Mutation::Remove(at, bytes)),
        2 => (at(), 1_usize..60, at()).prop_map(|(from, bytes, to)| Mutation::Copy { from, bytes, to }),
        4 => (at(), token()).prop_map(|(at, token)| Mutation::Insert(at, token)),
        4 => (at(), token()).prop_map(|(at, token)| Mutation::Reposition(at, token)),
        2 => (at(), at()).prop_map(|(first, second)| Mutation::Swap(first, second)),
        2 => (at(), at(), at()).prop_map(|(at, other, from)| Mutation::Splice { at, other, from }),
        1 => at().prop_map(Mutation::Truncate),
        1 => (at(), 1_usize..12, 2_usize..300).prop_map(|(at, bytes, times)| Mutation::Repeat(at, bytes, times)),
        1 => Just(Mutation::CrLf),
    ]
}

impl Mutation {
    fn apply(&self, mut text: Vec<u8>, texts: &[Vec<u8>]) -> Vec<u8> {
        let position = |index: &Index, text: &[u8]| index.index(text.len() + 1);
        match self {
            Self::Flip(at, bit) => {
                if let Some(byte) = at.index(text.len() + 1).checked_sub(1).and_then(|at| text.get_mut(at)) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Remove(at, bytes) => {
                let at = position(at, &text);
                text.drain(at..(at + bytes).min(text.len()));
            }
            Self::Copy { from, bytes, to } => {
                let from = position(from, &text);
                let copied = text[from..(from + bytes).min(text.len())].to_vec();
                let to = position(to, &text);
                text.splice(to..to, copied);
            }
            Self::Insert(at, token) => {
                let at = position(at, &text);
                text.splice(at..at, token.bytes());
            }
            Self::Reposition(at, token) => {
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
                let at = position(at, &text);
                let begins = text[..at].iter().rposition(|byte| !word(byte)).map_or(0, |before| before + 1);
                let ends = text[at..].iter().position(|byte| !word(byte)).map_or(text.len(), |after| at + after);
                text.splice(begins..ends, token.bytes());
            }
            Self::Swap(first, second) => {
                let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let (first, second) = (first.index(lines.len()), second.index(lines.len()));
                    lines.swap(first, second);
                }
                text = lines.concat();
            }
            Self::Splice { at, other, from } => {
                let other = other.get(texts);
                text.truncate(position(at, &text));
                text.extend_from_slice(&other[position(from, other)..]);
            }
            Self::Truncate(at) => text.truncate(position(at, &text)),
            Self::Repeat(at, bytes, times) => {
                let at = position(at, &text);
                let end = (at + bytes).min(text.len());
                let piece = text[at..end].repeat(*times);
                text.splice(at..end, piece);
            }
            Self::CrLf => {
                let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
                text = lines.join(&b"\r\n"[..]);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a property test could try the same input again and again without notice.
    #[test]
    fn nearly_every_mutation_changes_the_text() {
        use proptest::strategy::ValueTree as _;
        let texts = vec![b"a: 1\nb: 2\n".to_vec(), b"c: [x, y]\n".to_vec()];
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let inputs = mutated_bytes(texts.clone(), &["&a ", "*a"]);
        let all: std::collections::BTreeSet<_> =
            (0..500).map(|_| inputs.new_tree(&mut runner).unwrap().current()).collect();
        assert!(all.len() > 450 && all.iter().filter(|text| texts.contains(text)).count() <= 2, "{}", all.len());
    }
}
