//! Who may ask.

use std::collections::BTreeMap;
use std::fmt;

use bcrypt::HashParts;

use super::problem::{Faults, Problem};
use super::raw::Text;

/// Four seconds of a core for each first login; the next step would be past many a scrape's time.
const MOST_COST: u32 = 16;
const LEAST_COST: u32 = 4;

/// The users and the hashes of their passwords; at least one.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::web) struct Users(Vec<(String, String)>);

impl Users {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The hash of a user's password.
    pub(in crate::web) fn hash_of(&self, user: &[u8]) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.as_bytes() == user).map(|(_, hash)| hash.as_str())
    }

    /// One of the hashes, always the same for the same number: what a user who is not there is checked against, so that
    /// it takes the time that one who is there takes.
    pub(in crate::web) fn hash_by(&self, number: u64) -> &str {
        let at = number.checked_rem(self.0.len() as u64).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.0.get(at)).map_or("", |(_, hash)| hash)
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} users>", self.0.len())
    }
}

pub(super) fn checked(users: BTreeMap<String, Text>, faults: &mut Faults) -> Option<Users> {
    let mut checked = Vec::with_capacity(users.len());
    for (name, hash) in users {
        let line = hash.referenced.line();
        if name.contains(':') {
            faults.note(line, Problem::UserName);
        }
        match hash.value.parse::<HashParts>().map(|parts| parts.get_cost()) {
            Ok(cost) if !(LEAST_COST..=MOST_COST).contains(&cost) => {
                faults.note(line, Problem::Cost { cost, most: MOST_COST })
            }
            Ok(_) => checked.push((name, hash.value)),
            Err(_) => faults.note(line, Problem::NoHash),
        }
    }
    (!checked.is_empty()).then_some(Users(checked))
}
