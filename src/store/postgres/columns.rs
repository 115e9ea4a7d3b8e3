//! The columns of a query, and how their values are read.

use std::collections::BTreeMap;

use fallible_iterator::FallibleIterator;
use postgres_protocol::Oid;
use postgres_protocol::message::backend::RowDescriptionBody;

use super::failure::Failure;
use super::value::Kind;

/// The columns of a result: name and type of each.
#[derive(Debug)]
pub(super) struct ResultColumns(Vec<(String, Oid)>);

impl ResultColumns {
    pub(super) fn of(body: &RowDescriptionBody) -> Result<Self, Failure> {
        let columns = body.fields().map(|field| Ok((field.name().to_owned(), field.type_oid()))).collect();
        columns.map(Self).map_err(|_| Failure::Protocol)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn types(&self) -> impl Iterator<Item = Oid> {
        self.0.iter().map(|(_, oid)| *oid)
    }
}

/// The types of a query that are defined in the database: which of them are texts.
#[derive(Debug, Default)]
pub(super) struct DatabaseTypes(BTreeMap<Oid, Kind>);

/// The first number of types that are defined in a database.
const FIRST: Oid = 16_384;

impl DatabaseTypes {
    /// How values of a type are decoded; `None` if the type is not known yet.
    pub(super) fn kind(&self, oid: Oid) -> Option<Kind> {
        if oid < FIRST { Some(Kind::of(oid)) } else { self.0.get(&oid).copied() }
    }

    /// The statement that looks up the types that are not known; `None` if all are.
    pub(super) fn question(&self, types: impl Iterator<Item = Oid>) -> Option<String> {
        let unknown: Vec<_> = types.filter(|oid| self.kind(*oid).is_none()).map(|oid| oid.to_string()).collect();
        (!unknown.is_empty()).then(|| {
            format!(
                "SELECT oid, typtype = 'e' OR typname = 'citext' FROM pg_catalog.pg_type WHERE oid IN ({})",
                unknown.join(", ")
            )
        })
    }

    /// Stores the kind of a type.
    pub(super) fn learn(&mut self, oid: Oid, is_text: bool) {
        self.0.insert(oid, if is_text { Kind::Text } else { Kind::Other });
    }
}
