//! How fast the demo goes.

use std::time::Duration;

/// How many times as fast as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace(f64);

/// A pace as it is typed.
pub(super) fn parse(text: &str) -> Result<Pace, String> {
    let number = text.parse().ok().filter(|number| (0.1..=20.0).contains(number));
    number.map(Pace).ok_or_else(|| "a number from 0.1 to 20".to_owned())
}

impl Pace {
    /// For how long the lease lives without a renewal.
    pub(super) fn ttl(self) -> Duration {
        self.of(3_000)
    }

    /// How often the lease is renewed, and what is not there looked for again.
    pub(super) fn renew_every(self) -> Duration {
        self.of(500)
    }

    /// How long one occurrence is worked on.
    pub(super) fn work_takes(self) -> Duration {
        self.of(400)
    }

    /// How often an occurrence falls due, while any do.
    pub(super) fn due_every(self) -> Duration {
        self.of(1_000)
    }

    /// The limit that the exporter judges by.
    pub(super) fn stall_after(self) -> Duration {
        self.of(5_000)
    }

    /// How often the story looks at the exporter; never so often that looking is all that the machine does.
    pub(super) fn look_every(self) -> Duration {
        self.of(100).max(Duration::from_millis(15))
    }

    /// For how long looks, of the story and of whoever has the page open, share one reading.
    pub(super) fn reuse_for(self) -> Duration {
        self.of(50)
    }

    /// How long to wait for what should come. Much longer than it takes, with something on top that does not shrink,
    /// for disks and machines do not go faster.
    pub(super) fn patience(self) -> Duration {
        self.of(20_000) + Duration::from_secs(5)
    }

    /// So many milliseconds at this pace, as whole ones.
    pub(super) fn of(self, millis: u32) -> Duration {
        Duration::from_millis((f64::from(millis) / self.0).round().max(1.0) as u64)
    }
}
