//! The exporter serves on the passed socket, and only there.

use std::fs::File;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use super::passed_socket::{AS_SYSTEMD, passing, steady};
use crate::harness::process::{Finished, Process, command, program};
use crate::harness::store::folder;
use crate::harness::{Exporter, eventually};
use crate::servers;

fn refused(socket: impl Into<OwnedFd>, variables: &str) -> Finished {
    let folder = folder();
    let config = steady(folder.path());
    let finished = Process::start(passing(socket, variables, &[&config, "--web.systemd-socket"])).finish();
    assert_eq!(finished.code, Some(3), "{}", finished.all());
    finished
}

#[test]
fn a_passed_socket_is_served_on() {
    for address in ["127.0.0.1:0", "[::]:0"] {
        let folder = folder();
        let config = steady(folder.path());
        let socket = TcpListener::bind(address).unwrap();
        let port = socket.local_addr().unwrap().port();
        let process = Process::start(passing(socket, AS_SYSTEMD, &[&config, "--web.systemd-socket"]));
        process.stderr.wait_for(&format!("{port}"));
        let reply = crate::harness::http::get(([127, 0, 0, 1], port).into(), "/metrics", &[]);
        assert!(
            reply.body.contains("lease_state{source=\"own\",lease=\"steady\",state=\"active\"} 1"),
            "{}",
            reply.body
        );
    }
}

#[test]
fn client_that_connects_before_the_exporter_starts_is_answered() {
    let folder = folder();
    let config = steady(folder.path());
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(socket.local_addr().unwrap()).unwrap();
    std::io::Write::write_all(&mut client, b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let _exporter = Exporter::started(Process::start(passing(socket, AS_SYSTEMD, &[&config, "--web.systemd-socket"])));
    assert_eq!(crate::harness::http::answer(client).status, 200);
}

#[test]
fn systemd_socket_activate_starts_the_exporter_at_the_first_scrape() {
    let folder = folder();
    let config = steady(folder.path());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut activate = Command::new(servers::program("systemd-socket-activate"));
    activate.arg(format!("--listen={free}")).arg(program()).args([&config, "--web.systemd-socket"]);
    let activating = Process::start({
        activate.stdin(Stdio::null());
        activate
    });
    activating.stderr.wait_for("Listening on");
    assert!(!activating.stderr.text().contains("msg=listening"), "it started before anybody asked");
    drop(eventually("a connection", || TcpStream::connect(free).ok()));
    let exporter = Exporter::started(activating);
    assert_eq!(exporter.address(), free);
    exporter.until("own", "steady", "active", "progressing");
}

#[test]
fn without_a_socket_the_option_is_refused() {
    let folder = folder();
    let config = steady(folder.path());
    let finished = Process::start(command([&config, "--web.systemd-socket"])).finish();
    assert_eq!(finished.code, Some(3), "{}", finished.all());
    assert!(finished.stderr.contains("no socket was passed"), "{}", finished.stderr);
}

#[test]
fn a_socket_for_another_process_or_for_nobody_is_left_alone() {
    for variables in ["LISTEN_FDS=1 LISTEN_PID=1", "LISTEN_FDS=1"] {
        let finished = refused(TcpListener::bind("127.0.0.1:0").unwrap(), variables);
        assert!(finished.stderr.contains("no socket was passed"), "{}", finished.stderr);
    }
}

#[test]
fn passed_descriptors_must_be_listening_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let wrong: [(&str, OwnedFd); 3] = [
        ("a file", File::open("/dev/null").unwrap().into()),
        ("of datagrams", UdpSocket::bind("127.0.0.1:0").unwrap().into()),
        ("a connection", connected.into()),
    ];
    for (what, descriptor) in wrong {
        let finished = refused(descriptor, AS_SYSTEMD);
        assert!(finished.stderr.contains("no TCP or Unix socket that listens"), "{what}: {}", finished.stderr);
    }
    // The second is not there.
    let finished = refused(listener, "LISTEN_FDS=2 LISTEN_PID=$$");
    assert!(finished.stderr.contains("no TCP or Unix socket that listens"), "{}", finished.stderr);
}

#[test]
fn passed_sockets_of_both_kinds_are_served_and_their_files_not_removed() {
    let folder = folder();
    let config = steady(folder.path());
    let (tcp, path) = (TcpListener::bind("127.0.0.1:0").unwrap(), folder.path().join("socket"));
    let port = tcp.local_addr().unwrap();
    let unix = UnixListener::bind(&path).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "export LISTEN_FDS=2 LISTEN_PID=$$; exec \"$@\" 3<&0 4<&1 0</dev/null 1>&2", "sh"]);
    shell.arg(program()).args([&config, "--web.systemd-socket"]).env_remove("LEASE_EXPORTER_CONFIG_FILE");
    shell.stdin(Stdio::from(OwnedFd::from(tcp))).stdout(Stdio::from(OwnedFd::from(unix))).stderr(Stdio::piped());
    let mut exporter = shell.spawn().unwrap();
    assert_eq!(crate::harness::http::get(port, "/-/healthy", &[]).status, 200);
    let mut client = UnixStream::connect(&path).unwrap();
    std::io::Write::write_all(&mut client, b"GET /-/healthy HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut client, &mut answer).unwrap();
    assert!(answer.ends_with("OK\n"), "{answer}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&exporter), rustix::process::Signal::TERM).unwrap();
    assert!(exporter.wait().unwrap().success());
    assert!(path.exists());
}

#[test]
fn an_address_and_a_passed_socket_exclude_each_other() {
    let finished = Process::start(command(["--web.systemd-socket", "--web.listen-address=127.0.0.1:0"])).finish();
    assert_eq!(finished.code, Some(3), "{}", finished.all());
    assert!(finished.stderr.contains("cannot be used with"), "{}", finished.stderr);
}

#[test]
fn a_passed_socket_is_ignored_unless_it_is_asked_for() {
    let folder = folder();
    let config = steady(folder.path());
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let passed = socket.local_addr().unwrap();
    let arguments = [config.as_str(), "--web.listen-address=127.0.0.1:0"];
    let exporter = Exporter::started(Process::start(passing(socket, AS_SYSTEMD, &arguments)));
    assert_ne!(exporter.address(), passed);
    assert_eq!(exporter.get("/-/healthy").status, 200);
}
