//! What a configuration asks of whoever comes, and what of that may end while the exporter serves.

use std::fmt;

use super::WebConfig;
use super::problem::Problem;

/// What is asked of whoever comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Whether connections are protected by TLS.
    pub tls: bool,
    /// Whether clients need certificates that an authority signed.
    pub client_certificates: bool,
    /// How many users there are; where there are none, nobody is asked for a password.
    pub users: usize,
}

impl WebConfig {
    /// What it asks of whoever comes.
    #[must_use]
    pub fn protection(&self) -> Protection {
        Protection {
            tls: self.tls.is_some(),
            client_certificates: self.tls.as_ref().is_some_and(|tls| tls.requires_certificates()),
            users: self.users.as_ref().map_or(0, |users| users.count()),
        }
    }

    /// Whether it says anything at all.
    fn is_empty(&self) -> bool {
        self.tls.is_none() && self.users.is_none() && self.rate.is_none() && self.headers.is_empty()
    }

    /// What keeps it from following another while the exporter serves. A file that is being written is for a moment
    /// empty or not yet whole: taken at its word, it would let in whoever comes.
    pub(super) fn opens_after(&self, held: &Self) -> Option<Problem> {
        let (now, then) = (self.protection(), held.protection());
        if self.is_empty() && !held.is_empty() {
            Some(Problem::Emptied)
        } else if then.tls && !now.tls {
            Some(Problem::Opens("TLS"))
        } else if then.client_certificates && !now.client_certificates {
            Some(Problem::Opens("the certificates that clients need"))
        } else if then.users > 0 && now.users == 0 {
            Some(Problem::Opens("passwords"))
        } else {
            None
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = match (self.tls, self.client_certificates) {
            (true, true) => "TLS, client certificates required",
            (true, false) => "TLS",
            (false, _) => "no TLS",
        };
        match self.users {
            0 => write!(f, "{tls}, no passwords")?,
            1 => write!(f, "{tls}, a password of 1 user")?,
            users => write!(f, "{tls}, a password of one of {users} users")?,
        }
        if !self.client_certificates && self.users == 0 {
            f.write_str("; whoever can connect may read everything")?;
        }
        Ok(())
    }
}
