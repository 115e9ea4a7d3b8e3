//! Texts changed as an editor, a template, a bad disk or somebody with ill will would change them.

use proptest::prelude::*;
use proptest::sample::Index;

/// One change of a text, wherever it is.
#[derive(Clone, Debug)]
enum Mutation {
    /// One bit of one byte.
    Flip(Index, u8),
    /// Some bytes, gone.
    Remove(Index, usize),
    /// Some bytes, once more somewhere else.
    Copy { from: Index, bytes: usize, to: Index },
    /// Something put in.
    Insert(Index, String),
    /// Something in the place of a word.
    Replace(Index, String),
    /// Two lines, each in the other's place.
    Swap(Index, Index),
    /// What is before here, and what is after there in another text.
    Splice { at: Index, other: Index, from: Index },
    /// The end, gone.
    Truncate(Index),
    /// A piece many times over.
    Repeat(Index, usize, usize),
    /// Every line ends as on another system.
    LineEnds,
}

/// A text that is there, and what becomes of it.
#[derive(Clone, Debug)]
struct Mutated {
    text: Index,
    mutations: Vec<Mutation>,
}

/// Mutations of some of these texts, a few to each, as bytes. `tokens` are what means something in them.
pub(crate) fn mutated(texts: Vec<Vec<u8>>, tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let mutations = prop::collection::vec(mutation(tokens), 1..6);
    (any::<Index>(), mutations).prop_map(|(text, mutations)| Mutated { text, mutations }).prop_map(move |mutated| {
        let text = mutated.text.get(&texts).clone();
        mutated.mutations.iter().fold(text, |text, mutation| mutation.of(text, &texts))
    })
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
        4 => (at(), token()).prop_map(|(at, token)| Mutation::Replace(at, token)),
        2 => (at(), at()).prop_map(|(one, other)| Mutation::Swap(one, other)),
        2 => (at(), at(), at()).prop_map(|(at, other, from)| Mutation::Splice { at, other, from }),
        1 => at().prop_map(Mutation::Truncate),
        1 => (at(), 1_usize..12, 2_usize..300).prop_map(|(at, bytes, times)| Mutation::Repeat(at, bytes, times)),
        1 => Just(Mutation::LineEnds),
    ]
}

impl Mutation {
    fn of(&self, mut text: Vec<u8>, texts: &[Vec<u8>]) -> Vec<u8> {
        let place = |index: &Index, text: &[u8]| index.index(text.len() + 1);
        match self {
            Self::Flip(at, bit) => {
                if let Some(byte) = at.index(text.len() + 1).checked_sub(1).and_then(|at| text.get_mut(at)) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Remove(at, bytes) => {
                let at = place(at, &text);
                text.drain(at..(at + bytes).min(text.len()));
            }
            Self::Copy { from, bytes, to } => {
                let from = place(from, &text);
                let copied = text[from..(from + bytes).min(text.len())].to_vec();
                let to = place(to, &text);
                text.splice(to..to, copied);
            }
            Self::Insert(at, token) => {
                let at = place(at, &text);
                text.splice(at..at, token.bytes());
            }
            Self::Replace(at, token) => {
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
                let at = place(at, &text);
                let begins = text[..at].iter().rposition(|byte| !word(byte)).map_or(0, |before| before + 1);
                let ends = text[at..].iter().position(|byte| !word(byte)).map_or(text.len(), |after| at + after);
                text.splice(begins..ends, token.bytes());
            }
            Self::Swap(one, other) => {
                let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                    lines.swap(one, other);
                }
                text = lines.concat();
            }
            Self::Splice { at, other, from } => {
                let other = other.get(texts);
                text.truncate(place(at, &text));
                text.extend_from_slice(&other[place(from, other)..]);
            }
            Self::Truncate(at) => text.truncate(place(at, &text)),
            Self::Repeat(at, bytes, times) => {
                let at = place(at, &text);
                let end = (at + bytes).min(text.len());
                let piece = text[at..end].repeat(*times);
                text.splice(at..end, piece);
            }
            Self::LineEnds => {
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

    /// Else a target would try the same text again and again, and nobody would notice.
    #[test]
    fn nearly_every_mutation_changes_the_text() {
        use proptest::strategy::ValueTree as _;
        let texts = vec![b"a: 1\nb: 2\n".to_vec(), b"c: [x, y]\n".to_vec()];
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let inputs = mutated(texts.clone(), &["&a ", "*a"]);
        let all: std::collections::BTreeSet<_> =
            (0..500).map(|_| inputs.new_tree(&mut runner).unwrap().current()).collect();
        assert!(all.len() > 450 && all.iter().filter(|text| texts.contains(text)).count() <= 2, "{}", all.len());
    }
}
