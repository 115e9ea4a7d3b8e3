//! Secrets written into the wrong setting.

use super::environment::{among_secrets, run, sound};
use super::output::CollectedOutput;
use crate::harness::Exporter;
use crate::harness::exporter::configure;
use crate::harness::store::folder;
use crate::web::client::plainly;

/// Addresses with a secret.
const ADDRESSES: [&str; 26] = [
    "postgres://u:PLANTED@h/d",
    "postgres://u:%50LANTED@h/d",
    "postgres://u:pw/PLANTED@h/d",
    "postgres://u:PLANTED@",
    "postgres://u:PLANTED#x@h/d",
    "postgres://u:PLANTED@[::1/d",
    "postgres://u:PLANTED@h:port/d",
    "postgres:u:PLANTED@h",
    "postgres//u:PLANTED@h/d",
    "postgres://u@h/d?password=PLANTED",
    "postgres://u@h/d?sslpassword=PLANTED",
    "postgres://u@h/d?p%61ssword=PLANTED",
    "postgres://u@h/d?sslkey=PLANTED",
    "host=h user=u password=PLANTED",
    "jdbc:postgresql://h/d?user=u&password=PLANTED",
    "mysql://u:PLANTED@h/d",
    "mysql://u@h/d?ssl-key=PLANTED",
    "mariadb://u@h/d#PLANTED",
    "redis://:PLANTED@h/0",
    "redis://u:PLANTED@h/0",
    "redis://h/0?password=PLANTED",
    "redis+sentinel://u:PLANTED@a,b/main/0",
    "etcd://u:PLANTED@h",
    "sqlite://u:PLANTED@h/x.db",
    "sqlite:///x.db?key=PLANTED",
    "u:PLANTED@h/d",
];

/// Sources with a secret under another key than `store`.
const LINES: [&str; 14] = [
    "password: PLANTED",
    "passwrd: PLANTED",
    "password_file: [PLANTED]",
    "password_file: {a: PLANTED}",
    "password_file: *PLANTED",
    "password_file: \"PLANTED",
    "password_file: !PLANTED x",
    "passfile: PLANTED",
    "tls: {key: PLANTED}",
    "tls: {key_file: [PLANTED]}",
    "tls: PLANTED",
    "token: PLANTED",
    "dsn: PLANTED",
    "auth: {user: u, password: PLANTED}",
];

#[test]
fn no_complaint_about_a_configuration_repeats_a_secret_in_it() {
    let (folder, mut said) = (folder(), CollectedOutput::default());
    let good = sound(folder.path());
    std::fs::write(folder.path().join("short.key"), "PLANTED").unwrap();
    let exporter = Exporter::started(among_secrets(&[
        &format!("--config.file={}", configure(folder.path(), &good).display()),
        "--web.listen-address=127.0.0.1:0",
        "--web.enable-lifecycle",
        "--log.level=debug",
    ]));
    let of_address = |address: &&str| format!("  - {{name: a, store: '{address}', query: SELECT 1}}\n");
    let of_line = |line: &&str| format!("  - name: a\n    store: postgres://u@h/d\n    {line}\n    query: SELECT 1\n");
    let sources = ADDRESSES.iter().map(of_address).chain(LINES.iter().map(of_line));
    let of_sources = sources.map(|source| good.clone() + &source);
    let whole = [
        "token_key: PLANTED-0123456789\n",
        // The path of an unusable file is shown, and its content is not.
        "token_key_file: short.key\n",
        "token_key_file: [PLANTED]\n",
        "token_key_file: {PLANTED: x}\n",
        "password: PLANTED\n",
    ];
    for wrong in of_sources.chain(whole.iter().map(|line| good.replace("token_key_file: token.key\n", line))) {
        let config = format!("--config.file={}", configure(folder.path(), &wrong).display());
        for arguments in [
            &["check", config.as_str()][..],
            &["status", &config],
            &[&config, "--web.listen-address=127.0.0.1:0", "--log.level=debug"],
            &[&config, "--web.listen-address=127.0.0.1:0", "--log.format=json"],
        ] {
            let refused = run(arguments, &mut said);
            assert_eq!(refused.code, Some(3), "{wrong}: {}", refused.all());
        }
        let answer = plainly(exporter.address(), "POST", "/-/reload", "").unwrap();
        assert_eq!(answer.status, 500, "{wrong}");
        said.note("the answer to a reload", answer.head + &answer.body);
    }
    let finished = exporter.stop();
    assert!(finished.stderr.matches("the configuration cannot be used").count() > 40, "{}", finished.stderr);
    said.note("the log of reloads", finished.all());
    said.holds_nothing_planted();
}

#[test]
fn no_command_repeats_a_secret_or_what_is_in_its_environment() {
    let mut said = CollectedOutput::default();
    for arguments in [
        &["--help"][..],
        &["help"],
        &["--version"],
        &["presets"],
        &["presets", "quartz"],
        &["check", "--help"],
        &["status", "--help"],
        &["scheduler", "--help"],
        &["demo", "--help"],
        &["completions", "bash"],
        &["man"],
    ] {
        assert_eq!(run(arguments, &mut said).code, Some(0), "{arguments:?}");
    }
    for arguments in [
        &["scheduler", "--lease=a", "--store=postgres://u:PLANTED@h/d"][..],
        &["scheduler", "--lease=a", "--store=postgres://u@127.0.0.1:1/d?password=PLANTED"],
        &["scheduler", "--lease=a", "--store=redis://:PLANTED@127.0.0.1:1/0"],
        &["scheduler", "--lease=a", "--store=PLANTED"],
        &["scheduler", "--lease=a", "--store=redis://u@127.0.0.1:1/0", "--password-file=PLANTED/none"],
        &["demo", "--once", "--store=postgres://u:PLANTED@h/d"],
        &["demo", "--once", "--store=redis://u:PLANTED@127.0.0.1:1/0"],
        &["demo", "--once", "--store=redis://u@127.0.0.1:1/0", "--password-file=PLANTED/none"],
        &["--password=PLANTED"],
        &["check", "--password=PLANTED"],
    ] {
        let words: Vec<_> = arguments.iter().map(|word| word.replace("PLANTED", "…")).collect();
        let finished = among_secrets(arguments).finish();
        assert!([Some(3), Some(4)].contains(&finished.code), "{words:?}: {}", finished.all());
        said.note(words.join(" "), finished.all());
    }
    said.holds_nothing_planted();
}
