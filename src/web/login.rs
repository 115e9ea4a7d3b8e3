//! Basic authentication: whether who asks is one of the users.
//!
//! How long an answer takes tells nothing of who is a user: one who is not is checked against the hash of one who is.
//! bcrypt takes a core for a while, so there is one at a time, away from the threads that answer, and its verdicts are
//! kept. They are kept under a keyed hash, so that no password stays in memory. Whoever guessed wrong of late takes turns with
//! others who did, and all of these together no more than every other turn of those who did not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::Sha256;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::config::Users;
use super::connection::Peer;

/// How long a client waits for those who came before it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many logins of one peer may wait to be checked, so that one who guesses keeps nobody else waiting for long. More
/// are refused; of those who know their password, so many seldom come at once from one place for the first time.
const WAITING: usize = 8;
/// How many verdicts of a kind are kept.
const KEPT: usize = 256;

/// What came of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a user.
    Admitted,
    /// It is not, or does not say.
    Refused,
    /// Too many others are being checked.
    Busy,
}

/// Checks logins, and remembers what came of them.
pub(super) struct Login {
    key: [u8; 32],
    /// Those that were let in and those that were not, apart: who guesses cannot push out who knows.
    admitted: Kept,
    refused: Kept,
    turn: Arc<Semaphore>,
    /// Whose logins were refused last, each peer once.
    wrong: Mutex<VecDeque<Peer>>,
    /// Of these, one at a time waits for a turn.
    behind: Semaphore,
    /// What waits to be checked, and whose it is.
    waiting: Mutex<Vec<(Peer, Code)>>,
    #[cfg(test)]
    checked: std::sync::atomic::AtomicUsize,
}

/// A user and password with the hash that they are checked against, as an authentication code.
type Code = [u8; 32];

#[derive(Default)]
struct Kept(Mutex<VecDeque<Code>>);

impl Kept {
    fn has(&self, code: &Code) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(code)
    }

    fn keep(&self, code: Code) {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() == KEPT {
            codes.pop_front();
        }
        codes.push_back(code);
    }
}

impl Login {
    /// One that knows of no verdict, with a key that nobody knows.
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            admitted: Kept::default(),
            refused: Kept::default(),
            turn: Arc::new(Semaphore::new(1)),
            wrong: Mutex::default(),
            behind: Semaphore::new(1),
            waiting: Mutex::default(),
            #[cfg(test)]
            checked: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Whether a request comes from one of the users.
    pub(super) async fn verdict(&self, users: &Users, headers: &HeaderMap, peer: Peer) -> Verdict {
        let Some((user, password)) = credentials(headers) else { return Verdict::Refused };
        let known = users.hash_of(&user);
        let hash = known.unwrap_or_else(|| users.hash_by(self.number(&user))).to_owned();
        let code = self.code(&user, &hash, &password);
        if let Some(verdict) = self.kept(&code) {
            return verdict;
        }
        let Some(_waiting) = self.wait(peer, code) else { return Verdict::Busy };
        let Ok(Some((turn, _behind))) = timeout(PATIENCE, self.turn(peer)).await else { return Verdict::Busy };
        // One that came before it with the same may have been checked in the meantime.
        if let Some(verdict) = self.kept(&code) {
            return verdict;
        }
        #[cfg(test)]
        self.checked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let known = known.is_some();
        let check = tokio::task::spawn_blocking(move || {
            let right = matches!(bcrypt::non_truncating_verify(&password, &hash), Ok(true)) && known;
            (right, turn)
        });
        // The turn ends once the verdict is kept, or with the work, if nobody waits for it any more.
        let Ok((right, _turn)) = check.await else { return Verdict::Busy };
        if right {
            self.admitted.keep(code);
            return Verdict::Admitted;
        }
        self.refused.keep(code);
        self.was_wrong(peer);
        Verdict::Refused
    }

    /// The turn of a peer, once it comes, and what keeps others who were wrong behind it if it was.
    async fn turn(&self, peer: Peer) -> Option<(OwnedSemaphorePermit, Option<SemaphorePermit<'_>>)> {
        let wrong = self.wrong().contains(&peer);
        let behind = if wrong { Some(self.behind.acquire().await.ok()?) } else { None };
        Some((Arc::clone(&self.turn).acquire_owned().await.ok()?, behind))
    }

    fn was_wrong(&self, peer: Peer) {
        let mut wrong = self.wrong();
        wrong.retain(|other| *other != peer);
        if wrong.len() == KEPT {
            wrong.pop_front();
        }
        wrong.push_back(peer);
    }

    fn wrong(&self) -> MutexGuard<'_, VecDeque<Peer>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits to be checked, unless too many others of the same peer do.
    fn wait(&self, peer: Peer, code: Code) -> Option<WaitLimit<'_>> {
        let mut waiting = self.waiting();
        let mut others: Vec<Code> =
            waiting.iter().filter(|(of, other)| *of == peer && *other != code).map(|(_, other)| *other).collect();
        others.sort_unstable();
        others.dedup();
        if others.len() >= WAITING {
            return None;
        }
        waiting.push((peer, code));
        Some(WaitLimit { login: self, peer, code })
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(Peer, Code)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, code: &Code) -> Option<Verdict> {
        if self.admitted.has(code) {
            return Some(Verdict::Admitted);
        }
        self.refused.has(code).then_some(Verdict::Refused)
    }

    /// Holds for this hash alone: a user who has another from now on is checked again.
    fn code(&self, user: &[u8], hash: &str, password: &[u8]) -> Code {
        self.authenticated(&[b"login", user, hash.as_bytes(), password])
    }

    /// A number that is always the same for a name, and that nobody can foretell.
    fn number(&self, user: &[u8]) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.authenticated(&[b"user", user]);
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    fn authenticated(&self, parts: &[&[u8]]) -> Code {
        // A key of any length will do, so this one does.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return self.key };
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// A login that waits to be checked.
struct WaitLimit<'a> {
    login: &'a Login,
    peer: Peer,
    code: Code,
}

impl Drop for WaitLimit<'_> {
    fn drop(&mut self) {
        let mut waiting = self.login.waiting();
        let own = waiting.iter().position(|(peer, code)| *peer == self.peer && *code == self.code);
        own.map(|at| waiting.swap_remove(at));
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<login>")
    }
}

/// The user and the password of a request.
pub(super) fn credentials(headers: &HeaderMap) -> Option<(Vec<u8>, Vec<u8>)> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, encoded) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (user, password) = decoded.split_at(colon);
    Some((user.to_vec(), password.get(1..)?.to_vec()))
}

#[cfg(test)]
#[path = "login/tests.rs"]
mod tests;
