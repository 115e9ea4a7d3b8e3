//! The users of basic authentication.

use std::collections::BTreeMap;

use bcrypt::HashParts;

use super::problem::{Problem, Problems};
use super::raw::Text;

const MIN_COST: u32 = 4;
/// About four seconds of one core for the first login. A higher cost would exceed many scrape timeouts.
const MAX_COST: u32 = 16;

/// Users with the bcrypt hashes of their passwords; at least one.
pub(in crate::web) struct Users(Vec<(String, String)>);

impl Users {
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(in crate::web) fn hash_of(&self, user: &[u8]) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.as_bytes() == user).map(|(_, hash)| hash.as_str())
    }

    /// One of the hashes, always the same for the same number. The password of an unknown user is compared with it, so
    /// that the response time does not reveal which users exist.
    pub(in crate::web) fn decoy_hash(&self, number: u64) -> &str {
        let at = number.checked_rem(self.0.len() as u64).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.0.get(at)).map_or("", |(_, hash)| hash)
    }
}

pub(super) fn convert(raw: BTreeMap<String, Text>, problems: &mut Problems) -> Option<Users> {
    let mut users = Vec::with_capacity(raw.len());
    for (name, hash) in raw {
        let line = hash.referenced.line();
        if name.contains(':') {
            problems.note(line, Problem::UserName);
        }
        match hash.value.parse::<HashParts>().map(|parts| parts.get_cost()) {
            Ok(cost) if !(MIN_COST..=MAX_COST).contains(&cost) => {
                problems.note(line, Problem::Cost { cost, most: MAX_COST })
            }
            Ok(_) => users.push((name, hash.value)),
            Err(_) => problems.note(line, Problem::NoHash),
        }
    }
    (!users.is_empty()).then_some(Users(users))
}
