//! The command line: output and exit codes.

mod exits;
mod help;
mod manual;

use std::path::Path;

use crate::harness::exporter::configure;
use crate::harness::process::{Finished, Process, command};
use crate::harness::store::{STEADY, active, folder, reference};
use crate::harness::{Exporter, check, promtool, run, status};

fn one_source(folder: &Path) -> String {
    drop(reference(&folder.join("scheduler.db")).execute_batch(&active("planner")));
    "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: reference\n    reuse_for: 0s\n"
        .to_owned()
}

/// Checks the exit code and the exact standard error.
fn fails(finished: &Finished, code: i32, message: &str) {
    assert_eq!(finished.stderr.trim_end(), message.trim_end());
    assert_eq!(finished.stdout, "");
    assert_eq!(finished.code, Some(code));
}

/// Checks the exit code and the errors in the JSON log of a failed start.
fn logs(finished: &Finished, code: i32, errors: &[String]) {
    let lines = finished.stderr.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let told: Vec<_> = lines.filter(|line| line["level"] == "error").collect();
    assert!(told.iter().all(|line| line["msg"] == "the exporter cannot serve"), "{}", finished.stderr);
    assert_eq!(told.iter().map(|line| line["error"].as_str().unwrap()).collect::<Vec<_>>(), errors);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""));
}

#[test]
fn invalid_arguments_are_refused_with_exit_code_3_and_a_hint() {
    for (arguments, message) in [
        (
            &["--config.fil=x"][..],
            "error: unexpected argument '--config.fil' found\n\n  \
             tip: a similar argument exists: '--config.file'\n\n\
             Usage: lease-exporter --config.file <FILE>\n\n\
             For more information, try '--help'.",
        ),
        (
            &["--web.listen-address=nowhere"],
            "error: invalid value 'nowhere' for '--web.listen-address <[HOST]:PORT|unix:PATH>': not an address with a port; \
             write `:10987`, `127.0.0.1:10987`, `[::1]:10987` or `unix:/path/to.sock`\n\nFor more information, try '--help'.",
        ),
        (
            &["--web.listen-address=:99999"],
            "error: invalid value ':99999' for '--web.listen-address <[HOST]:PORT|unix:PATH>': `99999` is no port; write \
             `:10987`\n\nFor more information, try '--help'.",
        ),
        (
            &["--web.max-requests=-1"],
            "error: invalid value '-1' for '--web.max-requests <NUMBER>': write a whole number, like `40`, or `0` for no \
             limit\n\nFor more information, try '--help'.",
        ),
        (
            &["--web.telemetry-path=metrics"],
            "error: invalid value 'metrics' for '--web.telemetry-path <PATH>': a path starts with `/` and names \
             something, like `/metrics`\n\nFor more information, try '--help'.",
        ),
        (
            &["--web.telemetry-path=/-/healthy"],
            "error: invalid value '/-/healthy' for '--web.telemetry-path <PATH>': the exporter serves something else \
             there; choose another path, like `/metrics`\n\nFor more information, try '--help'.",
        ),
        (
            &["presets", "quarz"],
            "error: invalid value 'quarz' for '[NAME]'\n  \
             [possible values: airflow, db-scheduler, quartz, redbeat, reference, river, shedlock]\n\n  \
             tip: a similar value exists: 'quartz'\n\nFor more information, try '--help'.",
        ),
        (
            &["status", "--watch=5"],
            "error: invalid value '5' for '--watch [<INTERVAL>]': a number needs a unit, such as `5s` or `5m`\n\n\
             For more information, try '--help'.",
        ),
        (
            &["status", "--watch", "1ms"],
            "error: invalid value '1ms' for '--watch [<INTERVAL>]': it must be at least `100ms`\n\n\
             For more information, try '--help'.",
        ),
        (
            &["--log.level=loud"],
            "error: invalid value 'loud' for '--log.level <LEVEL>'\n  \
             [possible values: debug, info, warn, error]\n\nFor more information, try '--help'.",
        ),
        (
            &["--config.file=x.yml", "check"],
            "error: the subcommand 'check' cannot be used with '--config.file <FILE>'\n\n  \
             tip: options go after the command: `lease-exporter check [OPTIONS]`\n\n\
             Usage: lease-exporter [OPTIONS]\n       lease-exporter <COMMAND>\n\nFor more information, try '--help'.",
        ),
        (
            &["stats"],
            "error: unrecognized subcommand 'stats'\n\n  tip: a similar subcommand exists: 'status'\n\n\
             Usage: lease-exporter [OPTIONS]\n       lease-exporter <COMMAND>\n\nFor more information, try '--help'.",
        ),
        (
            &["scheduler", "--store=sqlite:///x.db"],
            "error: the following required arguments were not provided:\n  --lease <NAME>\n\n\
             Usage: lease-exporter scheduler --store <URL> --lease <NAME>\n\nFor more information, try '--help'.",
        ),
        (
            &["scheduler", "--store=/x.db", "--lease=a"],
            "lease-exporter: --store: expected sqlite:///absolute/path or sqlite://relative/path, \
             postgres://user@host:port/database, or redis://user@host:port/number",
        ),
        (
            &["scheduler", "--store=sqlite:///x.db", "--lease=a", "--ttl=1s", "--renew-every=1s"],
            "lease-exporter: renew-every (1s) must be shorter than ttl (1s): raise ttl or lower renew-every",
        ),
    ] {
        fails(&run(arguments), 3, message);
    }
}

