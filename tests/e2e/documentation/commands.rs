//! Every command that a document shows in a `sh` block is run, on the files that the document shows.
//!
//! A command that cannot run here is in [`RUN_ELSEWHERE`], with the test that runs its like.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::examples::{adapted, prepare};
use super::markdown::{blocks, documents};
use crate::harness::http;
use crate::harness::process::{Finished, Process, command, program};
use crate::harness::store::folder;
use crate::harness::{Exporter, contents, repository};
use crate::servers::{self, Alertmanager};

/// How a command begins, the file of the test that runs its like, and the name of that test. Where nothing here can run it, the
/// test holds what the command names.
const RUN_ELSEWHERE: [(&str, &str, &str); 13] = [
    (
        "cargo run --release -- demo",
        "tests/e2e/command/exits.rs",
        "every_exit_code_that_a_command_names_occurs_and_no_other",
    ),
    ("cargo test", "tests/e2e/documentation/commands.rs", "every_filter_of_a_test_command_finds_tests"),
    ("make ", "tests/e2e/documentation/commands.rs", "every_target_of_make_that_is_shown_is_there"),
    ("UPDATE_GOLDEN=1 cargo test", "tests/e2e/documentation/commands.rs", "every_filter_of_a_test_command_finds_tests"),
    (".ci/", "tests/e2e/documentation/commands.rs", "every_script_that_is_shown_is_there"),
    ("lease-exporter man | man -l -", "tests/e2e/command/manual.rs", "mandoc_finds_nothing_wrong_with_any_page"),
    (
        "deploy/local/up --hurry",
        "tests/e2e/rollout/paging.rs",
        "a_stall_pages_nobody_until_opted_in_then_once_through_an_outage_and_no_more_once_opted_out",
    ),
    (
        "docker compose --file deploy/compose.yaml up",
        "tests/e2e/rollout/compose.rs",
        "the_program_takes_the_arguments_that_compose_gives_it",
    ),
    (
        "docker compose --file deploy/compose.yaml kill",
        "tests/e2e/documentation/commands.rs",
        "every_service_of_compose_that_is_signalled_is_there",
    ),
    (
        "docker build --file deploy/Dockerfile",
        "tests/e2e/rollout/image.rs",
        "the_image_is_built_with_the_rust_that_the_package_asks_for",
    ),
    ("docker run --read-only --cap-drop ALL", "tests/e2e/rollout/image.rs", "image_runs_as_an_unprivileged_user"),
    ("systemctl ", "tests/e2e/packaging/units.rs", "systemd_analyze_reports_nothing_about_the_units"),
    ("./tests/simulation/mutations/run", "tests/e2e/documentation/commands.rs", "every_script_that_is_shown_is_there"),
];

/// The commands of a document's `sh` blocks, with the number of the block.
fn commands(document: &str) -> Vec<(usize, String)> {
    let shown = blocks(document).into_iter().enumerate().filter(|(_, block)| block.language == "sh");
    let lines = shown.flat_map(|(number, block)| {
        let joined = block.text.replace("\\\n", " ");
        let lines: Vec<_> = joined.lines().map(|line| (number, without_comment(line))).collect();
        lines
    });
    lines.filter(|(_, line)| !line.is_empty()).collect()
}

/// A command without the comment after it.
fn without_comment(line: &str) -> String {
    if line.starts_with('#') { String::new() } else { line.split("   # ").next().unwrap().trim().to_owned() }
}

#[test]
fn every_command_that_is_shown_is_run() {
    let mut ran = 0;
    for document in documents() {
        let has_console = blocks(&document).iter().any(|block| block.language == "console");
        // `kubernetes::documentation` runs these.
        assert!(!has_console || document.starts_with("deploy/kubernetes") || document.starts_with("deploy/helm"));
        let mut session = Session::new(&document);
        for (block, command) in commands(&document) {
            session.write_files_before(block);
            match RUN_ELSEWHERE.iter().find(|(beginning, ..)| command.starts_with(beginning)) {
                Some((_, file, test)) => {
                    let is_test = contents(file).contains(&format!("#[test]\nfn {test}("))
                        || contents(file).contains(&format!("            fn {test}("));
                    assert!(is_test, "{document}: {command}: {file} has no test {test}");
                }
                None => session.run(&command),
            }
            ran += 1;
        }
        session.end();
    }
    assert!(ran > 40, "{ran}");
}

