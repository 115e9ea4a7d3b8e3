//! The demo with its lease on a server.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use test_support::{Database, Kind, Login, Server};

use super::harness::process::{Finished, Process, command};
use super::harness::{eventually, now};

/// The timeout of a request to Redis in the protocol.
const STORE_TIMEOUT: Duration = Duration::from_secs(3);
/// The exit code after a second SIGINT.
const ABANDONED: i32 = 130;

fn start(speed: &str, store: &[String], more: &[&str]) -> Process {
    let speed = format!("--speed={speed}");
    let arguments = ["demo", "--port=0", &speed];
    Process::start(command(arguments.into_iter().chain(store.iter().map(String::as_str)).chain(more.iter().copied())))
}

/// The arguments for a store with this login.
fn on(login: &Login) -> Vec<String> {
    vec![format!("--store={}", login.url()), format!("--password-file={}", login.password_file().display())]
}

fn on_redis(server: &Server, number: u32) -> Vec<String> {
    vec![format!("--store=redis://{}/{number}", server.address())]
}

/// The names of the schemas that demos have made.
fn schemas(database: &Database) -> String {
    database.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'lease_exporter_demo_%'")
}

/// Runs the scenario once. It must show every expected state.
fn run_scenario_on(store: &[String], place: &str) {
    let finished = start("6", store, &["--once"]).finish();
    let out = &finished.stdout;
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    assert!(!out.contains("MISSED"), "{out}");
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(place), "{out}");
    let mut lines = out.lines();
    for expected in include!("../golden/demo-lines.in") {
        assert!(lines.any(|line| line.contains(expected)), "{expected:?} is not in its place in\n{out}");
    }
    assert!(!out.contains('\x1b'));
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

/// Runs the commands that the demo printed at its end in a shell.
fn run_commands(notice: &str) {
    let commands: Vec<_> =
        notice.lines().filter(|line| line.starts_with("    ") && !line.contains("lease-exporter status")).collect();
    assert!(!commands.is_empty(), "{notice}");
    for word in ["PGPASSWORD=", "REDISCLI_AUTH="] {
        assert!(commands.iter().all(|line| !line.contains(word) || line.contains("$(cat ")), "{notice}");
    }
    let script = commands.into_iter().fold("set -e\n".to_owned(), |script, line| script + line + "\n");
    let folders = [test_support::program("psql"), "/usr/bin:/bin".to_owned()];
    let path = folders.map(|path| path.trim_end_matches("/psql").to_owned()).join(":");
    let done = Command::new("sh").args(["-c", &script]).env("PATH", path).output().unwrap();
    assert!(done.status.success(), "{script}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// The lines of a demo that was ended while it keeps its store, after the notice of that.
fn kept(demo: Process) -> String {
    demo.signal(Signal::INT);
    let finished = demo.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    let notice = finished.stdout.split_once("The store and the configuration are kept.");
    notice.unwrap_or_else(|| panic!("{}", finished.all())).1.to_owned()
}

#[test]
fn the_scenario_is_the_same_on_postgres() {
    let database = test_support::postgres().database();
    run_scenario_on(&on(database.owner()), "the schema lease_exporter_demo_");
    assert_eq!(schemas(&database), "");
}

#[test]
fn the_scenario_is_the_same_on_redis() {
    let server = test_support::redis();
    let keyspace = server.keyspace();
    run_scenario_on(&on_redis(server, keyspace.number()), "Redis under keys that begin with lease_exporter_demo_");
    assert_eq!(keyspace.command(&["DBSIZE"]), "0");
}

#[test]
fn a_stop_during_the_demo_leaves_no_schema_behind() {
    let database = test_support::postgres().database();
    let demo = start("1", &on(database.owner()), &[]);
    eventually("a schema", || (!schemas(&database).is_empty()).then_some(()));
    demo.signal(Signal::INT);
    let finished = demo.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    assert_eq!(schemas(&database), "");
}

/// The folder of the demo cannot be written, which shows only after the schema is made.
#[test]
fn a_failure_during_the_setup_leaves_no_schema_behind() {
    let database = test_support::postgres().database();
    database.execute(
        "CREATE TABLE created (tag text);
         CREATE FUNCTION record() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS
         $$ BEGIN INSERT INTO public.created VALUES (tg_tag); END $$;
         CREATE EVENT TRIGGER record ON ddl_command_end WHEN TAG IN ('CREATE SCHEMA') EXECUTE FUNCTION record();",
    );
    let demo = command(["demo", "--port=0"].map(str::to_owned).into_iter().chain(on(database.owner())));
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]).arg(demo.get_program()).args(demo.get_args());
    limited.env_remove("LEASE_EXPORTER_CONFIG_FILE");
    let finished = Process::start(limited).finish();
    assert!(finished.stderr.contains("cannot write into the temporary folder"), "{}", finished.all());
    assert_ne!(finished.code, Some(0));
    assert_eq!(database.query("SELECT tag FROM created"), "CREATE SCHEMA");
    assert_eq!(schemas(&database), "");
}

