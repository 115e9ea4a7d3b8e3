//! The reference protocol on Redis 7 and Valkey.
//!
//! # The keys
//!
//! All begin with a prefix, `scheduler:` unless told otherwise. `lease:NAME` is a hash with the fields of the exporter's
//! reading contract: `holder` (none once released), `epoch`, `acquired_at`, `renewed_at`, `expires_at`, and of the
//! progress `progress_at`, `progress_epoch`, `progress_cursor`, which planning alone writes. `due:NAME` is a sorted set
//! of what is not planned yet, by the time that it is due. `occurrence:KEY` is a hash for each occurrence, planned or
//! not. Times are Unix seconds with exactly three decimals.
//!
//! # What keeps an epoch
//!
//! No key ever expires, or the epochs would begin anew. They also do if the server loses what it was told: by a crash
//! without `appendfsync always`, by a failover to a replica that was behind, by eviction (`maxmemory-policy` has to be
//! `noeviction`). Then an epoch can be given twice and a fence may not hold; who cannot live with that takes another
//! store. Keys of one step lie in different slots, so it is for one server, with or without Sentinel, and no cluster.
//!
//! A user of the server needs `~scheduler:* +@connection +script|load +evalsha` and the commands of the scripts:
//! `+time +hmget +hget +hset +hdel +hincrby +exists +zadd +zrem +zscore +zcount +zrange`.

mod failure;
mod scripts;

use std::time::Duration;

use ::redis::{
    Client, Commands, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    ScriptInvocation,
};

use super::address::{ServerAddress, Transport};
use super::authority::{Epoch, InstanceToken, StoreTime, Ttl};
use super::occurrence::{Backlog, MaintenanceAction, Occurrence};
use super::protocol::{
    Acquire, Enqueue, LeaseProtocol, LeaseRecord, Plan, ProgressRecord, ProtocolError, Reading, Release, Renew,
};
use super::stored::token;

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a step waits for an answer.
const STEP_TIMEOUT: Duration = Duration::from_secs(3);

/// One connection that speaks the protocol.
pub struct RedisProtocol {
    prefix: String,
    /// None once it cannot be relied on any more: an answer may be outstanding on it.
    connection: Option<Connection>,
}

impl RedisProtocol {
    /// Opens a store. There is nothing to make: a key is there from the first write on.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] when nothing that speaks Redis answers, [`ProtocolError::Login`] when it does
    /// not let the user in, [`ProtocolError::InvalidRecord`] when the prefix is someone else's.
    pub fn open(address: &ServerAddress, prefix: &str) -> Result<Self, ProtocolError> {
        let mut protocol = Self::connect(address, prefix)?;
        // Touches every kind of key that is read; no lease has this name.
        protocol.read("")?;
        Ok(protocol)
    }

    /// Removes every key with this prefix.
    ///
    /// # Errors
    /// When the server cannot be reached or does not allow it.
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
            // Without a password as well: one may be let in with any. The crate would not say who it is at all, and
            // become whoever comes without a name.
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

    /// Does a step. A connection that did not answer is given up, and with it all further steps.
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

    fn acquire(&mut self, lease: &str, holder: &InstanceToken, ttl: Ttl) -> Result<Acquire, ProtocolError> {
        let mut script = scripts::ACQUIRE.key(self.key("lease", lease));
        let acquired: Option<String> = self.run(script.arg(holder.as_str()).arg(ttl.millis()))?;
        acquired.map_or(Ok(Acquire::HeldByAnother), |number| Ok(Acquire::Acquired { epoch: epoch(&number)? }))
    }

    fn renew(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch, ttl: Ttl) -> Result<Renew, ProtocolError> {
        let mut script = scripts::RENEW.key(self.key("lease", lease));
        let renewed = self.run(script.arg(holder.as_str()).arg(epoch.get()).arg(ttl.millis()))?;
        Ok(if renewed { Renew::Renewed } else { Renew::Lost })
    }

