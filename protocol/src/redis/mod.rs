//! The protocol on Redis 7 and Valkey.
//!
//! # Keys
//!
//! Every key begins with a prefix, by default [`DEFAULT_PREFIX`].
//! - `lease:NAME` is a hash. Its fields are those that lease-exporter reads: `holder` (none after a release), `epoch`,
//!   `acquired_at`, `renewed_at`, `expires_at`, and for the progress `progress_at`, `progress_epoch`, `progress_cursor`.
//! - `due:NAME` is a sorted set of the unplanned occurrences, scored by due time.
//! - `occurrence:KEY` is a hash for each occurrence, planned or not.
//!
//! Times are Unix seconds with exactly three decimals.
//!
//! # Durability
//!
//! No key has a TTL, because the epochs would start again after it. They also do if the server loses writes: by a crash
//! without `appendfsync always`, by a failover to a lagging replica, or by eviction (`maxmemory-policy` must be
//! `noeviction`). An epoch may then be assigned twice, and a fence may not hold. If this is not acceptable, use another
//! store. The keys of one step belong to different hash slots, so Redis Cluster is not supported; Sentinel is.
//!
//! The user needs `~scheduler:* +@connection +script|load +evalsha` and the commands of the scripts:
//! `+time +hmget +hget +hset +hdel +hincrby +exists +zadd +zrem +zscore +zcount +zrange`.

mod error;
mod scripts;

use std::time::Duration;

use ::redis::{
    Client, Commands, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    ScriptInvocation,
};

use crate::column;
use crate::{
    AcquireOutcome, Backlog, EnqueueOutcome, Epoch, HolderId, LeaseProtocol, LeaseRecord, LeaseSnapshot,
    MaintenanceAction, Occurrence, PlanOutcome, ProgressRecord, ProtocolError, ReleaseOutcome, RenewOutcome,
    ServerAddress, StoreTime, Transport, Ttl,
};

/// The prefix of every key unless another is chosen.
pub const DEFAULT_PREFIX: &str = "scheduler:";

/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout for a response.
const STEP_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection to a Redis or Valkey server.
pub struct RedisProtocol {
    prefix: String,
    /// `None` after a timeout, because a late response could be taken for that of the next step.
    connection: Option<Connection>,
}

impl RedisProtocol {
    /// Opens a store. Keys are created by the first write.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] if no Redis server answers, [`ProtocolError::LoginFailed`] if it rejects the user,
    /// [`ProtocolError::InvalidRecord`] if keys with this prefix have another form.
    pub fn open(address: &ServerAddress, prefix: &str) -> Result<Self, ProtocolError> {
        let mut protocol = Self::connect(address, prefix)?;
        // Reads every kind of key. No lease has this name.
        protocol.read("")?;
        Ok(protocol)
    }

    /// Deletes every key with this prefix.
    ///
    /// # Errors
    /// If the server cannot be reached or denies it.
    pub fn remove(address: &ServerAddress, prefix: &str) -> Result<(), ProtocolError> {
        let escaped: String = prefix.chars().flat_map(|letter| ['\\', letter]).collect();
        Self::connect(address, prefix)?.step(|connection| {
            let keys: Vec<Vec<u8>> =
                connection.scan_match(format!("{escaped}*"))?.collect::<Result<_, RedisError>>()?;
            keys.chunks(1000).try_for_each(|keys| connection.unlink(keys))
        })
    }

    fn connect(address: &ServerAddress, prefix: &str) -> Result<Self, ProtocolError> {
        let (host, port) = (address.host().to_owned(), address.port());
        let place = match address.transport() {
            Transport::Plain => ConnectionAddr::Tcp(host, port),
            Transport::Tls => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        };
        let mut settings = RedisConnectionInfo::default();
        if let Some(user) = address.user() {
            // The password is set even if there is none: the crate sends no user without a password, and the server would
            // use the default user.
            settings = settings.set_username(user).set_password("");
        }
        if let Some(password) = address.password()? {
            settings = settings.set_password(password);
        }
        let info = place.into_connection_info()?.set_redis_settings(settings);
        let mut connection = Client::open(info)?.get_connection_with_timeout(CONNECT_TIMEOUT)?;
        connection.set_read_timeout(Some(STEP_TIMEOUT))?;
        connection.set_write_timeout(Some(STEP_TIMEOUT))?;
        if let Some(number) = address.database().filter(|number| *number != "0") {
            select(&mut connection, number)?;
        }
        Ok(Self { prefix: prefix.to_owned(), connection: Some(connection) })
    }

