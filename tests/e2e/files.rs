//! Files named by the configuration that are no regular files. They delay only what needs them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::{Pid, Signal};

use crate::harness::exporter::{check, configure};
use crate::harness::store::{STEADY, database, folder};
use crate::harness::{Exporter, eventually, now, run};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// A source of an SQLite file whose lease `steady` is always active.
fn steady(folder: &Path) -> String {
    drop(database(&folder.join("steady.db"), "CREATE TABLE IF NOT EXISTS t (x)"));
    format!("  - {{ name: steady, store: 'sqlite://steady.db', reuse_for: 0s, query: \"{STEADY}\" }}\n")
}

/// A source of a missing server whose connection needs the file.
fn in_need(name: &str, key: &str, path: &Path) -> String {
    format!(
        "  - name: {name}\n    store: postgres://u@127.0.0.1:1/d\n    timeout: 3s\n    {key}: {}\n    query: SELECT 1\n",
        path.display()
    )
}

/// The peak of the resident memory of a process in MiB.
fn peak(process: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[test]
fn password_files_that_are_pipes_without_a_writer_hold_up_neither_other_sources_nor_the_exporter() {
    let folder = folder();
    let pipes = ["one.password", "two.password", "three.password"].map(|name| folder.path().join(name));
    pipes.iter().for_each(|path| pipe(path));
    let sources = ["one", "two", "three"].iter().zip(&pipes).map(|(name, path)| in_need(name, "password_file", path));
    let yaml = format!("sources:\n{}{}", sources.collect::<String>(), steady(folder.path()));
    let exporter = Exporter::start(folder.path(), &yaml);
    std::thread::scope(|scope| {
        let scrape = scope.spawn(|| exporter.scrape_within(Some(10.0)));
        std::thread::sleep(Duration::from_millis(300));
        let began = now();
        assert_eq!(exporter.get("/-/healthy").status, 200);
        assert_eq!(exporter.get("/metrics?source=steady").status, 200);
        assert!(now() - began < Duration::from_secs(2), "it took {:?}", now() - began);
        let metrics = scrape.join().unwrap();
        assert_eq!(metrics.says("steady", "steady"), Some(("active", "progressing")));
        assert_eq!(metrics.value("lease_source_up", &[("source", "one")]), Some(0.0));
    });
    for path in &pipes {
        let told = format!("the file that `password_file` names, {}, is a pipe that nobody wrote to", path.display());
        eventually("each file to be told", || exporter.log().contains(&told).then_some(()));
    }
    let asking = std::thread::spawn({
        let address = exporter.address();
        move || crate::harness::http::get(address, "/-/healthy", &[])
    });
    asking.join().unwrap();
    let began = now();
    let finished = exporter.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.all());
    assert!(now() - began < Duration::from_secs(5), "it took {:?} to end", now() - began);
}

#[test]
fn a_password_is_read_from_a_pipe_each_time_that_somebody_writes_it() {
    let folder = folder();
    let path = folder.path().join("password");
    pipe(&path);
    let yaml = format!("sources:\n{}", in_need("one", "password_file", &path));
    for _ in 0..2 {
        let writer = std::thread::spawn({
            let path = path.clone();
            move || fs::write(path, "secret\n").unwrap()
        });
        // The file was read, because the error is about the server.
        let checked = check(folder.path(), &yaml);
        assert!(checked.stdout.contains("(store_unreachable): nothing listens"), "{}", checked.all());
        writer.join().unwrap();
    }
    fs::remove_file(&path).unwrap();
    let absent = check(folder.path(), &yaml);
    let told = format!("(store_refused): the file that `password_file` names, {}, is not there", path.display());
    assert!(absent.stdout.contains(&told), "{}", absent.all());
    fs::write(&path, "secret\n").unwrap();
    let back = check(folder.path(), &yaml);
    assert!(back.stdout.contains("nothing listens"), "{}", back.all());
}

