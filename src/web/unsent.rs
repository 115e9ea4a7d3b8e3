//! What answers hold until they are sent, and who is cut off when that is too much.
//!
//! All who are sent the newest reading share it, so what they hold costs nothing. Whoever is slow keeps an old one alive,
//! each perhaps another: a client that asks once a second and reads nothing would make the exporter hold as many as there
//! may be connections. So what is held besides the newest answer is bounded, by that answer's own length where that is
//! more, and when there is more, whoever has most answers on their way loses the oldest of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::peer::Peer;

/// Where a piece is, and how long.
type Piece = (usize, u64);

/// What shorter answers hold is bounded by how many connections there are.
const SHORT: u64 = 16 * 1024;

/// All answers that are not yet sent.
#[derive(Debug)]
pub(super) struct Ledger {
    /// How much may be held besides the newest answer.
    most: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    numbered: u64,
    /// In the order in which they were made.
    answers: BTreeMap<u64, Answer>,
    /// How many answers each piece is held by.
    pieces: HashMap<Piece, usize>,
    /// Each piece counted once.
    bytes: u64,
}

#[derive(Debug)]
struct Answer {
    peer: Peer,
    pieces: Vec<Piece>,
    leave: CancellationToken,
}

/// One answer in the ledger, until this is dropped.
#[derive(Debug)]
pub(super) struct Unsent {
    ledger: Arc<Ledger>,
    /// Of a long one.
    number: Option<u64>,
}

impl Ledger {
    pub(super) fn of(most: u64) -> Self {
        Self { most, held: Mutex::default() }
    }

    /// Enters an answer of these pieces, and asks others to leave if more is held now than may be.
    pub(super) fn enter<'a>(
        ledger: &Arc<Self>,
        peer: Peer,
        pieces: impl Iterator<Item = &'a [u8]>,
        leave: &CancellationToken,
    ) -> Unsent {
        let pieces: Vec<Piece> = pieces.map(|piece| (piece.as_ptr().addr(), piece.len() as u64)).collect();
        let bytes: u64 = pieces.iter().map(|(_, bytes)| bytes).sum();
        let number = (bytes > SHORT).then(|| {
            let mut held = ledger.held();
            let number = held.add(Answer { peer, pieces, leave: leave.clone() });
            held.cut_off(number, bytes.saturating_add(ledger.most.max(bytes)));
            number
        });
        Unsent { ledger: Arc::clone(ledger), number }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, answer: Answer) -> u64 {
        for piece in &answer.pieces {
            let holders = self.pieces.entry(*piece).or_default();
            *holders += 1;
            if *holders == 1 {
                self.bytes += piece.1;
            }
        }
        self.numbered += 1;
        self.answers.insert(self.numbered, answer);
        self.numbered
    }

    fn remove(&mut self, number: u64) -> Option<Answer> {
        let answer = self.answers.remove(&number)?;
        for piece in &answer.pieces {
            if let Some(holders) = self.pieces.get_mut(piece) {
                *holders -= 1;
                if *holders == 0 {
                    self.pieces.remove(piece);
                    self.bytes -= piece.1;
                }
            }
        }
        Some(answer)
    }

    /// Asks others than this newest answer to leave until no more than so much is held.
    fn cut_off(&mut self, newest: u64, most: u64) {
        if self.bytes <= most {
            return;
        }
        let shared = self.answers.get(&newest).map_or(&[][..], |newest| &newest.pieces);
        let shared: HashSet<Piece> = shared.iter().copied().collect();
        // Whoever is sent the same holds nothing more.
        let more = |answer: &Answer| answer.pieces.iter().any(|piece| !shared.contains(piece));
        let mut others: Vec<_> = self
            .answers
            .iter()
            .filter(|(_, answer)| more(answer))
            .map(|(number, answer)| (answer.peer, *number))
            .collect();
        let mut of = HashMap::<Peer, usize>::new();
        for (peer, _) in &others {
            *of.entry(*peer).or_default() += 1;
        }
        while self.bytes > most {
            // The oldest of those that are alike is the first.
            let next = others.iter().enumerate().rev().max_by_key(|(_, (peer, _))| of.get(peer));
            let Some((at, (peer, number))) = next.map(|(at, other)| (at, *other)) else { return };
            others.remove(at);
            of.entry(peer).and_modify(|left| *left -= 1);
            if let Some(answer) = self.remove(number) {
                tracing::info!(%peer, "an answer was cut off: its client was slow, and newer ones need the memory");
                answer.leave.cancel();
            }
        }
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.ledger.held().remove(number);
        }
    }
}

#[cfg(test)]
#[path = "unsent/tests.rs"]
mod tests;
