use super::scenario::{Action, STEPS};
use super::speed::parse;
use super::*;
use crate::lease::{Reason, State};

fn arguments(speed: &str) -> Arguments {
    Arguments { speed: parse(speed).unwrap(), port: 0, once: true, keep: false, store: None, password_file: None }
}

#[test]
fn times_are_scaled_to_whole_milliseconds() {
    assert_eq!(parse("1").unwrap().stall_after(), Duration::from_secs(5));
    assert_eq!(parse("0.1").unwrap().stall_after(), Duration::from_secs(50));
    assert_eq!(parse("8").unwrap().stall_after(), Duration::from_millis(625));
    assert_eq!(parse("3").unwrap().ttl(), Duration::from_millis(1000));
    assert_eq!(parse("7").unwrap().ttl(), Duration::from_millis(429));
    assert_eq!(parse("20").unwrap().scale(1), Duration::from_millis(1));
    for wrong in ["0", "0.09", "21", "-1", "nan", "inf", "fast", ""] {
        parse(wrong).unwrap_err();
    }
}

#[test]
fn at_every_speed_the_lease_is_renewed_in_time_and_work_moves_within_the_limit() {
    for text in ["0.1", "1", "7", "20"] {
        let speed = parse(text).unwrap();
        assert!(speed.renew_interval() * 4 < speed.ttl(), "{text}");
        assert!(
            speed.work_duration() * 2 < speed.due_interval() && speed.due_interval() * 3 < speed.stall_after(),
            "{text}"
        );
        assert!(speed.poll_interval() * 3 < speed.ttl() && speed.reuse_for() < speed.poll_interval(), "{text}");
    }
}

#[test]
fn the_scenario_shows_every_state_and_ends_as_it_begins() {
    for state in State::ALL {
        assert!(STEPS.iter().any(|step| step.expected.0 == state), "{state}");
    }
    assert!(STEPS[0].heading.is_some());
    assert_eq!(STEPS.map(|step| step.expected.0).last(), Some(&State::Active));
    let reasons = STEPS.map(|step| step.expected.1);
    for reason in [Reason::NoProgress, Reason::Expired, Reason::StoreUnreachable, Reason::NothingDue] {
        assert!(reasons.contains(&reason), "{reason}");
    }
    let at = |action| STEPS.iter().position(|step| step.action == action).unwrap();
    for (begin, end) in [
        (Action::FreezeLeader, Action::ThawLeader),
        (Action::PauseLeader, Action::ResumeFormerLeader),
        (Action::HideStore, Action::RestoreStore),
    ] {
        assert!(at(begin) < at(end));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_exporter_shows_every_expected_state() {
    run_scenario_on(&arguments("6"), "an SQLite file").await;
}

#[test]
fn the_help_says_how_much_the_demo_writes_per_minute() {
    assert_eq!(parse("1").unwrap().due_interval() * 60, Duration::from_secs(60));
    let command = <Arguments as Args>::augment_args(clap::Command::new("demo"));
    assert!(command.get_long_about().unwrap().to_string().contains("about 60 small records a minute, times the speed"));
}

#[tokio::test]
async fn an_unusable_store_is_refused_before_anything_is_created() {
    for (store, why) in [
        ("sqlite:///planted.db", "makes an SQLite file of its own"),
        ("postgres://me:planted@localhost/db", "a password must not stand in it"),
        ("postgres://planted.example/db", "needs no TLS"),
        ("planted", "expected sqlite:///"),
    ] {
        let arguments = Arguments { store: Some(store.to_owned()), ..arguments("1") };
        let mut out = Vec::new();
        let failure = show(&arguments, Output::new(&mut out, false), CancellationToken::new()).await.unwrap_err();
        let message = failure.to_string();
        assert!(
            matches!(failure, Failure::Configuration(_)) && message.contains(why) && !message.contains("planted"),
            "{message}"
        );
        assert!(out.is_empty());
    }
}

async fn run_scenario_on(arguments: &Arguments, place: &str) {
    let mut out = Vec::new();
    let outcome = show(arguments, Output::new(&mut out, false), CancellationToken::new()).await.unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(place), "{out}");
    assert_eq!(outcome, Outcome { shown: STEPS.map(|step| step.expected.0).to_vec(), missed: 0 }, "{out}");
    // The printed text has the same states in the same order, possibly with others in between.
    let mut lines = out.lines();
    for expected in include!("../../../tests/golden/demo-lines.in") {
        assert!(lines.any(|line| line.contains(expected)), "{expected:?} is not in its place in\n{out}");
    }
    assert!(!out.contains('\x1b'));
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[tokio::test]
async fn a_closed_output_ends_the_demo() {
    /// A pipe whose reader closes it after a number of lines.
    struct Pipe(usize);
    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.iter().filter(|byte| **byte == b'\n').count())
                .ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for lines in [0, 20] {
        let outcome = show(&arguments("20"), Output::new(Pipe(lines), false), CancellationToken::new()).await.unwrap();
        assert!(outcome.shown.len() < STEPS.len());
    }
}

#[tokio::test]
async fn a_stop_during_the_demo_leaves_nothing_behind() {
    /// An output that stops the demo when it shows the first state.
    struct StopAtFirstState<'a>(&'a mut Vec<u8>, CancellationToken);
    impl Write for StopAtFirstState<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(bytes);
            if self.0.windows(7).any(|text| text == b"active ") {
                self.1.cancel();
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (mut out, stop) = (Vec::new(), CancellationToken::new());
    let output = Output::new(StopAtFirstState(&mut out, stop.clone()), false);
    let outcome = show(&arguments("1"), output, stop).await.unwrap();
    assert_eq!(outcome.missed, 0);
    assert!(outcome.shown.len() < STEPS.len());
    assert!(String::from_utf8(out).unwrap().ends_with("nothing is left behind.\n"));
}

#[tokio::test]
async fn a_taken_port_is_reported_before_anything_is_created() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut out = Vec::new();
    let arguments = Arguments { port, ..arguments("1") };
    let failure = show(&arguments, Output::new(&mut out, false), CancellationToken::new()).await.unwrap_err();
    assert!(failure.to_string().starts_with(&format!("port {port} is taken; choose another with --port")), "{failure}");
    assert!(out.is_empty());
}