/// Sources of each kind of server that need the file, one for each key with a file name, and the keys.
fn every_need(folder: &Path, path: &Path) -> (String, Vec<&'static str>) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    fs::write(&cert, "-----BEGIN CERTIFICATE-----\n").unwrap();
    fs::write(&key, "-----BEGIN PRIVATE KEY-----\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let (path, cert, key) = (path.display(), cert.display(), key.display());
    let needs = [
        ("password_file", format!("password_file: {path}")),
        ("ca_file", format!("tls: {{ ca_file: {path} }}")),
        ("cert_file", format!("tls: {{ cert_file: {path}, key_file: {key} }}")),
        ("key_file", format!("tls: {{ cert_file: {cert}, key_file: {path} }}")),
    ];
    let stores = [
        ("postgres://u@127.0.0.1:1/d", "query: SELECT 1"),
        ("mysql://u@127.0.0.1:1/d", "query: SELECT 1"),
        ("rediss://u@127.0.0.1:1/0", "preset: redbeat"),
    ];
    let (mut yaml, mut keys) = (String::from("sources:\n"), Vec::new());
    for (store, reads) in stores {
        for (key, need) in &needs {
            yaml += &format!("  - name: s{}\n    store: {store}\n    {need}\n    {reads}\n", keys.len());
            keys.push(*key);
        }
    }
    (yaml, keys)
}

#[test]
fn special_files_are_refused_at_once_without_memory() {
    let folder = folder();
    let long = folder.path().join("long");
    fs::write(&long, vec![b'x'; 1024 * 1024 + 1]).unwrap();
    for (path, what) in [
        (PathBuf::from("/dev/zero"), "is a device; name a file or a pipe"),
        (folder.path().to_owned(), "is a directory; name a file or a pipe"),
        (long, "has more than "),
    ] {
        let (yaml, keys) = every_need(folder.path(), &path);
        let began = now();
        let checked = check(folder.path(), &yaml);
        assert!(now() - began < Duration::from_secs(10), "it took {:?}", now() - began);
        for (number, key) in keys.iter().enumerate() {
            let after = checked.stdout.split(&format!("\ns{number}: ")).nth(1);
            let told = format!("(store_refused): the file that `{key}` names, {}, {what}", path.display());
            let after = after.unwrap_or_else(|| checked.stdout.split("s0: ").nth(1).unwrap());
            assert!(after.lines().nth(1).is_some_and(|line| line.contains(&told)), "{told}\n{}", checked.all());
        }
    }
}

#[test]
fn endless_files_do_not_grow_memory_or_stop_serving() {
    let folder = folder();
    let (yaml, _) = every_need(folder.path(), Path::new("/dev/zero"));
    let exporter = Exporter::start(folder.path(), &(yaml + &steady(folder.path())));
    for _ in 0..3 {
        assert_eq!(exporter.scrape().says("steady", "steady"), Some(("active", "progressing")));
    }
    let peak = peak(exporter.process().pid());
    assert!(peak < 150, "it took {peak} MiB");
}

#[test]
fn configuration_and_files_needed_at_the_start_are_regular_files_or_pipes() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("server.pem"), "x").unwrap();
    let own = |name: &str, yaml: &str| {
        fs::write(path(name), yaml).unwrap();
        format!("--config.file={}", path(name).display())
    };
    let web = |name: &str, more: &str| {
        fs::write(path(name), format!("tls_server_config:\n{more}")).unwrap();
        format!("--web.config.file={}", path(name).display())
    };
    let token = format!("token_key_file: /dev/zero\nsources:\n{}", steady(folder.path()));
    for (option, told) in [
        ("--config.file=/dev/zero".to_owned(), "/dev/zero: the file is a device"),
        (own("token.yml", &token), "the file that `token_key_file` names, /dev/zero, is a device"),
        ("--web.config.file=/dev/zero".to_owned(), "/dev/zero: the file is a device"),
        (
            web("pair.yml", "  cert_file: /dev/zero\n  key_file: /\n"),
            "the file that `key_file` names, /, is a directory",
        ),
        (
            web("ca.yml", "  cert_file: server.pem\n  key_file: server.pem\n  client_ca_file: /dev/zero\n"),
            "the file that `client_ca_file` names, /dev/zero, is a device",
        ),
    ] {
        let began = now();
        let refused = run(&["check", &option]);
        assert_eq!(refused.code, Some(3), "{option}: {}", refused.all());
        assert!(refused.stderr.contains(told), "{option}: {}", refused.all());
        assert!(now() - began < Duration::from_secs(5), "{option} took {:?}", now() - began);
    }
}

#[test]
fn a_configuration_is_read_from_a_pipe_of_the_shell_and_a_secret_too() {
    let folder = folder();
    let yaml = configure(folder.path(), &format!("token_key_file: /dev/fd/3\nsources:\n{}", steady(folder.path())));
    let script = format!(
        "cd {folder} && {program} check --config.file=<(cat {yaml}) --web.config.file=/dev/stdin 3< <(head -c 32 /dev/zero | tr '\\0' k) \
         < <(echo 'rate_limit: {{interval: 1s, burst: 1}}')",
        folder = folder.path().display(),
        program = crate::harness::process::program().display(),
        yaml = yaml.display(),
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("steady: sqlite") && said.contains("The web configuration is well formed"), "{said}");
}

#[test]
fn secret_files_readable_by_others_are_reported_once_with_key_path_and_remedy() {
    let folder = folder();
    let (key, password) = (folder.path().join("token.key"), folder.path().join("db.password"));
    fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    fs::write(&password, "secret").unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&key, 0o644);
    mode(&password, 0o640);
    let needing = ["one", "two"].map(|name| in_need(name, "password_file", &password)).concat();
    let yaml = format!("token_key_file: token.key\nsources:\n{}{needing}", steady(folder.path()));
    let exporter = Exporter::start(folder.path(), &yaml);
    let warnings = || {
        let log = exporter.log();
        let lines = log.lines().filter(|line| line.contains("chmod 600")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let first = warnings();
    assert_eq!(first.len(), 1, "{}", exporter.log());
    assert!(first[0].contains("level=warn") && first[0].contains("`token_key_file`"), "{first:?}");
    assert!(first[0].contains(&key.display().to_string()), "{first:?}");
    mode(&password, 0o604);
    exporter.process().signal(Signal::HUP);
    eventually("the other one to be told", || (warnings().len() == 2).then_some(()));
    assert!(warnings()[1].contains("`password_file`") && warnings()[1].contains(&password.display().to_string()));
    let checked = run(&["check", &format!("--config.file={}", folder.path().join("exporter.yml").display())]);
    assert_eq!(checked.code, Some(0));
    assert_eq!(checked.stdout.matches("warning: other users have rights to the file").count(), 2, "{}", checked.stdout);
    mode(&key, 0o600);
    mode(&password, 0o600);
    let checked = run(&["check", &format!("--config.file={}", folder.path().join("exporter.yml").display())]);
    assert!(!checked.all().contains("warning"), "{}", checked.all());
}
