//! The speed of the demo, and the durations that follow from it.

use std::time::Duration;

/// A factor: at speed 2 every duration is half as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed(f64);

/// Reads the value of `--speed`.
pub(super) fn parse(text: &str) -> Result<Speed, String> {
    let number = text.parse().ok().filter(|number| (0.1..=20.0).contains(number));
    number.map(Speed).ok_or_else(|| "a number from 0.1 to 20".to_owned())
}

impl Speed {
    pub(super) fn ttl(self) -> Duration {
        self.scale(3_000)
    }

    /// The interval of renewals and of retries.
    pub(super) fn renew_interval(self) -> Duration {
        self.scale(500)
    }

    /// The time that a scheduler spends on one occurrence.
    pub(super) fn work_duration(self) -> Duration {
        self.scale(400)
    }

    /// The interval at which occurrences become due.
    pub(super) fn due_interval(self) -> Duration {
        self.scale(1_000)
    }

    pub(super) fn stall_after(self) -> Duration {
        self.scale(5_000)
    }

    /// The interval at which the demo reads the exporter. The lower bound limits its CPU time.
    pub(super) fn poll_interval(self) -> Duration {
        self.scale(100).max(Duration::from_millis(15))
    }

    pub(super) fn reuse_for(self) -> Duration {
        self.scale(50)
    }

    /// The time limit of a step. It includes a constant, because disks and processors are not faster at a higher speed.
    pub(super) fn step_timeout(self) -> Duration {
        self.scale(20_000) + Duration::from_secs(5)
    }

    /// A duration at this speed, rounded to milliseconds.
    pub(super) fn scale(self, millis: u32) -> Duration {
        Duration::from_millis((f64::from(millis) / self.0).round().max(1.0) as u64)
    }
}