#[cfg(all(feature = "postgres", feature = "redis"))]
mod commands {
    use lease_protocol::StoreAddress;

    use super::super::commands::StoreCommands;

    fn commands(url: &str, password_file: Option<&str>) -> StoreCommands {
        StoreCommands::new(&StoreAddress::parse(url, password_file.map(Into::into)).unwrap().with_namespace("own"))
    }

    #[test]
    fn each_command_names_the_server_and_no_password() {
        assert_eq!(
            commands("postgres://me@localhost:6432/jobs", Some("/a b")).all(),
            [
                r#"    export PGPASSWORD="$(cat '/a b')""#,
                "    psql -h localhost -p 6432 -U me -d jobs -c 'SELECT * FROM own.scheduler_lease'",
                "    psql -h localhost -p 6432 -U me -d jobs -c 'DROP SCHEMA own CASCADE'",
            ]
        );
        assert_eq!(
            commands("redis://localhost", None).all(),
            [
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*'",
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*' \
                 | xargs redis-cli -h localhost -p 6379 -n 0 UNLINK",
            ]
        );
        let nopass = commands("redis://it's@[::1]:1/2", None).removal().concat();
        assert!(nopass.contains(r"redis-cli -h ::1 -p 1 --user 'it'\''s' --pass '' --no-auth-warning -n 2 UNLINK"));
        let with_password = commands("redis://me@localhost/2", Some("/file")).removal();
        assert_eq!(with_password[0], r#"    export REDISCLI_AUTH="$(cat /file)""#);
        assert!(!with_password[1].contains("--pass"));
    }

    #[test]
    fn an_sqlite_file_is_removed_with_its_folder() {
        let commands = commands("sqlite:///a", None);
        assert_eq!(commands.all(), ["    sqlite3 -readonly /a 'SELECT * FROM scheduler_lease'"]);
        assert!(commands.removal().is_empty());
    }
}