    fn release(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Release, ProtocolError> {
        let mut script = scripts::RELEASE.key(self.key("lease", lease));
        let released = self.run(script.arg(holder.as_str()).arg(epoch.get()))?;
        Ok(if released { Release::Released } else { Release::Lost })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<Enqueue, ProtocolError> {
        let Occurrence { key, lease, action, due_at } = occurrence;
        let mut script = scripts::ENQUEUE.key(self.key("occurrence", key));
        script.key(self.key("due", lease)).arg(key).arg(lease).arg(action.as_str()).arg(seconds(*due_at));
        let enqueued = self.run(&script)?;
        Ok(if enqueued { Enqueue::Enqueued } else { Enqueue::AlreadyThere })
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        let mut script = scripts::NEXT_DUE.key(self.key("due", lease));
        let next: Option<(String, String, String)> = self.run(script.arg(self.key("occurrence", "")))?;
        let Some((key, action, due_at)) = next else { return Ok(None) };
        let action = MaintenanceAction::parse(&action).ok_or(ProtocolError::InvalidRecord)?;
        Ok(Some(Occurrence { key, lease: lease.to_owned(), action, due_at: time(&due_at)? }))
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Plan, ProtocolError> {
        let mut script = scripts::PLAN.key(self.key("lease", lease));
        script.key(self.key("due", lease)).key(self.key("occurrence", key));
        let outcome: String = self.run(script.arg(lease).arg(holder.as_str()).arg(epoch.get()).arg(key))?;
        match &*outcome {
            "fenced" => Ok(Plan::Fenced),
            "planned" => Ok(Plan::Planned),
            "already_planned" => Ok(Plan::AlreadyPlanned),
            _ => Err(ProtocolError::NoSuchOccurrence),
        }
    }

    fn read(&mut self, lease: &str) -> Result<Reading, ProtocolError> {
        type Text = Option<String>;
        type Lease = (Text, Text, Text, Text);
        let mut script = scripts::READ.key(self.key("lease", lease));
        script.key(self.key("due", lease)).arg(self.key("occurrence", ""));
        let fields: Vec<Text> = self.run(&script)?;
        let fields: [Text; 11] = fields.try_into().map_err(|_| ProtocolError::InvalidRecord)?;
        let [now, holder, number, acquired_at, renewed_at, expires_at, of_epoch, at, cursor, due, oldest] = fields;
        let lease = |number: String, (holder, acquired_at, renewed_at, expires_at): Lease| {
            Ok::<_, ProtocolError>(LeaseRecord {
                holder: holder.filter(|holder| !holder.is_empty()).map(token).transpose()?,
                epoch: epoch(&number)?,
                acquired_at: acquired_at.as_deref().map(time).transpose()?,
                renewed_at: renewed_at.as_deref().map(time).transpose()?,
                expires_at: expires_at.as_deref().map(time).transpose()?,
            })
        };
        let progress = |number: String| {
            let (at, cursor) = (needed(at)?, needed(cursor)?);
            Ok::<_, ProtocolError>(ProgressRecord { epoch: epoch(&number)?, at: time(&at)?, cursor: count(&cursor)? })
        };
        Ok(Reading {
            now: time(&needed(now)?)?,
            lease: number.map(|number| lease(number, (holder, acquired_at, renewed_at, expires_at))).transpose()?,
            progress: of_epoch.map(progress).transpose()?,
            backlog: Backlog { due: count(&needed(due)?)?, oldest_due_at: oldest.as_deref().map(time).transpose()? },
        })
    }
}

/// Chooses a database. Not while connecting: the crate would not tell one that is not there from one not permitted.
fn select(connection: &mut Connection, number: &str) -> Result<(), ProtocolError> {
    ::redis::cmd("SELECT").arg(number).exec(connection).map_err(|error| match error.code() {
        // Beyond the last, or of a cluster, which has but one.
        Some("ERR") => ProtocolError::NoSuchDatabase,
        _ => error.into(),
    })
}

/// A time as the store holds it.
fn seconds(time: StoreTime) -> String {
    let millis = time.unix_millis();
    let (sign, millis) = (if millis < 0 { "-" } else { "" }, millis.unsigned_abs());
    format!("{sign}{}.{:03}", millis / 1000, millis % 1000)
}

/// And back.
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
    // Digits alone: parsing would take a sign as well.
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or(ProtocolError::InvalidRecord)
}

fn needed(field: Option<String>) -> Result<String, ProtocolError> {
    field.ok_or(ProtocolError::InvalidRecord)
}

/// Its connection would show where the server is.
impl std::fmt::Debug for RedisProtocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisProtocol").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
