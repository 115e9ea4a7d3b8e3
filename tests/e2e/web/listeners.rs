//! Several listeners and Unix sockets.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::process::Signal;

use super::client::{Answer, ask, plainly};
use super::{configure, steady, user};
use crate::harness::Exporter;
use crate::harness::process::{Finished, Process, command};
use crate::harness::store::folder;

fn over(path: &Path) -> std::io::Result<Answer> {
    ask(UnixStream::connect(path)?, "GET", "/metrics", "")
}

fn start(folder: &Path, addresses: &[String]) -> Process {
    let own = crate::harness::exporter::configure(folder, &steady(folder));
    let addresses = addresses.iter().map(|address| format!("--web.listen-address={address}"));
    Process::start(command([format!("--config.file={}", own.display())].into_iter().chain(addresses)))
}

fn unix(path: &Path) -> String {
    format!("unix:{}", path.display())
}

fn end(process: Process) -> Finished {
    process.signal(Signal::TERM);
    process.finish()
}

#[test]
fn exporter_serves_on_every_given_address() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    let addresses = ["127.0.0.1:0".to_owned(), "[::1]:0".to_owned(), unix(&path)];
    let process = start(folder.path(), &addresses);
    let line = process.stderr.wait_for("address=[::1]:");
    let v6: SocketAddr = line.split("address=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    process.stderr.wait_for("address=unix:");
    let exporter = Exporter::started(process);
    assert_eq!(exporter.scrape().leases("own"), ["steady"]);
    assert_eq!(plainly(v6, "GET", "/metrics", "").unwrap().status, 200);
    assert_eq!(over(&path).unwrap().status, 200);
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o660, "{mode:o}");
    let finished = exporter.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!path.exists(), "its file goes with it");
}

#[test]
fn host_name_of_this_machine_resolves_to_its_address() {
    let folder = folder();
    // The host name of this machine.
    let process = start(folder.path(), &["LOCALHOST:0".to_owned()]);
    let line = process.stderr.wait_for("listening");
    let at: SocketAddr = line.split("address=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert_eq!(plainly(at, "GET", "/metrics", "").unwrap().status, 200);
    // Longer than a host name can be, so that no name server is asked.
    let nowhere = "x".repeat(64);
    let finished = start(folder.path(), &[format!("{nowhere}:0")]).finish();
    assert_eq!(finished.code, Some(4), "{}", finished.all());
    let told = format!("cannot listen on {nowhere}:0: the name has no address that can be found");
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
}

#[test]
fn a_socket_that_a_process_left_is_replaced_and_one_in_use_is_not() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind");
    let process = start(folder.path(), &[unix(&path)]);
    process.stderr.wait_for("listening");
    assert_eq!(over(&path).unwrap().status, 200);
    let second = start(folder.path(), &[unix(&path)]).finish();
    assert_eq!(second.code, Some(4), "{}", second.all());
    assert!(second.stderr.contains("a process listens there"), "{}", second.stderr);
    assert_eq!(over(&path).unwrap().status, 200, "the first is not disturbed");
    assert_eq!(end(process).code, Some(0));
}

#[test]
fn file_that_is_not_a_socket_is_not_removed() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    fs::write(&path, "of somebody else").unwrap();
    let finished = start(folder.path(), &[unix(&path)]).finish();
    assert_eq!(finished.code, Some(4), "{}", finished.all());
    assert!(finished.stderr.contains("no socket"), "{}", finished.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "of somebody else");
}

#[test]
fn socket_file_replaced_by_another_process_is_not_removed() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    let process = start(folder.path(), &[unix(&path)]);
    process.stderr.wait_for("listening");
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    let before = fs::symlink_metadata(&path).unwrap().ino();
    assert_eq!(end(process).code, Some(0));
    assert_eq!(fs::symlink_metadata(&path).unwrap().ino(), before);
    drop(other);
}

#[test]
fn address_in_use_is_reported_and_leaves_no_socket_behind() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let finished = start(folder.path(), &[unix(&path), address.clone()]).finish();
    assert_eq!(finished.code, Some(4), "{}", finished.all());
    assert!(finished.stderr.contains(&address), "{}", finished.stderr);
    assert!(!path.exists());
}

#[test]
fn the_web_configuration_holds_on_every_listener() {
    let folder = folder();
    let path = folder.path().join("exporter.sock");
    let web = configure(folder.path(), &format!("basic_auth_users:\n{}", user("prometheus", "right")));
    let listen = format!("--web.listen-address={}", unix(&path));
    let exporter = Exporter::start_with(folder.path(), &steady(folder.path()), &[&web, &listen]);
    assert_eq!(exporter.get("/metrics").status, 401);
    assert_eq!(over(&path).unwrap().status, 401);
}
