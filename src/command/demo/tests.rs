use super::pace::parse;
use super::story::{Act, STORY};
use super::*;
use crate::lease::Reason;
#[cfg(any(feature = "postgres", feature = "redis"))]
use crate::servers;

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
    assert_eq!(parse("20").unwrap().of(1), Duration::from_millis(1));
    for wrong in ["0", "0.09", "21", "-1", "nan", "inf", "fast", ""] {
        parse(wrong).unwrap_err();
    }
}

#[test]
fn at_every_pace_the_lease_can_be_kept_and_work_moves_within_the_limit() {
    for speed in ["0.1", "1", "7", "20"] {
        let pace = parse(speed).unwrap();
        assert!(pace.renew_every() * 4 < pace.ttl(), "{speed}");
        assert!(pace.work_takes() * 2 < pace.due_every() && pace.due_every() * 3 < pace.stall_after(), "{speed}");
        assert!(pace.look_every() * 3 < pace.ttl() && pace.reuse_for() < pace.look_every(), "{speed}");
    }
}

#[test]
fn the_story_shows_every_state_and_ends_as_it_begins() {
    for state in State::ALL {
        assert!(STORY.iter().any(|beat| beat.state == state), "{state}");
    }
    assert!(STORY[0].title.is_some());
    assert_eq!(STORY.map(|beat| beat.state).last(), Some(&State::Active));
    let reasons = STORY.map(|beat| beat.reason);
    for reason in [Reason::NoProgress, Reason::Expired, Reason::StoreUnreachable, Reason::NothingDue] {
        assert!(reasons.contains(&reason), "{reason}");
    }
    let at = |act| STORY.iter().position(|beat| beat.act == act).unwrap();
    for (undone, done) in [(Act::Freeze, Act::Thaw), (Act::Pause, Act::Resume), (Act::Hide, Act::Reveal)] {
        assert!(at(undone) < at(done));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_is_shown_as_it_is_told() {
    the_story_is_shown_with(&arguments("6"), "an SQLite file").await;
}

/// On a server the same story is told, and what was made for it is gone when it is over.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_is_the_same_on_postgres() {
    let database = servers::postgres().database();
    the_story_is_shown_with(&on(database.owner(), "6"), "the schema lease_exporter_demo_").await;
    assert_eq!(schemas(&database), "");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_stop_in_the_midst_of_it_leaves_no_schema_behind() {
    let database = servers::postgres().database();
    let stop = CancellationToken::new();
    let stopped = async {
        while schemas(&database).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop.cancel();
    };
    let arguments = on(database.owner(), "1");
    let mut out = Vec::new();
    let (outcome, ()) = tokio::join!(show(&arguments, Voice::new(&mut out, false), stop.clone()), stopped);
    outcome.unwrap();
    assert_eq!(schemas(&database), "");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_failure_on_the_way_leaves_no_schema_behind() {
    let database = servers::postgres().database();
    let owner = database.owner();
    let store = StoreAddress::parse(owner.url(), Some(owner.password_file().to_owned())).unwrap();
    let stage = Stage::set(parse("1").unwrap(), false, Some(store)).await.unwrap();
    assert!(!schemas(&database).is_empty());
    drop(stage);
    assert_eq!(schemas(&database), "");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn what_is_kept_on_a_server_can_be_looked_at_without_the_demo() {
    let database = servers::postgres().database();
    let owner = database.owner();
    let store = StoreAddress::parse(owner.url(), Some(owner.password_file().to_owned())).unwrap();
    let stage = Stage::set(parse("1").unwrap(), true, Some(store)).await.unwrap();
    let file = stage.config_file();
    let (cleared, farewell) = stage.clear(async { Some(Ok(())) }).await;
    cleared.unwrap();
    assert!(!schemas(&database).is_empty());
    let observer = sources::passing_observer(&sources::configuration(&file).unwrap()).unwrap();
    let observed = observer.observe(tokio::time::Instant::now() + Duration::from_secs(10)).await;
    let statuses: Vec<_> = observed.iter().flat_map(|observed| &observed.snapshot.leases).collect();
    assert_eq!(statuses.iter().map(|status| status.verdict.reason).collect::<Vec<_>>(), [Reason::Absent]);
    typed(&farewell);
    assert_eq!(schemas(&database), "");
    assert!(!file.exists());
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn what_is_kept_in_redis_can_be_removed_as_it_says() {
    let keyspace = servers::redis().keyspace();
    keyspace.grant(&["allcommands"]);
    let store = StoreAddress::parse(keyspace.url(), Some(keyspace.password_file().to_owned())).unwrap();
    let stage = Stage::set(parse("1").unwrap(), true, Some(store)).await.unwrap();
    let StoreAddress::Redis { prefix, .. } = stage.store() else { panic!("no Redis") };
    keyspace.command(&["HSET", &format!("{prefix}lease:{}", stage::LEASE), "epoch", "1"]);
    keyspace.command(&["SET", "another", "stays"]);
    let (cleared, farewell) = stage.clear(async { Some(Ok(())) }).await;
    cleared.unwrap();
    typed(&farewell);
    assert_eq!(keyspace.command(&["KEYS", "*"]), "another");
}

/// A server that hangs keeps nobody, and what is left there is said with what removes it.
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_while_the_server_hangs_ends_within_seconds_and_says_what_is_left() {
    let server = servers::Server::start(servers::Kind::Redis, &[]);
    let keyspace = server.keyspace();
    let stop = CancellationToken::new();
    let stopped = async {
        while keyspace.command(&["KEYS", "lease_exporter_demo_*:lease:*"]).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.freeze();
        stop.cancel();
        tokio::time::Instant::now()
    };
    let url = format!("redis://{}/{}", server.address(), keyspace.number());
    let arguments = Arguments { store: Some(url), ..arguments("1") };
    let mut out = Vec::new();
    let (outcome, since) = tokio::join!(show(&arguments, Voice::new(&mut out, false), stop.clone()), stopped);
    let took = since.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(outcome.unwrap_err().to_string(), "the demo's store: the store cannot be reached");
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("Another Ctrl-C ends at once"), "{out}");
    let (_, left) = out.split_once("is left there. Remove it with\n").unwrap();
    server.thaw();
    typed(&left.lines().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(keyspace.command(&["DBSIZE"]), "0");
}

/// Whoever asks twice does not wait for the store, also not as everything is dropped.
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stops_it_twice_does_not_wait() {
    let server = servers::Server::start(servers::Kind::Redis, &[]);
    let url = format!("redis://{}", server.address());
    let stage = Stage::set(parse("1").unwrap(), false, Some(StoreAddress::parse(&url, None).unwrap())).await.unwrap();
    server.freeze();
    let since = tokio::time::Instant::now();
    tokio::select! {
        _ = stage.clear(std::future::pending()) => panic!("nobody has left"),
        () = tokio::task::yield_now() => {}
    }
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
}

/// Types the commands that it says, on a terminal of its own.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn typed(farewell: &[String]) {
    let commands: Vec<_> =
        farewell.iter().filter(|line| line.starts_with("    ") && !line.contains("lease-exporter status")).collect();
    assert!(!commands.is_empty(), "{farewell:?}");
    for word in ["PGPASSWORD=", "REDISCLI_AUTH="] {
        assert!(commands.iter().all(|line| !line.contains(word) || line.contains("$(cat ")), "{farewell:?}");
    }
    let script = commands.into_iter().fold("set -e\n".to_owned(), |script, line| script + line + "\n");
    let folders = [servers::program("psql"), "/usr/bin:/bin".to_owned()];
    let path = folders.map(|path| path.trim_end_matches("/psql").to_owned()).join(":");
    let done = std::process::Command::new("sh").args(["-c", &script]).env("PATH", path).output().unwrap();
    assert!(done.status.success(), "{script}\n{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_help_says_how_much_it_writes_in_a_minute() {
    assert_eq!(parse("1").unwrap().due_every() * 60, Duration::from_secs(60));
    let command = <Arguments as Args>::augment_args(clap::Command::new("demo"));
    assert!(command.get_long_about().unwrap().to_string().contains("about 60 small records a minute, times the speed"));
}

#[tokio::test]
async fn a_store_that_is_none_for_the_demo_is_refused_before_anything_is_made() {
    for (store, why) in [
        ("sqlite:///planted.db", "makes an SQLite file of its own"),
        ("postgres://me:planted@localhost/db", "a password must not stand in it"),
        ("postgres://planted.example/db", "needs no TLS"),
        ("planted", "expected sqlite:///"),
    ] {
        let arguments = Arguments { store: Some(store.to_owned()), ..arguments("1") };
        let mut out = Vec::new();
        let failure = show(&arguments, Voice::new(&mut out, false), CancellationToken::new()).await.unwrap_err();
        let said = failure.to_string();
        assert!(
            matches!(failure, Failure::Configuration(_)) && said.contains(why) && !said.contains("planted"),
            "{said}"
        );
        assert!(out.is_empty());
    }
}

#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_is_the_same_on_redis() {
    let keyspace = servers::redis().keyspace();
    let url = format!("redis://{}/{}", servers::redis().address(), keyspace.number());
    let arguments = Arguments { store: Some(url), ..arguments("6") };
    the_story_is_shown_with(&arguments, "Redis under keys that begin with lease_exporter_demo_").await;
    assert_eq!(keyspace.command(&["DBSIZE"]), "0");
}

/// The story in the store of whoever logs in like this.
#[cfg(feature = "postgres")]
fn on(login: &servers::Login, speed: &str) -> Arguments {
    let password_file = Some(login.password_file().to_owned());
    Arguments { store: Some(login.url().to_owned()), password_file, ..arguments(speed) }
}

/// The names of the schemas that demos have made.
#[cfg(feature = "postgres")]
fn schemas(database: &servers::Database) -> String {
    database.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'lease_exporter_demo_%'")
}

async fn the_story_is_shown_with(arguments: &Arguments, place: &str) {
    let mut out = Vec::new();
    let outcome = show(arguments, Voice::new(&mut out, false), CancellationToken::new()).await.unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(place), "{out}");
    assert_eq!(outcome, Outcome { shown: STORY.map(|beat| beat.state).to_vec(), missed: 0 }, "{out}");
    // The same again, from the text: what the exporter showed, in this order, whatever else was seen between.
    let mut lines = out.lines();
    for expected in [
        "active ",
        "idle ",
        "active ",
        "stalled ",
        "active ",
        "no_leader ",
        "took the lease",
        "active ",
        "late write under epoch 1 fenced",
        "active ",
        "unknown ",
        "active ",
        "nothing is left behind",
    ] {
        assert!(lines.any(|line| line.contains(expected)), "{expected:?} is not where it belongs in\n{out}");
    }
    assert!(!out.contains('\x1b'));
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[tokio::test]
async fn whoever_has_seen_enough_may_leave() {
    /// A pipe whose reader has gone after so many lines.
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
        let outcome = show(&arguments("20"), Voice::new(Pipe(lines), false), CancellationToken::new()).await.unwrap();
        assert!(outcome.shown.len() < STORY.len());
    }
}

#[tokio::test]
async fn a_stop_in_the_midst_of_it_leaves_nothing_behind() {
    let mut out = Vec::new();
    let stop = CancellationToken::new();
    let arguments = arguments("1");
    let stopped = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(show(&arguments, Voice::new(&mut out, false), stop.clone()), stopped);
    assert_eq!(outcome.unwrap().missed, 0);
    assert!(String::from_utf8(out).unwrap().ends_with("nothing is left behind.\n"));
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_before_anything_is_made() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut out = Vec::new();
    let arguments = Arguments { port, ..arguments("1") };
    let failure = show(&arguments, Voice::new(&mut out, false), CancellationToken::new()).await.unwrap_err();
    assert!(failure.to_string().starts_with(&format!("port {port} is taken; choose another with --port")), "{failure}");
    assert!(out.is_empty());
}
