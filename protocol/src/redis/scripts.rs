//! The steps of the protocol on Redis. Each is a script, which the server runs atomically.

use std::sync::LazyLock;

use ::redis::Script;

/// A script that reads the clock first.
macro_rules! timed {
    ($file:literal) => {
        LazyLock::new(|| Script::new(concat!(include_str!("clock.lua"), include_str!($file))))
    };
}

pub(super) static ACQUIRE: LazyLock<Script> = timed!("acquire.lua");
pub(super) static RENEW: LazyLock<Script> = timed!("renew.lua");
pub(super) static RELEASE: LazyLock<Script> = timed!("release.lua");
pub(super) static ENQUEUE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("enqueue.lua")));
pub(super) static NEXT_DUE: LazyLock<Script> = timed!("next_due.lua");
pub(super) static PLAN: LazyLock<Script> = timed!("plan.lua");
pub(super) static READ: LazyLock<Script> = timed!("read.lua");
