//! A server and what can be done to it.

use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use super::certificates::Certificates;
use super::database::Database;
use super::keyspace::Keyspace;
use super::kind::{Kind, Setup, text};
use super::supervisor::Supervisor;
use super::{patiently, programs};

/// A server of one's own, ended with its guard.
pub struct Server {
    kind: Kind,
    port: u16,
    tls: bool,
    command: Vec<String>,
    pid: AtomicI32,
    supervisor: Supervisor,
}

impl Server {
    /// Starts one with further settings, each `name=value` as the server itself names them.
    pub fn start(kind: Kind, settings: &[&str]) -> Self {
        Self::start_from(kind, settings, None, &|supervisor| provide_data(kind, supervisor))
    }

    /// Starts one whose TCP port speaks TLS alone.
    pub fn start_with_tls(kind: Kind, certificates: &Certificates, settings: &[&str]) -> Self {
        Self::start_from(kind, settings, Some(certificates), &|supervisor| provide_data(kind, supervisor))
    }

    /// Starts a standby of this PostgreSQL, which follows it and only reads.
    pub fn standby(&self, settings: &[&str]) -> Self {
        assert_eq!(self.kind, Kind::Postgres, "of PostgreSQL alone");
        let standby = Self::start_from(self.kind, settings, None, &|supervisor| {
            let data = text(supervisor.folder().join("data"));
            let primary = format!("host={} port={} user=postgres", text(self.socket_dir().to_owned()), self.port);
            let backup = programs::find("pg_basebackup");
            let words = [&backup, "-D", &data, "-d", &primary, "-R", "-X", "stream", "-c", "fast", "--no-sync"];
            supervisor.run("backup", &words.map(str::to_owned));
        });
        assert!(self.tls == standby.tls, "a standby with TLS is not made yet");
        standby
    }

    fn start_from(kind: Kind, settings: &[&str], tls: Option<&Certificates>, fill: &dyn Fn(&Supervisor)) -> Self {
        let supervisor = Supervisor::start(kind.end_signal());
        fill(&supervisor);
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        // Between the look for a free port and the server's own start somebody else may take it.
        for _ in 0..10 {
            let port = free_port();
            let setup = Setup { folder: supervisor.folder(), port, tls, settings: &settings };
            let command = kind.serve(&setup);
            let pid = supervisor.serve(&command);
            if is_ready(&supervisor, pid) {
                let pid = AtomicI32::new(pid);
                return Self { kind, port, tls: tls.is_some(), command, pid, supervisor };
            }
            let log = supervisor.log("server");
            assert!(log.contains("in use"), "{} does not start:\n{log}", kind.name());
            supervisor.wait();
        }
        panic!("no free port for {}", kind.name());
    }

    /// The kind of the server.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The port that it listens on, at 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// The private folder with its socket, over which whoever gets there is let in as whom they say.
    pub fn socket_dir(&self) -> &Path {
        self.supervisor.folder()
    }

    /// The log since the last start.
    pub fn log(&self) -> String {
        self.supervisor.log("server")
    }

    /// The server's own process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.pid.load(Ordering::SeqCst)).unwrap()
    }

    /// Sends a signal to the server's own process.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops all of its processes: it keeps its connections, takes new ones, and answers nothing.
    pub fn freeze(&self) {
        self.supervisor.signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.supervisor.signal("CONT");
    }

    /// Kills all of its processes. It stays dead until it is restarted.
    pub fn kill(&self) {
        self.supervisor.signal("KILL");
        self.supervisor.wait();
    }

    /// Ends it as an administrator does, who lets nobody finish; clients are told where the protocol can.
    pub fn shut_down(&self) {
        self.signal(if self.kind == Kind::Postgres { Signal::INT } else { Signal::TERM });
        self.supervisor.wait();
    }

    /// Starts it again on the same port and data, once it has ended if it has not.
    pub fn restart(&self) {
        if is_alive(self.pid.load(Ordering::SeqCst)) {
            self.thaw();
            self.shut_down();
        }
        let pid = self.supervisor.serve(&self.command);
        self.pid.store(pid, Ordering::SeqCst);
        assert!(is_ready(&self.supervisor, pid), "{} does not start again:\n{}", self.kind.name(), self.log());
    }

    /// An empty database of this PostgreSQL or MariaDB, dropped with its guard.
    pub fn database(&self) -> Database {
        Database::create(self.kind, self.port, self.socket_dir())
    }

    /// An empty numbered database of this Redis or Valkey, emptied with its guard.
    pub fn keyspace(&self) -> Keyspace {
        Keyspace::claim(self.kind, self.port, self.tls, self.socket_dir())
    }
}

/// Gives a server its data: a copy of what is made once in a test process, because that takes long.
fn provide_data(kind: Kind, supervisor: &Supervisor) {
    static POSTGRES: OnceLock<Supervisor> = OnceLock::new();
    static MARIADB: OnceLock<Supervisor> = OnceLock::new();
    let once = match kind {
        Kind::Postgres => &POSTGRES,
        Kind::MariaDb => &MARIADB,
        Kind::Redis | Kind::Valkey => return,
    };
    let template = once.get_or_init(|| {
        let template = Supervisor::start(kind.end_signal());
        if let Some(command) = kind.initialise(template.folder()) {
            template.run("initialise", &command);
        }
        template
    });
    let data = |supervisor: &Supervisor| text(supervisor.folder().join("data"));
    let copy = ["cp".to_owned(), "-a".to_owned(), "--reflink=auto".to_owned(), data(template), data(supervisor)];
    supervisor.run("copy", &copy);
}

/// A port that nobody listens on, from below those that the system gives to clients: one of those could have it while
/// the server is restarted.
pub fn free_port() -> u16 {
    let random = RandomState::new();
    (0_u16..1000)
        .map(|attempt| 12_000 + u16::try_from(random.hash_one(attempt) % 16_000).unwrap())
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("a free port")
}

/// Waits until the server says that it is ready; not if it ends before.
fn is_ready(supervisor: &Supervisor, pid: i32) -> bool {
    let ready = patiently(|| {
        // In this order, for one that is ready and ends at once.
        let alive = is_alive(pid);
        let log = supervisor.log("server").to_lowercase();
        let says = ["ready to accept", "ready for connections"].iter().any(|ready| log.contains(ready));
        if says { Some(true) } else { (!alive).then_some(false) }
    });
    ready.unwrap_or_else(|| panic!("the server is not ready after a minute:\n{}", supervisor.log("server")))
}

/// Whether a process is there and has not ended.
pub(super) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