#[test]
fn a_kept_store_on_a_server_can_be_read_without_the_demo() {
    let database = test_support::postgres().database();
    let demo = start("1", &on(database.owner()), &["--keep"]);
    let line = demo.stdout.wait_for("Kept: ");
    let (file, _) = line.strip_prefix("Kept: ").unwrap().split_once(", with this configuration").unwrap();
    demo.stdout.wait_for("active ");
    let notice = kept(demo);
    assert!(!schemas(&database).is_empty());
    let Finished { code, stdout, .. } =
        Process::start(command(["status".to_owned(), format!("--config.file={file}")])).finish();
    assert!(
        code == Some(1) && stdout.contains("no_leader") && stdout.contains("the holder gave it back"),
        "{code:?} {stdout}"
    );
    run_commands(&notice);
    assert_eq!(schemas(&database), "");
    assert!(!std::path::Path::new(file).exists());
}

#[test]
fn a_kept_store_in_redis_is_removed_by_the_printed_commands() {
    let keyspace = test_support::redis().keyspace();
    keyspace.grant(&["allcommands"]);
    let store =
        [format!("--store={}", keyspace.url()), format!("--password-file={}", keyspace.password_file().display())];
    keyspace.command(&["SET", "another", "stays"]);
    let demo = start("1", &store, &["--keep"]);
    demo.stdout.wait_for("active ");
    let notice = kept(demo);
    assert!(keyspace.command(&["KEYS", "lease_exporter_demo_*:lease:*"]).lines().count() > 0);
    run_commands(&notice);
    assert_eq!(keyspace.command(&["KEYS", "*"]), "another");
}

/// A server that hangs does not delay the end. The commands that remove what is left there are printed.
#[test]
fn a_stop_while_the_server_hangs_ends_within_seconds_and_prints_what_is_left() {
    let server = Server::start(Kind::Redis, &[]);
    let keyspace = server.keyspace();
    let demo = start("1", &on_redis(&server, keyspace.number()), &[]);
    eventually("a lease", || (!keyspace.command(&["KEYS", "lease_exporter_demo_*:lease:*"]).is_empty()).then_some(()));
    server.freeze();
    let since = now();
    demo.signal(Signal::INT);
    let finished = demo.finish();
    let took = now() - since;
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_ne!(finished.code, Some(0));
    assert!(finished.stderr.contains("the demo's store: the store cannot be reached"), "{}", finished.all());
    assert!(finished.stdout.contains("Another Ctrl-C ends at once"), "{}", finished.all());
    let (_, left) = finished.stdout.split_once("is left there. Remove it with\n").unwrap();
    server.thaw();
    run_commands(left);
    assert_eq!(keyspace.command(&["DBSIZE"]), "0");
}

/// The end does not wait for the store, although a request to it is under way.
#[test]
fn a_second_stop_does_not_wait_for_the_store() {
    let server = Server::start(Kind::Redis, &[]);
    let demo = start("1", &on_redis(&server, 0), &[]);
    demo.stdout.wait_for("active ");
    server.freeze();
    demo.signal(Signal::INT);
    demo.stdout.wait_for("Another Ctrl-C ends at once");
    let since = now();
    demo.signal(Signal::INT);
    let finished = demo.finish();
    // A request to the hanging server would end by its timeout, and not before.
    let took = now() - since;
    assert!(took < STORE_TIMEOUT, "{took:?}");
    assert_eq!(finished.code, Some(ABANDONED), "{}", finished.all());
}
