//! Whether a MariaDB server is a replica, from variables that any user may read.
//!
//! `SHOW REPLICA STATUS` would be exact, but needs a further right. MySQL has no such variables.

use sqlx::mysql::MySqlRow;

use super::bytes;

/// The columns to select from [`SOURCE`].
pub(super) const COLUMNS: &str = "@@global.server_id, @@gtid_current_pos, status.runs, status.heartbeat, status.resets";

/// The source of [`COLUMNS`]. It is a subquery, because beside an aggregate MariaDB shows `@@global.read_only` as 0.
pub(super) const SOURCE: &str = " FROM (SELECT \
    SUM(variable_name IN ('Slave_running', 'Slaves_running') AND variable_value NOT IN ('OFF', '0')) AS runs, \
    SUM(variable_name = 'Slave_heartbeat_period' AND variable_value > 0) AS heartbeat, \
    SUM(variable_name = 'Com_reset' AND variable_value > 0) AS resets \
    FROM information_schema.global_status WHERE variable_name IN \
    ('Slave_running', 'Slaves_running', 'Slave_heartbeat_period', 'Com_reset')) AS status";

/// The replication role of a server, as far as it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replication {
    Primary,
    Replica,
    StoppedReplica,
}

impl Replication {
    /// Reads [`COLUMNS`], the first of which is at `first`.
    pub(super) fn of(row: &MySqlRow, first: usize) -> Self {
        let text = |at: usize| bytes(row, first + at).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("");
        let some = |at: usize| !matches!(text(at), "" | "0");
        Self::from_status(text(0), text(1), some(2), some(3), some(4))
    }

    /// A heartbeat period is set if a primary is configured, and stays until a restart. After any reset it is unknown whether
    /// the configuration of the primary was reset.
    fn from_status(server_id: &str, position: &str, runs: bool, heartbeat: bool, reset: bool) -> Self {
        // The position has the newest transaction of each domain, as domain-server-number. A server that wrote one of them is
        // a primary, even if it replicates another primary, or is a replica that was stopped and promoted.
        let wrote_newest = position.split(',').any(|newest| newest.split('-').nth(1) == Some(server_id));
        match () {
            () if wrote_newest => Self::Primary,
            () if runs => Self::Replica,
            () if heartbeat && !reset => Self::StoppedReplica,
            () => Self::Primary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_replicates_is_a_replica_unless_it_accepts_writes() {
        use Replication::{Primary, Replica, StoppedReplica};
        for (position, [runs, heartbeat, reset], told) in [
            ("", [false, false, false], Primary),
            ("0-1-7", [false, false, false], Primary),
            ("0-1-7", [true, true, false], Replica),
            ("0-1-7", [true, false, true], Replica),
            ("", [true, true, false], Replica),
            ("0-1-7", [false, true, false], StoppedReplica),
            ("0-1-7,5-11-2", [false, true, false], StoppedReplica),
            // Promoted: by a reset, which may have been of something else, or by a stop and a write.
            ("0-1-7", [false, true, true], Primary),
            ("0-2-8", [false, true, false], Primary),
            ("0-1-7,5-2-1", [true, true, false], Primary),
        ] {
            assert_eq!(Replication::from_status("2", position, runs, heartbeat, reset), told, "{position} {runs}");
        }
    }
}
