//! Rows of a real SQLite database with values of any type in any column.

use std::time::Duration;

use proptest::prelude::*;
use rusqlite::types::Value as Stored;

use super::expected::{doubles, integers};
use crate::lease::{Column, LeaseRecord};
use crate::store::Scope;
use crate::store::column::Value;
use crate::store::rows::decode;
use crate::store::sqlite::SqliteQuery;
use crate::testing::{cases, hostile};

fn stored() -> impl Strategy<Value = Stored> {
    prop_oneof![
        1 => Just(Stored::Null),
        3 => integers().prop_map(|number| Stored::Integer(i64::try_from(number).unwrap_or(i64::MIN))),
        2 => doubles().prop_map(Stored::Real),
        2 => hostile::text().prop_map(Stored::Text),
        1 => "20[0-9]{2}-0[1-9]-[0-2][1-9] 1[0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,7})?".prop_map(Stored::Text),
        1 => "[0-9]{1,22}".prop_map(Stored::Text),
        1 => prop::collection::vec(any::<u8>(), 0..6).prop_map(Stored::Blob),
    ]
}

/// The value as SQLite returns it.
fn value(stored: &Stored) -> Value<'_> {
    match stored {
        Stored::Null => Value::Null,
        Stored::Integer(number) => Value::Integer((*number).into()),
        // SQLite stores NaN as NULL.
        Stored::Real(number) if number.is_nan() => Value::Null,
        Stored::Real(number) => Value::Real(*number),
        Stored::Text(text) => Value::Text(text.as_bytes()),
        Stored::Blob(_) => Value::Other,
    }
}

#[test]
fn row_is_read_as_it_is_stored_or_the_invalid_column_is_named() {
    let columns: Vec<Column> = Column::ALL.into_iter().filter(|column| *column != Column::StoreNow).collect();
    let names: Vec<_> = columns.iter().map(|column| column.as_str()).collect();
    let sql = format!("SELECT 1796040000 AS store_now, {} FROM t", names.join(", "));
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute(&format!("CREATE TABLE t ({})", names.join(", ")), ()).unwrap();
    let marks = vec!["?"; columns.len()].join(", ");
    let valid = |column: Column| match column {
        Column::Lease | Column::Holder => Stored::Text("x".to_owned()),
        Column::AcquiredAt | Column::RenewedAt | Column::ExpiresAt | Column::ProgressAt | Column::OldestDueAt => {
            Stored::Integer(1_796_039_000)
        }
        _ => Stored::Integer(7),
    };
    let width = columns.len();
    let changed = prop::collection::vec((0..width, stored()), 0..4);
    proptest!(cases(5_000), |(changed in changed)| {
        let mut row: Vec<Stored> = columns.iter().map(|column| valid(*column)).collect();
        for (at, stored) in changed {
            row[at] = stored;
        }
        connection.execute("DELETE FROM t", ()).unwrap();
        connection.execute(&format!("INSERT INTO t VALUES ({marks})"), rusqlite::params_from_iter(&row)).unwrap();
        let query = SqliteQuery::new(sql.as_str().into(), Scope { only_lease: "source".into(), max_leases: 10 });
        let output = query.read(&connection, Duration::from_secs(1), &|| Duration::ZERO);
        let reading = output.map_err(|_| TestCaseError::fail("not read"))?;

        let lease = value(&row[0]).name().map(|name| name.map(|name| std::sync::Arc::from(&*name)));
        let mut expected = LeaseRecord { lease: lease.clone().unwrap_or_default(), ..LeaseRecord::default() };
        let fault = match lease {
            Err(fault) => Some((Column::Lease, fault)),
            Ok(_) => columns
                .iter()
                .zip(&row)
                .find_map(|(column, stored)| Some((*column, decode(&mut expected, *column, value(stored)).err()?))),
        };
        match (fault, &expected.lease) {
            (Some((column, fault)), lease) => {
                prop_assert!(reading.records.accepted.is_empty());
                prop_assert_eq!(&reading.records.rejected[0].lease, lease);
                prop_assert_eq!(
                    (reading.records.rejected[0].column, reading.records.rejected[0].fault),
                    (column, fault)
                );
            }
            (None, Some(_)) => {
                prop_assert_eq!((&reading.records.accepted[..], reading.records.rejected.len()), (&[expected][..], 0))
            }
            (None, None) => prop_assert!(reading.records.accepted.is_empty()),
        }
    });
}
