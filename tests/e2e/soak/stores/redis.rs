//! Redis with one hash for each lease.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{LEADER, LONG_AGO, Leases, MAX_LEASES, STUCK, Store};
use crate::harness::proxy::{End, Proxy};
use crate::server_faults::redis;
use crate::servers::{Keyspace, Kind, Server};
use crate::soak::environment::TIMEOUT;
use crate::soak::fault::{self, Fault};

pub(super) struct Redis {
    /// Must be dropped before the server.
    keyspace: Keyspace,
    proxy: Proxy,
    server: Server,
    passwords: AtomicU32,
}

/// Replaces all leases by the arguments.
const WRITE: &str = "
    for _, key in ipairs(redis.call('KEYS', 'lease:*')) do redis.call('DEL', key) end
    local time = redis.call('TIME')
    local now = time[1] + time[2] / 1000000
    local text = function(number) return string.format('%.6f', number) end
    local put = function(name, holder, epoch, acquired, progress, due, oldest)
        redis.call('HSET', 'lease:' .. name, 'holder', holder, 'epoch', epoch, 'acquired_at', acquired,
            'renewed_at', text(now), 'expires_at', text(now + 86400), 'progress_at', progress,
            'progress_epoch', epoch, 'due', due, 'oldest_due_at', oldest)
    end
    for at = 3, #ARGV do put(ARGV[at], ARGV[1], ARGV[2], text(now), text(now), 3, text(now)) end
    put('LEADER', ARGV[1], ARGV[2], text(now), text(now), 0, text(now))
    put('STUCK', 'stuck', 1, 'ACQUIRED', 'PROGRESS', 7, 'DUE')";

impl Redis {
    pub(super) fn start() -> Self {
        let server = Server::start(Kind::Redis, &[]);
        let (proxy, keyspace) = (Proxy::to(server.address()), server.keyspace());
        Self { keyspace, proxy, server, passwords: AtomicU32::new(0) }
    }

    /// The present password of the reader at the server.
    fn password(&self) -> String {
        format!("password-{}", self.passwords.load(Ordering::SeqCst))
    }

    /// Changes the password of the reader without telling the exporter. A login with the old password is refused, also if
    /// it is in progress.
    fn change_password(&self) {
        self.passwords.fetch_add(1, Ordering::SeqCst);
        let password = format!(">{}", self.password());
        self.keyspace.command(&["ACL", "SETUSER", self.keyspace.reader(), "resetpass", &password]);
        self.keyspace.command(&["ACL", "SAVE"]);
        self.proxy.end_all(End::Reset);
    }

    fn rights(&self, rights: &[&str]) {
        self.keyspace.command(&[&["ACL", "SETUSER", self.keyspace.reader()], rights].concat());
    }
}

impl Store for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn sources(&self) -> &'static [&'static str] {
        &["beats"]
    }

    fn yaml(&self) -> String {
        redis::source(&self.keyspace, "beats", self.proxy.address(), TIMEOUT)
            + &format!("    clock: store\n    max_leases: {MAX_LEASES}\n")
    }

    fn write(&self, leases: &Leases) {
        let mut script = WRITE.replace("LEADER", LEADER).replace("STUCK", STUCK);
        for (name, at) in ["ACQUIRED", "PROGRESS", "DUE"].into_iter().zip(LONG_AGO) {
            script = script.replace(name, &at.to_string());
        }
        let mut words = vec!["EVAL".to_owned(), script, "0".to_owned(), leases.holder(), leases.epoch.to_string()];
        words.extend(leases.passing());
        self.keyspace.command(&words);
    }

    fn faults(&self) -> Vec<Fault<'_>> {
        let mut faults = fault::of_server(&self.server);
        faults.extend(fault::of_network(&self.proxy));
        faults.push(Fault::new("rights withdrawn", || self.rights(&["-@read"]), || self.rights(&["+@read", "-keys"])));
        faults.push(Fault::new(
            "password changed",
            || self.change_password(),
            || fs::write(self.keyspace.password_file(), self.password()).unwrap(),
        ));
        faults
    }

    fn connections(&self) -> Option<usize> {
        Some(redis::connections(&self.keyspace))
    }
}
