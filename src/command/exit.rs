//! How a command ends: every exit code that there is, and what it means to scripts.

use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// As it should.
    Ok = 0,
    /// What was looked at is not as it should be.
    Unhealthy = 1,
    /// Whether it is could not be told.
    Unknown = 2,
    /// What was typed or configured is wrong: for whoever did.
    Configuration = 3,
    /// The system did not let it: for whoever runs the machine.
    System = 4,
    /// Told twice to stop, it left without clearing away: 128 and SIGINT, as shells have it.
    Abandoned = 130,
}

impl Exit {
    /// The code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
