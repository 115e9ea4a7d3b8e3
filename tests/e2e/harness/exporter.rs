//! The exporter and its other commands as processes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::process::Signal;

use super::http::{self, Reply};
use super::metrics::Metrics;
use super::process::{Finished, Process, command};
use super::{eventually, now};

/// A running exporter.
pub(crate) struct Exporter {
    process: Process,
    address: SocketAddr,
}

/// Writes a configuration into a folder.
pub(crate) fn configure(folder: &Path, yaml: &str) -> PathBuf {
    let path = folder.join("exporter.yml");
    std::fs::write(&path, yaml).unwrap();
    path
}

impl Exporter {
    /// Starts an exporter with a configuration, which is written into the folder.
    pub(crate) fn start(folder: &Path, yaml: &str) -> Self {
        Self::start_with(folder, yaml, &[])
    }

    /// Starts an exporter with further arguments.
    pub(crate) fn start_with(folder: &Path, yaml: &str, more: &[&str]) -> Self {
        let config = format!("--config.file={}", configure(folder, yaml).display());
        let listen = "--web.listen-address=127.0.0.1:0";
        Self::started(Process::start(command([config.as_str(), listen].iter().chain(more))))
    }

    /// Waits until a started exporter listens.
    pub(crate) fn started(process: Process) -> Self {
        let line = process.stderr.wait_for("listening");
        // `address=127.0.0.1:1234` or `"address":"127.0.0.1:1234"`, possibly with further fields.
        let at = line.find("127.0.0.1:").unwrap_or_else(|| panic!("no address in {line:?}"));
        let address = line[at..].split(['"', ' ', ',']).next().unwrap_or_default();
        let address = address.parse().unwrap_or_else(|_| panic!("no address in {line:?}"));
        Self { process, address }
    }

    /// The address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a GET request.
    pub(crate) fn get(&self, path: &str) -> Reply {
        http::get(self.address, path, &[])
    }

    /// Scrapes the exporter as Prometheus does.
    pub(crate) fn scrape(&self) -> Metrics {
        self.scrape_within(None)
    }

    /// Scrapes the exporter as Prometheus does, with a scrape timeout in seconds.
    pub(crate) fn scrape_within(&self, seconds: Option<f64>) -> Metrics {
        let header = seconds.map(|seconds| ("X-Prometheus-Scrape-Timeout-Seconds", seconds.to_string()));
        let reply = http::get(self.address, "/metrics", header.as_slice());
        assert_eq!(reply.status, 200, "{}", reply.body);
        Metrics::parse(&reply.body)
    }

    /// Scrapes until a condition holds, and returns the scrape for which it holds.
    pub(crate) fn scrape_until(&self, what: &str, holds: impl Fn(&Metrics) -> bool) -> Metrics {
        let mut last = String::new();
        let what = format!("{what} at {:?}", self.address);
        let started = now();
        eventually(&what, || {
            let metrics = self.scrape();
            if holds(&metrics) {
                return Some(metrics);
            }
            last = metrics.text().to_owned();
            assert!(now() - started < super::PATIENCE, "waited in vain: {what}\n{last}");
            None
        })
    }

    /// Scrapes until the lease has the state and the reason.
    pub(crate) fn until(&self, source: &str, lease: &str, state: &str, reason: &str) -> Metrics {
        self.scrape_until(&format!("{lease} to be {state}/{reason}"), |metrics| {
            metrics.says(source, lease) == Some((state, reason))
        })
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.process.stderr.text()
    }

    /// The process.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Sends SIGTERM, as a service manager does, and waits for the end.
    pub(crate) fn stop(self) -> Finished {
        self.stop_by(Signal::TERM)
    }

    /// Sends a signal that ends the exporter, and waits for the end.
    pub(crate) fn stop_by(self, signal: Signal) -> Finished {
        self.process.signal(signal);
        self.process.finish()
    }

    /// Sends concurrent requests.
    pub(crate) fn get_at_once(&self, path: &str, times: usize) -> Vec<Reply> {
        let barrier = std::sync::Barrier::new(times);
        thread::scope(|scope| {
            let requests: Vec<_> = (0..times)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        self.get(path)
                    })
                })
                .collect();
            requests.into_iter().map(|request| request.join().unwrap()).collect()
        })
    }
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Finished {
    Process::start(command(arguments)).finish()
}

/// Prints the state of each lease once.
pub(crate) fn status(folder: &Path, yaml: &str) -> Finished {
    run(&["status", &format!("--config.file={}", configure(folder, yaml).display())])
}

/// Checks a configuration and reads each source once.
pub(crate) fn check(folder: &Path, yaml: &str) -> Finished {
    run(&["check", "--connect", &format!("--config.file={}", configure(folder, yaml).display())])
}