/// A person who reads a document and types its commands, in one folder.
struct Session<'a> {
    document: &'a str,
    folder: tempfile::TempDir,
    exporter: Option<Exporter>,
    written: usize,
}

impl<'a> Session<'a> {
    fn new(document: &'a str) -> Self {
        let folder = folder();
        prepare(folder.path());
        std::os::unix::fs::symlink(program(), folder.path().join("lease-exporter")).unwrap();
        // A document that shows no configuration means the one of the README.
        let readme = blocks("README.md");
        let configuration = readme.iter().find(|block| block.file_name() == Some("exporter.yml")).unwrap();
        std::fs::write(folder.path().join("exporter.yml"), &configuration.text).unwrap();
        Self { document, folder, exporter: None, written: 0 }
    }

    /// Writes the files that the document shows before a block.
    fn write_files_before(&mut self, block: usize) {
        for shown in &blocks(self.document)[self.written..block] {
            if let Some(name) = shown.file_name() {
                std::fs::write(self.folder.path().join(name), adapted(&shown.text)).unwrap();
            }
        }
        self.written = block;
    }

    fn run(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["curl", .., url] if words.len() < 5 => self.request(words.contains(&"POST"), url.trim_matches('\'')),
            ["lease-exporter", "demo", "--store", url] => self.demo_on_server(url),
            ["lease-exporter", "demo", ..] => self.until("Ctrl-C ends it", line, &["--port=0"]),
            ["lease-exporter", "status", .., "--watch"] => self.until("retention", line, &[]),
            ["lease-exporter", option, ..] if option.starts_with("--config.file") => self.serve(line),
            ["lease-exporter", command, ..] => {
                let finished = self.shell(line, self.folder.path());
                // A lease is unknown at the first look if only watching can tell its state.
                let is_expected = finished.code == Some(0) || (command == "status" && finished.code == Some(2));
                assert!(is_expected && finished.stderr.is_empty(), "{}: {line}: {}", self.document, finished.all());
                assert!(!finished.stdout.is_empty(), "{}: {line}", self.document);
            }
            ["jsonnet", ..] => {
                let finished = self.shell(line, repository(self.document).parent().unwrap());
                assert!(finished.code == Some(0) && !finished.stdout.is_empty(), "{line}: {}", finished.all());
            }
            ["printf", ..] if line.contains("openssl") => {
                let finished = self.shell(line, self.folder.path());
                let token = lease_exporter::lease::TokenKey::new(b"0123456789abcdef").token("NAME");
                assert_eq!(finished.stdout.trim(), token.as_str(), "{line}: {}", finished.all());
            }
            ["amtool", "silence", "add", ..] => self.silence(line),
            _ => panic!("{}: nothing runs `{line}`", self.document),
        }
    }

    /// Runs a line of shell in a folder, to its end.
    fn shell(&self, line: &str, folder: &Path) -> Finished {
        let mut shell = Command::new("bash");
        let path = std::env::var("PATH").unwrap();
        shell.args(["-euo", "pipefail", "-c", line]).current_dir(folder);
        shell.env("PATH", format!("{}:{path}", self.folder.path().display())).env_remove("LEASE_EXPORTER_CONFIG_FILE");
        Process::start(shell).finish()
    }

    /// The program with the arguments of a line and more.
    fn start(&self, line: &str, more: &[&str]) -> Process {
        let arguments = line.split_whitespace().skip(1).chain(more.iter().copied());
        let mut command = command(arguments);
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        Process::start(command)
    }

    /// Runs a command that goes on until Ctrl-C, until it prints this.
    fn until(&self, text: &str, line: &str, more: &[&str]) {
        let process = self.start(line, more);
        process.stdout.wait_for(text);
        process.signal(Signal::INT);
        let finished = process.finish();
        assert_eq!(finished.code, Some(0), "{}: {line}: {}", self.document, finished.all());
    }

    /// Runs the demo on a real server in place of the one of this address.
    fn demo_on_server(&self, url: &str) {
        let (database, keyspace);
        let (url, password_file) = match url.split(':').next().unwrap() {
            "postgres" => {
                database = servers::postgres().database();
                (database.owner().url().to_owned(), database.owner().password_file().to_owned())
            }
            "redis" => {
                keyspace = servers::redis().keyspace();
                keyspace.grant(&["allcommands"]);
                (keyspace.url().to_owned(), keyspace.password_file().to_owned())
            }
            other => panic!("{other}"),
        };
        let password = format!("--password-file={}", password_file.display());
        self.until("Ctrl-C ends it", &format!("lease-exporter demo --store {url}"), &[&password, "--port=0"]);
    }

    /// Starts the exporter for the requests that follow.
    fn serve(&mut self, line: &str) {
        self.end();
        self.exporter = Some(Exporter::started(self.start(line, &["--web.listen-address=127.0.0.1:0"])));
    }

    fn request(&self, is_post: bool, url: &str) {
        let path = url.strip_prefix("http://localhost:10987").unwrap_or_else(|| panic!("{}: {url}", self.document));
        let exporter = self.exporter.as_ref().unwrap_or_else(|| panic!("{}: nothing serves {url}", self.document));
        let status = if is_post { post(exporter.address(), path) } else { exporter.get(path).status };
        assert_eq!(status, 200, "{}: {url}", self.document);
    }

    /// Adds a silence to a real Alertmanager.
    fn silence(&self, line: &str) {
        let alertmanager = Alertmanager::start("route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n");
        let url = format!("http://{}", alertmanager.api().address());
        let amtool = servers::program("amtool");
        let line = line.replace("http://localhost:9093", &url).replacen("amtool", &amtool, 1);
        let finished = self.shell(&line, self.folder.path());
        assert!(finished.code == Some(0) && !finished.stdout.is_empty(), "{line}: {}", finished.all());
    }

    fn end(&mut self) {
        if let Some(exporter) = self.exporter.take() {
            assert_eq!(exporter.stop().code, Some(0), "{}", self.document);
        }
    }
}