#[test]
fn without_a_configuration_each_command_says_where_to_begin() {
    let message = "lease-exporter: no configuration: name a file with --config.file=FILE, or run `lease-exporter demo` \
        to see it at work";
    for arguments in [&[][..], &["status"], &["check"]] {
        fails(&run(arguments), 3, message);
    }
}

#[test]
fn missing_configuration_file_is_named_as_it_was_given() {
    let folder = folder();
    let path = folder.path().join("none.yml").display().to_string();
    let config = format!("--config.file={path}");
    let message = format!("{path}: there is no such file; a relative path starts at the working directory");
    for arguments in [["status", &config], ["check", &config]] {
        fails(&run(&arguments), 3, &format!("lease-exporter: {message}"));
    }
    logs(&run(&[&config, "--log.format=json"]), 3, &[message]);
}

#[test]
fn all_errors_of_a_configuration_are_reported_at_once_with_their_lines() {
    let folder = folder();
    let yaml = "sources:\n  - name: documents\n    store: sqlite://scheduler.db\n    preset: refrence\n    timeout: 0s\n\
        leases:\n  - match: { source: document }\n    alerts: [LeaseWorkStaled]\n";
    let path = configure(folder.path(), yaml).display().to_string();
    let config = format!("--config.file={path}");
    let checked = run(&["check", &config]);
    let expected = format!(
        "lease-exporter: {path}:4: there is no such preset: `refrence`; the presets are reference\n\
         {path}:5: `timeout` cannot be this: `0s`; "
    );
    assert!(checked.stderr.starts_with(&expected), "{}", checked.stderr);
    for line in ["7: no source has such a name: `document`", "8: there is no such alert: `LeaseWorkStaled`"] {
        assert!(checked.stderr.contains(&format!("\n{path}:{line}")), "{}", checked.stderr);
    }
    assert_eq!((checked.code, checked.stdout.as_str(), checked.stderr.lines().count()), (Some(3), "", 4));
    // The exporter logs each error.
    let faults: Vec<_> =
        checked.stderr.lines().map(|line| line.trim_start_matches("lease-exporter: ").to_owned()).collect();
    logs(&run(&[&config, "--log.format=json"]), 3, &faults);
}

#[test]
fn port_in_use_is_reported_with_exit_code_4_and_a_hint() {
    let folder = folder();
    let yaml = one_source(folder.path());
    let exporter = Exporter::start(folder.path(), &yaml);
    let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
    let listen = format!("--web.listen-address={}", exporter.address());
    let refused = run(&[&config, &listen, "--log.level=error", "--log.format=json"]);
    let message = format!(
        "cannot listen on {}: Address already in use (os error 98); choose another with \
         --web.listen-address",
        exporter.address()
    );
    logs(&refused, 4, &[message]);
    assert_eq!(exporter.get("/-/healthy").status, 200);
}

#[test]
fn promtool_accepts_what_a_running_exporter_shows_of_good_and_bad_sources() {
    let folder = folder();
    let yaml = one_source(folder.path())
        + "  - name: gone\n    store: sqlite://gone.db\n    preset: reference\n"
        + &format!("  - name: own\n    store: sqlite://scheduler.db\n    query: \"{STEADY}\"\n")
        + "leases:\n  - match: { source: gone, lease: expected }\n    alerts: [LeaseWorkStalled, LeaseNoLeader]\n    \
           overdue_after: 1h\n";
    let exporter = Exporter::start(folder.path(), &yaml);
    for _ in 0..2 {
        let metrics = exporter.scrape();
        assert_eq!(metrics.says("documents", "planner"), Some(("active", "progressing")));
        assert_eq!(metrics.says("own", "steady"), Some(("active", "progressing")));
        assert_eq!(metrics.says("gone", "expected"), Some(("unknown", "store_unreachable")));
        let enabled = [("source", "gone"), ("lease", "expected"), ("alert", "LeaseNoLeader")];
        assert_eq!(metrics.value("lease_alert_enabled", &enabled), Some(1.0));
        assert_eq!(metrics.value("lease_exporter_build_info", &[]), Some(1.0));
        promtool::accepts(metrics.text());
    }
}

