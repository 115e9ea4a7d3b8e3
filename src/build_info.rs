//! Build information, as determined by `build/info.rs`. Unknown values are `unknown`.

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit, followed by `-modified` if the sources differ from it, or `-unchecked` if that is not known.
pub const REVISION: &str = env!("LEASE_EXPORTER_BUILD_REVISION");
/// The branch; `HEAD` if no branch was checked out.
pub const BRANCH: &str = env!("LEASE_EXPORTER_BUILD_BRANCH");
/// The date of the sources, from SOURCE_DATE_EPOCH.
pub const DATE: &str = env!("LEASE_EXPORTER_BUILD_DATE");
/// The compiler.
pub const RUSTC: &str = env!("LEASE_EXPORTER_BUILD_RUSTC");
/// The target triple.
pub const TARGET: &str = env!("LEASE_EXPORTER_BUILD_TARGET");

/// All build information, for `--version`.
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
