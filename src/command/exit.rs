//! The exit codes of all commands.

use std::process::ExitCode;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Ok = 0,
    /// A lease is stalled or has no leader, or a check failed.
    Unhealthy = 1,
    /// The state of a lease or of a source is unknown.
    Unknown = 2,
    /// The command line or the configuration is wrong.
    Configuration = 3,
    /// The operating system refused an operation.
    System = 4,
    /// A second signal ended the command before it had cleaned up: 128 plus SIGINT, as in shells.
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
