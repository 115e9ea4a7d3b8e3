//! How a target is run.

use std::fmt::Debug;
use std::time::Duration;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestCaseResult, TestError, TestRunner};

use crate::clock;

/// How long to run, in minutes; not set, each target tries its fixed number of cases.
const MINUTES: &str = "FUZZ_MINUTES";
/// So many cases are tried between two looks at the clock.
const BATCH: u32 = 500;

/// One target.
pub(crate) struct Target {
    /// Its name: what the names of its tests begin with.
    pub(crate) name: &'static str,
    /// How many cases are tried, unless it is to run for a time.
    pub(crate) cases: u32,
    /// Where the seeds of failures are kept.
    pub(crate) found: &'static str,
}

impl Target {
    /// Tries inputs until one does not hold, or there were enough.
    pub(crate) fn run<S: Strategy>(&self, inputs: S, holds: impl Fn(S::Value) -> TestCaseResult)
    where
        S::Value: Debug,
    {
        let Some(minutes) = std::env::var_os(MINUTES) else {
            return self.tried(&inputs, &holds, self.cases, RngSeed::Fixed(0));
        };
        let minutes: f64 = minutes.to_str().and_then(|text| text.parse().ok()).expect("FUZZ_MINUTES is a number");
        let (began, mut cases) = (clock::monotonic(), 0_u64);
        let enough = Duration::from_secs_f64(minutes * 60.0);
        while clock::monotonic() - began < enough {
            self.tried(&inputs, &holds, BATCH, RngSeed::Random);
            cases += u64::from(BATCH);
        }
        println!("{}: {cases} cases in {:.0} s", self.name, (clock::monotonic() - began).as_secs_f64());
    }

    fn tried<S: Strategy>(&self, inputs: &S, holds: &impl Fn(S::Value) -> TestCaseResult, cases: u32, rng_seed: RngSeed)
    where
        S::Value: Debug,
    {
        let config = Config {
            cases,
            rng_seed,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(self.found))),
            max_shrink_time: 60_000,
            ..Config::default()
        };
        match TestRunner::new(config).run(inputs, holds) {
            Ok(()) => {}
            Err(TestError::Fail(why, input)) => panic!("{}: {why}\nfor {input:#?}", self.name),
            Err(TestError::Abort(why)) => panic!("{}: gave up: {why}", self.name),
        }
    }
}
