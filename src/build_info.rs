//! What this program was built from and with, as `build/info.rs` found it. What is not known is `unknown`.

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit; `-modified` follows it if the sources were not those of the commit, and `-unchecked` if nobody could tell.
pub const REVISION: &str = env!("LEASE_EXPORTER_BUILD_REVISION");
/// The branch; `HEAD` if a commit was checked out and no branch.
pub const BRANCH: &str = env!("LEASE_EXPORTER_BUILD_BRANCH");
/// The date of the sources, if whoever built it said so.
pub const DATE: &str = env!("LEASE_EXPORTER_BUILD_DATE");
/// The compiler.
pub const RUSTC: &str = env!("LEASE_EXPORTER_BUILD_RUSTC");
/// What kind of machine it is for.
pub const TARGET: &str = env!("LEASE_EXPORTER_BUILD_TARGET");

/// All of it, for `--version`.
pub const DESCRIPTION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nrevision:  ",
    env!("LEASE_EXPORTER_BUILD_REVISION"),
    "\nbranch:    ",
    env!("LEASE_EXPORTER_BUILD_BRANCH"),
    "\ndate:      ",
    env!("LEASE_EXPORTER_BUILD_DATE"),
    "\nrustc:     ",
    env!("LEASE_EXPORTER_BUILD_RUSTC"),
    "\ntarget:    ",
    env!("LEASE_EXPORTER_BUILD_TARGET"),
    "\nprofile:   ",
    env!("LEASE_EXPORTER_BUILD_PROFILE"),
    "\nstores:    ",
    env!("LEASE_EXPORTER_BUILD_STORES"),
);
