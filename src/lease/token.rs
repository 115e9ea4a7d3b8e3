//! Tokens, which are shown in place of the names of holders.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The token of a holder: the first 16 hex digits of the HMAC-SHA256 of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderToken([u8; 16]);

impl HolderToken {
    /// The 16 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The bytes are ASCII hex digits.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The first four digits, enough to tell a few holders apart in a sentence.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.as_str()[..4]
    }
}

impl fmt::Debug for HolderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for HolderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The key of the HMAC. Replicas with the same key show the same tokens.
#[derive(Clone)]
pub struct TokenKey(Hmac<Sha256>);

impl TokenKey {
    /// A key of any length; short ones are weak.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        // HMAC takes keys of any length, so this cannot fail.
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The token of a holder's name.
    #[must_use]
    pub fn token(&self, holder: &str) -> HolderToken {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut mac = self.0.clone();
        mac.update(holder.as_bytes());
        let digest = mac.finalize().into_bytes();
        let mut token = [0; 16];
        for (pair, byte) in token.chunks_exact_mut(2).zip(digest) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        HolderToken(token)
    }
}

/// Keys are compared by a token, because the secret is not kept.
impl PartialEq for TokenKey {
    fn eq(&self, other: &Self) -> bool {
        self.token("") == other.token("")
    }
}

impl Eq for TokenKey {}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn a_token_is_the_head_of_hmac_sha256() {
        let key = TokenKey::new(b"Jefe");
        assert_eq!(key.token("what do ya want for nothing?").as_str(), "5bdcc146bf60754e");
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", TokenKey::new(b"planted")), "<secret>");
    }
}
