//! Notifications to the service manager at start, reload and stop.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::process::Signal;

use super::passed_socket::steady;
use crate::harness::process::{Process, command};
use crate::harness::store::folder;
use crate::harness::{Exporter, PATIENCE};

fn heard(manager: &UnixDatagram) -> String {
    let mut told = [0; 256];
    let length = manager.recv(&mut told).unwrap_or_else(|error| panic!("nothing heard: {error}"));
    String::from_utf8_lossy(&told[..length]).into_owned()
}

fn start(folder: &std::path::Path, manager: &str) -> Exporter {
    let mut exporter = command([steady(folder).as_str(), "--web.listen-address=127.0.0.1:0"]);
    exporter.env("NOTIFY_SOCKET", manager);
    Exporter::started(Process::start(exporter))
}

fn hears_all(manager: &UnixDatagram, named: &str, folder: &std::path::Path) {
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let exporter = start(folder, named);
    assert_eq!(heard(manager), "READY=1");
    assert_eq!(exporter.get("/-/healthy").status, 200);
    exporter.process().signal(Signal::HUP);
    assert_eq!(heard(manager), "RELOADING=1");
    assert_eq!(heard(manager), "READY=1");
    assert_eq!(exporter.stop().code, Some(0));
    assert_eq!(heard(manager), "STOPPING=1");
}

#[test]
fn service_manager_with_a_path_is_notified_of_start_reload_and_stop() {
    let folder = folder();
    let path = folder.path().join("notify");
    hears_all(&UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap(), folder.path());
}

#[test]
fn service_manager_with_an_abstract_name_is_notified_of_start_reload_and_stop() {
    let folder = folder();
    let name = folder.path().join("notify");
    let address = SocketAddr::from_abstract_name(name.to_str().unwrap()).unwrap();
    hears_all(&UnixDatagram::bind_addr(&address).unwrap(), &format!("@{}", name.display()), folder.path());
}

#[test]
fn missing_service_manager_causes_only_a_warning() {
    let folder = folder();
    let exporter = start(folder.path(), folder.path().join("gone").to_str().unwrap());
    assert_eq!(exporter.get("/-/healthy").status, 200);
    exporter.process().stderr.wait_for("the service manager could not be told");
}