    /// Runs a step. After a timeout the connection is dropped and further steps fail.
    fn step<T>(&mut self, step: impl FnOnce(&mut Connection) -> Result<T, RedisError>) -> Result<T, ProtocolError> {
        let mut connection = self.connection.take().ok_or(ProtocolError::Unreachable)?;
        let done = step(&mut connection).map_err(ProtocolError::from);
        if done.as_ref().err() != Some(&ProtocolError::Unreachable) {
            self.connection = Some(connection);
        }
        done
    }

    fn run<T: FromRedisValue>(&mut self, script: &ScriptInvocation<'_>) -> Result<T, ProtocolError> {
        self.step(|connection| script.invoke(connection))
    }

    fn key(&self, kind: &str, name: &str) -> String {
        format!("{}{kind}:{name}", self.prefix)
    }
}

impl LeaseProtocol for RedisProtocol {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        let (seconds, micros): (i64, i64) = self.step(|connection| ::redis::cmd("TIME").query(connection))?;
        Ok(StoreTime::from_unix_millis(seconds * 1000 + micros / 1000))
    }

    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError> {
        let mut script = scripts::ACQUIRE.key(self.key("lease", lease));
        let acquired: Option<String> = self.run(script.arg(holder.as_str()).arg(ttl.millis()))?;
        acquired
            .map_or(Ok(AcquireOutcome::HeldByAnother), |number| Ok(AcquireOutcome::Acquired { epoch: epoch(&number)? }))
    }

    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError> {
        let mut script = scripts::RENEW.key(self.key("lease", lease));
        let renewed = self.run(script.arg(holder.as_str()).arg(epoch.get()).arg(ttl.millis()))?;
        Ok(if renewed { RenewOutcome::Renewed } else { RenewOutcome::Lost })
    }

    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError> {
        let mut script = scripts::RELEASE.key(self.key("lease", lease));
        let released = self.run(script.arg(holder.as_str()).arg(epoch.get()))?;
        Ok(if released { ReleaseOutcome::Released } else { ReleaseOutcome::Lost })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError> {
        let Occurrence { key, lease, action, due_at } = occurrence;
        let mut script = scripts::ENQUEUE.key(self.key("occurrence", key));
        script.key(self.key("due", lease)).arg(key).arg(lease).arg(action.as_str()).arg(seconds(*due_at));
        let enqueued = self.run(&script)?;
        Ok(if enqueued { EnqueueOutcome::Enqueued } else { EnqueueOutcome::AlreadyEnqueued })
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        let mut script = scripts::NEXT_DUE.key(self.key("due", lease));
        let next: Option<(String, String, String)> = self.run(script.arg(self.key("occurrence", "")))?;
        let Some((key, action, due_at)) = next else { return Ok(None) };
        let action = MaintenanceAction::parse(&action).ok_or(ProtocolError::InvalidRecord)?;
        Ok(Some(Occurrence { key, lease: lease.to_owned(), action, due_at: time(&due_at)? }))
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError> {
        let mut script = scripts::PLAN.key(self.key("lease", lease));
        script.key(self.key("due", lease)).key(self.key("occurrence", key));
        let outcome: String = self.run(script.arg(lease).arg(holder.as_str()).arg(epoch.get()).arg(key))?;
        match &*outcome {
            "fenced" => Ok(PlanOutcome::Fenced),
            "planned" => Ok(PlanOutcome::Planned),
            "already_planned" => Ok(PlanOutcome::AlreadyPlanned),
            _ => Err(ProtocolError::NoSuchOccurrence),
        }
    }

    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError> {
        type Text = Option<String>;
        type Lease = (Text, Text, Text, Text);
        let mut script = scripts::READ.key(self.key("lease", lease));
        script.key(self.key("due", lease)).arg(self.key("occurrence", ""));
        let fields: Vec<Text> = self.run(&script)?;
        let fields: [Text; 11] = fields.try_into().map_err(|_| ProtocolError::InvalidRecord)?;
        let [now, holder, number, acquired_at, renewed_at, expires_at, progress_epoch, at, cursor, due, oldest] =
            fields;
        let lease = |number: String, (holder, acquired_at, renewed_at, expires_at): Lease| {
            Ok::<_, ProtocolError>(LeaseRecord {
                holder: holder.filter(|holder| !holder.is_empty()).map(column::holder).transpose()?,
                epoch: epoch(&number)?,
                acquired_at: acquired_at.as_deref().map(time).transpose()?,
                renewed_at: renewed_at.as_deref().map(time).transpose()?,
                expires_at: expires_at.as_deref().map(time).transpose()?,
            })
        };
        let progress = |number: String| {
            let (at, cursor) = (required(at)?, required(cursor)?);
            Ok::<_, ProtocolError>(ProgressRecord { epoch: epoch(&number)?, at: time(&at)?, cursor: count(&cursor)? })
        };
        Ok(LeaseSnapshot {
            now: time(&required(now)?)?,
            lease: number.map(|number| lease(number, (holder, acquired_at, renewed_at, expires_at))).transpose()?,
            progress: progress_epoch.map(progress).transpose()?,
            backlog: Backlog { due: count(&required(due)?)?, oldest_due_at: oldest.as_deref().map(time).transpose()? },
        })
    }
}

/// Selects a database. The crate could do this while connecting, but would not distinguish an unknown database from a
/// forbidden one.
fn select(connection: &mut Connection, number: &str) -> Result<(), ProtocolError> {
    ::redis::cmd("SELECT").arg(number).exec(connection).map_err(|error| match error.code() {
        // The number is out of range, or the server is a cluster, which has one database.
        Some("ERR") => ProtocolError::NoSuchDatabase,
        _ => error.into(),
    })
}

/// Formats a time as the store holds it.
fn seconds(time: StoreTime) -> String {
    let millis = time.unix_millis();
    let (sign, millis) = (if millis < 0 { "-" } else { "" }, millis.unsigned_abs());
    format!("{sign}{}.{:03}", millis / 1000, millis % 1000)
}

/// Parses a time of the store.
fn time(text: &str) -> Result<StoreTime, ProtocolError> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let millis = digits.split_once('.').filter(|(_, part)| part.len() == 3).and_then(|(whole, part)| {
        let [whole, part] =
            [whole, part].map(|digits| count(digits).ok().and_then(|number| i64::try_from(number).ok()));
        whole?.checked_mul(1000)?.checked_add(part?)
    });
    millis.map(|millis| StoreTime::from_unix_millis(sign * millis)).ok_or(ProtocolError::InvalidRecord)
}

fn epoch(text: &str) -> Result<Epoch, ProtocolError> {
    Epoch::new(count(text)?).ok_or(ProtocolError::InvalidRecord)
}

fn count(text: &str) -> Result<u64, ProtocolError> {
    // `parse` alone would accept a sign.
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or(ProtocolError::InvalidRecord)
}

fn required(field: Option<String>) -> Result<String, ProtocolError> {
    field.ok_or(ProtocolError::InvalidRecord)
}

/// Hides the connection, which would show the address of the server.
impl std::fmt::Debug for RedisProtocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisProtocol").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_text_with_three_decimals_and_back() {
        for (millis, text) in [(0, "0.000"), (1, "0.001"), (1_790_000_000_123, "1790000000.123"), (-1_001, "-1.001")] {
            let stored = StoreTime::from_unix_millis(millis);
            assert_eq!(seconds(stored), text);
            assert_eq!(time(text), Ok(stored));
        }
        for wrong in ["", "1", "1.5", "1.0000", "+1.000", "1.+00", "inf", "1e3", "99999999999999999999.000"] {
            assert_eq!(time(wrong), Err(ProtocolError::InvalidRecord), "{wrong}");
        }
    }
}