#[test]
fn the_exit_code_of_status_is_that_of_the_worst_lease() {
    let folder = folder();
    let yaml = one_source(folder.path());
    let of = |more: &str| status(folder.path(), &format!("{yaml}{more}"));
    assert_eq!(of("").code, Some(0));
    let absent = of("leases:\n  - match: { lease: another }\n");
    assert_eq!(absent.code, Some(1), "{}", absent.all());
    let unread = of("  - name: gone\n    store: sqlite://gone.db\n    preset: reference\n");
    assert_eq!(unread.code, Some(2), "{}", unread.all());
    assert!(unread.stdout.contains("gone: could not be read after") && unread.stdout.contains("planner"));
    let none = status(
        folder.path(),
        "sources:\n  - name: s\n    store: sqlite://scheduler.db\n    query: SELECT 1 AS store_now, NULL AS lease\n",
    );
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "no leases"));
}

#[test]
fn check_reads_nothing_unless_it_is_told_to_connect() {
    let folder = folder();
    let yaml = "sources:\n  - name: gone\n    store: sqlite://gone.db\n    preset: reference\n";
    let config = format!("--config.file={}", configure(folder.path(), yaml).display());
    let checked = run(&["check", &config]);
    let introduction = "gone: sqlite, preset reference, standing leases, times on the store's clock";
    let hint = "The configuration is well formed; --connect reads each source too.";
    assert_eq!((checked.code, checked.stdout), (Some(0), format!("{introduction}\n{hint}")));
    let connected = check(folder.path(), yaml);
    let told = "cannot be read (store_unreachable): there is no file at the configured path";
    assert_eq!((connected.code, connected.stdout), (Some(2), format!("{introduction}\n  {told}")));
}

#[test]
fn check_warns_of_suspicious_settings_and_exits_with_0() {
    let folder = folder();
    let yaml =
        "sources:\n  - name: jobs\n    store: postgres://u@127.0.0.1/jobs\n    query: SELECT now() AS store_now\n";
    let path = configure(folder.path(), yaml);
    let checked = run(&["check", &format!("--config.file={}", path.display())]);
    assert_eq!(checked.code, Some(0), "{}", checked.all());
    let warning = format!("{}:4: warning: the query returns `now()` as `store_now`", path.display());
    assert!(checked.stdout.starts_with(&warning), "{}", checked.stdout);
}

#[test]
fn the_configuration_can_be_named_by_the_environment_and_the_metrics_moved() {
    let folder = folder();
    let path = configure(folder.path(), &one_source(folder.path()));
    let mut moved = command(["--web.listen-address=127.0.0.1:0", "--web.telemetry-path=/elsewhere"]);
    moved.env("LEASE_EXPORTER_CONFIG_FILE", &path);
    let exporter = Exporter::started(Process::start(moved));
    assert_eq!(exporter.get("/metrics").status, 404);
    assert!(exporter.get("/elsewhere").body.contains("lease_state{source=\"documents\",lease=\"planner\""));
    assert!(exporter.get("/").body.contains("href=\"elsewhere\""));
}

#[test]
fn each_line_of_a_json_log_is_an_object_and_a_source_that_fails_is_logged_once() {
    let folder = folder();
    let yaml = "sources:\n  - name: gone\n    store: sqlite://gone.db\n    preset: reference\n    reuse_for: 0s\n";
    let exporter = Exporter::start_with(folder.path(), yaml, &["--log.format=json"]);
    for _ in 0..5 {
        exporter.scrape();
    }
    let finished = exporter.stop();
    let lines: Vec<serde_json::Value> =
        finished.stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let failures: Vec<_> = lines.iter().filter(|line| line["source"] == "gone").collect();
    assert_eq!(failures.len(), 1, "{}", finished.stderr);
    assert_eq!(failures[0]["reason"], "store_unreachable");
    assert_eq!(failures[0]["level"], "warn");
}
