//! HTTP basic authentication.
//!
//! The response time does not reveal which users exist: the password of an unknown user is compared with the hash of an
//! existing user. bcrypt occupies a core for a while, so one comparison runs at a time, on the blocking thread pool, and the
//! results are cached by a keyed hash; no password stays in memory. A peer with a recent wrong password waits for all other
//! such peers, so they together get at most every second comparison.

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

/// How long a login waits for its comparison.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Different logins of one peer that may wait at once; more are turned away. A peer that guesses then delays others little,
/// and clients with a valid password seldom send more at once.
const MAX_PENDING: usize = 8;
/// Cached results of each kind, and remembered peers with a wrong password.
const CACHE_SIZE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginResult {
    Accepted,
    /// The credentials are wrong or missing.
    Rejected,
    Busy,
}

/// Checks logins and caches the results.
pub(super) struct BasicAuth {
    /// The secret key of the login digests.
    key: [u8; 32],
    state: Mutex<LoginState>,
    /// One comparison at a time.
    comparison: Arc<Semaphore>,
    /// One peer with a recent wrong password at a time waits for a comparison.
    suspects: Semaphore,
    #[cfg(test)]
    comparisons: std::sync::atomic::AtomicUsize,
}

#[derive(Default)]
struct LoginState {
    /// Kept apart from rejected logins, so that guesses do not evict valid logins.
    accepted: VecDeque<LoginDigest>,
    rejected: VecDeque<LoginDigest>,
    suspects: VecDeque<Peer>,
    pending: Vec<(Peer, LoginDigest)>,
}

/// A keyed hash of the user, the password and the bcrypt hash.
type LoginDigest = [u8; 32];

impl LoginState {
    fn cached(&self, login: &LoginDigest) -> Option<LoginResult> {
        if self.accepted.contains(login) {
            return Some(LoginResult::Accepted);
        }
        self.rejected.contains(login).then_some(LoginResult::Rejected)
    }
}

/// Appends an entry, in place of the oldest one if the cache is full.
fn cache<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() == CACHE_SIZE {
        entries.pop_front();
    }
    entries.push_back(entry);
}

impl BasicAuth {
    /// The key must be random and secret.
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            state: Mutex::default(),
            comparison: Arc::new(Semaphore::new(1)),
            suspects: Semaphore::new(1),
            #[cfg(test)]
            comparisons: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    pub(super) async fn check(&self, users: &Users, headers: &HeaderMap, peer: Peer) -> LoginResult {
        let Some((user, password)) = credentials(headers) else { return LoginResult::Rejected };
        let known = users.hash_of(&user);
        let hash = known.unwrap_or_else(|| users.decoy_hash(self.decoy_number(&user))).to_owned();
        let login = self.login_digest(&user, &hash, &password);
        if let Some(result) = self.state().cached(&login) {
            return result;
        }
        let Some(_pending) = self.enqueue(peer, login) else { return LoginResult::Busy };
        let Ok(Some((permit, _suspect))) = timeout(TIMEOUT, self.acquire(peer)).await else { return LoginResult::Busy };
        // The same login may have been compared in the meantime.
        if let Some(result) = self.state().cached(&login) {
            return result;
        }
        #[cfg(test)]
        self.comparisons.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let known = known.is_some();
        let comparison = tokio::task::spawn_blocking(move || {
            let matches = matches!(bcrypt::non_truncating_verify(&password, &hash), Ok(true)) && known;
            (matches, permit)
        });
        // The permit is released after the result is cached, or by the task if the request is gone.
        let Ok((matches, _permit)) = comparison.await else { return LoginResult::Busy };
        let mut state = self.state();
        if matches {
            cache(&mut state.accepted, login);
            return LoginResult::Accepted;
        }
        cache(&mut state.rejected, login);
        state.suspects.retain(|other| *other != peer);
        cache(&mut state.suspects, peer);
        LoginResult::Rejected
    }

    /// Waits for a comparison; a suspect first waits for the other suspects.
    async fn acquire(&self, peer: Peer) -> Option<(OwnedSemaphorePermit, Option<SemaphorePermit<'_>>)> {
        let is_suspect = self.state().suspects.contains(&peer);
        let suspect = if is_suspect { Some(self.suspects.acquire().await.ok()?) } else { None };
        Some((Arc::clone(&self.comparison).acquire_owned().await.ok()?, suspect))
    }

    /// Adds a login to those that wait, unless too many different ones of its peer do.
    fn enqueue(&self, peer: Peer, login: LoginDigest) -> Option<PendingLogin<'_>> {
        let mut state = self.state();
        let of_peer = state.pending.iter().filter(|(other_peer, other)| *other_peer == peer && *other != login);
        let mut others: Vec<_> = of_peer.map(|(_, other)| *other).collect();
        others.sort_unstable();
        others.dedup();
        if others.len() >= MAX_PENDING {
            return None;
        }
        state.pending.push((peer, login));
        Some(PendingLogin { auth: self, entry: (peer, login) })
    }

    fn state(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Includes the bcrypt hash, so that a changed password invalidates cached results.
    fn login_digest(&self, user: &[u8], hash: &str, password: &[u8]) -> LoginDigest {
        self.keyed_hash(&[b"login", user, hash.as_bytes(), password])
    }

    /// A number that is constant for a user name and cannot be predicted.
    fn decoy_number(&self, user: &[u8]) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.keyed_hash(&[b"user", user]);
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    fn keyed_hash(&self, parts: &[&[u8]]) -> LoginDigest {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return self.key };
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// A login that waits for its comparison, until this is dropped.
struct PendingLogin<'a> {
    auth: &'a BasicAuth,
    entry: (Peer, LoginDigest),
}

impl Drop for PendingLogin<'_> {
    fn drop(&mut self) {
        let mut state = self.auth.state();
        let at = state.pending.iter().position(|entry| *entry == self.entry);
        at.map(|at| state.pending.swap_remove(at));
    }
}

impl std::fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<basic auth>")
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
mod tests;
