//! A server that speaks HTTP and says at `/-/ready` that it is ready, as Prometheus and Alertmanager do.

use super::server::{free_port, is_alive};
use super::supervisor::Supervisor;
use super::{patiently, web};

/// One of one's own, ended with its guard.
pub(super) struct Service {
    address: std::net::SocketAddr,
    supervisor: Supervisor,
}

impl Service {
    /// Starts one in a private folder with these files in it. The command is told the folder and its address.
    pub(super) fn start(files: &[(&str, &str)], command: impl Fn(&str, &str) -> Vec<String>) -> Self {
        let supervisor = Supervisor::start("KILL");
        for (name, content) in files {
            std::fs::write(supervisor.folder().join(name), content).unwrap();
        }
        let folder = super::kind::text(supervisor.folder().to_owned());
        // Between the look for a free port and the server's own start somebody else may take it.
        for _ in 0..10 {
            let address = ([127, 0, 0, 1], free_port()).into();
            let pid = supervisor.serve(&command(&folder, &format!("{address}")));
            let service = |supervisor| Self { address, supervisor };
            if is_ready(&supervisor, pid, address) {
                return service(supervisor);
            }
            let log = supervisor.log("server");
            assert!(log.contains("in use"), "the server does not start:\n{log}");
            supervisor.wait();
        }
        panic!("no free port");
    }

    /// Where it listens.
    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Writes one of its files anew and lets it read them again; fails with what it says if it refuses them.
    pub(super) fn reload(&self, name: &str, content: &str) {
        std::fs::write(self.supervisor.folder().join(name), content).unwrap();
        let reply = web::post(self.address, "/-/reload", "").unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
    }

    /// The log.
    pub(super) fn log(&self) -> String {
        self.supervisor.log("server")
    }
}

/// Waits until the server says that it is ready; not if it ends before.
fn is_ready(supervisor: &Supervisor, pid: i32, address: std::net::SocketAddr) -> bool {
    let ready = patiently(|| {
        // Its own word that it listens, since another could answer on a port that it did not get.
        let log = supervisor.log("server");
        let listens = log.contains("ready to receive web requests") || log.contains("Listening");
        if listens && web::get(address, "/-/ready").is_some_and(|reply| reply.status == 200) {
            return Some(true);
        }
        (!is_alive(pid)).then_some(false)
    });
    ready.unwrap_or_else(|| panic!("the server is not ready after a minute:\n{}", supervisor.log("server")))
}