fn post(address: SocketAddr, path: &str) -> u16 {
    use std::io::Write as _;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    http::answer(stream).status
}

/// The commands of all documents that begin so.
fn shown(beginning: &str) -> Vec<String> {
    let all = documents().into_iter().flat_map(|document| commands(&document));
    let found: Vec<_> = all.map(|(_, line)| line).filter(|line| line.starts_with(beginning)).collect();
    assert!(!found.is_empty(), "{beginning}");
    found
}

#[test]
fn every_target_of_make_that_is_shown_is_there() {
    let makefile = contents("Makefile");
    for line in shown("make ") {
        let target = line.split(' ').nth(1).unwrap();
        assert!(makefile.contains(&format!("\n{target}:")), "{line}");
    }
}

#[test]
fn every_script_that_is_shown_is_there() {
    for line in [".ci/", "./tests/"].into_iter().flat_map(shown) {
        assert!(repository(line.split(' ').next().unwrap()).is_file(), "{line}");
    }
}

#[test]
fn every_filter_of_a_test_command_finds_tests() {
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let tests = String::from_utf8(listed.stdout).unwrap();
    for line in shown("cargo test").into_iter().chain(shown("UPDATE_GOLDEN=1 cargo test")) {
        if let Some((_, filter)) = line.split_once("--test e2e ") {
            assert!(tests.lines().any(|test| test.contains(filter.trim())), "{line}");
        }
    }
}

#[test]
fn every_service_of_compose_that_is_signalled_is_there() {
    let compose = contents("deploy/compose.yaml");
    for line in shown("docker compose --file deploy/compose.yaml kill") {
        let services = line.split(' ').skip_while(|word| *word != "--signal").skip(2);
        for service in services {
            assert!(compose.contains(&format!("\n  {service}:")), "{line}");
        }
    }
}
