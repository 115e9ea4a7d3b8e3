//! The requirements of a web configuration for clients.

use std::fmt;

use super::WebConfig;
use super::problem::Problem;

/// The requirements for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Whether connections use TLS.
    pub tls: bool,
    /// Whether clients need a certificate signed by a configured authority, or with a configured name.
    pub client_certificates: bool,
    /// The number of users; 0 if no password is required.
    pub users: usize,
}

impl WebConfig {
    /// The requirements for clients.
    #[must_use]
    pub fn protection(&self) -> Protection {
        Protection {
            tls: self.tls.is_some(),
            client_certificates: self.tls.as_ref().is_some_and(|tls| tls.requires_certificates),
            users: self.users.as_ref().map_or(0, |users| users.count()),
        }
    }

    fn is_empty(&self) -> bool {
        self.tls.is_none() && self.users.is_none() && self.rate_limit.is_none() && self.headers.is_empty()
    }

    /// Why this configuration must not replace the previous one while the exporter serves: it has less protection. A file
    /// that is being written is empty or incomplete for a moment, and must not open the exporter to everybody.
    pub(super) fn weakens(&self, previous: &Self) -> Option<Problem> {
        let (new, old) = (self.protection(), previous.protection());
        if self.is_empty() && !previous.is_empty() {
            Some(Problem::Emptied)
        } else if old.tls && !new.tls {
            Some(Problem::Weakened("TLS"))
        } else if old.client_certificates && !new.client_certificates {
            Some(Problem::Weakened("the certificates that clients need"))
        } else if old.users > 0 && new.users == 0 {
            Some(Problem::Weakened("passwords"))
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
