//! What is asked of a store that speaks SQL.

use std::sync::Arc;

use super::ReadError;

/// One statement, or the one among several that fits the version of what is stored.
#[derive(Clone, PartialEq, Eq)]
pub enum Statement {
    /// This one.
    Fixed(Arc<str>),
    /// The one that the answer of another statement names.
    Probed {
        /// Gives one row with one text: the name of a variant.
        probe: Arc<str>,
        /// The statements by name.
        variants: Arc<[(Box<str>, Arc<str>)]>,
    },
}

impl Statement {
    /// The statement that is asked first, if there is one.
    #[must_use]
    pub const fn probe(&self) -> Option<&Arc<str>> {
        match self {
            Self::Fixed(_) => None,
            Self::Probed { probe, .. } => Some(probe),
        }
    }

    /// The statement itself, or the one that the probe's answer names.
    ///
    /// # Errors
    /// [`ReadError::SchemaMismatch`] when it names none.
    pub fn chosen(&self, answer: Option<&str>) -> Result<Arc<str>, ReadError> {
        let variants = match self {
            Self::Fixed(sql) => return Ok(Arc::clone(sql)),
            Self::Probed { variants, .. } => variants,
        };
        let found = variants.iter().find(|(name, _)| Some(&**name) == answer);
        found.map(|(_, sql)| Arc::clone(sql)).ok_or_else(|| {
            let known: Vec<_> = variants.iter().map(|(name, _)| &**name).collect();
            ReadError::SchemaMismatch(format!(
                "the tables are of none of the versions that the preset reads: {}",
                known.join(", ")
            ))
        })
    }
}

/// A statement may hold anything, so it is left out.
impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fixed(_) => "<statement>",
            Self::Probed { .. } => "<statements>",
        })
    }
}
