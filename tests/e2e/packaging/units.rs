//! systemd accepts the units, and rates the exposure of the service as low.

use std::ffi::OsString;

use super::unit::{analyze, place, service};
use crate::harness::store::folder;

/// What `systemd-analyze verify` has to say of the units; its exit code is 0 even for a setting that it does not know.
fn complaints(change: impl Fn(String) -> String) -> String {
    let folder = folder();
    let units = place(folder.path(), change);
    analyze([OsString::from("verify")].into_iter().chain(units.map(Into::into))).all().trim().to_owned()
}

/// The exposure that systemd computes, of 10.
fn exposure(change: impl Fn(String) -> String) -> f64 {
    let folder = folder();
    let [service, _] = place(folder.path(), change);
    let finished = analyze(["security", "--offline=true", service.to_str().unwrap()]);
    let line = finished.stdout.lines().find(|line| line.contains("Overall exposure level")).map(str::to_owned);
    let line = line.unwrap_or_else(|| panic!("{}", finished.all()));
    line.split(": ")
        .nth(1)
        .and_then(|said| said.split(' ').next())
        .and_then(|said| said.parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn systemd_analyze_reports_nothing_about_the_units() {
    assert_eq!(complaints(|unit| unit), "");
    let misspelt = complaints(|unit| unit.replace("ProtectClock=", "ProtectClocks="));
    assert!(misspelt.contains("ProtectClocks"), "a misspelt setting must be noticed: {misspelt:?}");
}

#[test]
fn exposure_of_the_service_is_within_the_documented_score() {
    let service = service();
    let said = service.split("exposure at ").nth(1).and_then(|said| said.split(' ').next()).unwrap();
    let (limit, exposed) = (said.parse().unwrap(), exposure(|unit| unit));
    assert!(exposed <= limit, "{exposed}, where the unit says {limit}");
    let without = exposure(|unit| unit.replace("\nCapabilityBoundingSet=", ""));
    assert!(without > limit, "{without} with every capability");
}
