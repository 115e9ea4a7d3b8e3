//! Strategies that the property tests of several modules share.
//!
//! A property test stands in a module `properties` beside the reader that it tests. Its inputs are built from the grammar
//! of the format or are mutations of real ones. It compares the reader with a plain second implementation, or checks that
//! a round trip loses nothing.

use proptest::test_runner::{Config, RngSeed};

#[path = "../../tests/exposition/mod.rs"]
pub(crate) mod exposition;
pub(crate) mod hostile;
pub(crate) mod mutation;
pub(crate) mod yaml;

/// Configures a property test to try `cases` inputs, the same inputs in each run, so that a commit has one verdict. If
/// `PROPTEST_CASES` is set, it replaces `cases`, and each run tries other inputs.
pub(crate) fn cases(cases: u32) -> Config {
    let rng_seed = if std::env::var_os("PROPTEST_CASES").is_some() { RngSeed::Random } else { RngSeed::Fixed(0) };
    Config { cases, rng_seed, max_shrink_time: 60_000, ..Config::default() }
}
