//! A TCP proxy between the exporter and a server that can break a connection at any byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::now;
use crate::servers::free_port;

/// The treatment of connections from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Passes everything.
    Pass,
    /// Passes data of the client. Holds back data of the server.
    Mute,
    /// Passes one byte of the server each second.
    Trickle,
    /// Passes data of the server up to a position, and ends the connection there.
    Cut(Place, End),
    /// Refuses new connections. Open connections are passed.
    Refuse,
    /// Does not answer connection attempts. Open connections are passed.
    BlackHole,
}

impl Behaviour {
    fn accepts(self) -> bool {
        !matches!(self, Self::Refuse | Self::BlackHole)
    }
}

/// The position at which a response is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After a number of bytes since the behaviour was set or the connection was opened.
    After(usize),
    /// In the middle of the first occurrence of these bytes.
    Within(&'static str),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With FIN, as if the server had closed the connection.
    Finished,
    /// With RST.
    Reset,
}

/// The proxy. Dropping it closes all of its connections.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Signals a new behaviour or the end of a connection.
    changed: Condvar,
    accepted: AtomicUsize,
    open: AtomicUsize,
    turns: AtomicUsize,
}

struct State {
    server: SocketAddr,
    behaviour: Behaviour,
    /// The number of times that a behaviour was set.
    chosen: usize,
    listener: Option<TcpListener>,
    /// Connections that keep the accept queue of a black hole full.
    fillers: Vec<TcpStream>,
    connections: Vec<Weak<Connection>>,
    ended: bool,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    shared: Arc<Shared>,
    end: Mutex<Option<End>>,
    /// Whether the next data of the client begins a round trip.
    is_clients_turn: AtomicBool,
}

impl Proxy {
    /// Listens on a free port and passes everything to a server.
    pub(crate) fn to(server: SocketAddr) -> Self {
        // A port outside of the ephemeral range. A client could otherwise get it while the proxy refuses connections.
        let listener = listen(([127, 0, 0, 1], free_port()).into());
        let address = listener.local_addr().unwrap();
        let state = State {
            server,
            behaviour: Behaviour::Pass,
            chosen: 0,
            listener: Some(listener),
            fillers: Vec::new(),
            connections: Vec::new(),
            ended: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            accepted: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            turns: AtomicUsize::new(0),
        });
        let accepts = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept()
        });
        Self { address, shared, accepts: Some(accepts) }
    }

    /// The address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of accepted connections.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// The number of open connections.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The number of round trips: times that a client sent data on a new connection or after data of the server.
    /// The number of packets does not matter.
    pub(crate) fn turns(&self) -> usize {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// Sets the behaviour of open and new connections.
    pub(crate) fn choose(&self, behaviour: Behaviour) {
        let mut state = self.shared.lock();
        let before = std::mem::replace(&mut state.behaviour, behaviour);
        state.chosen += 1;
        if !behaviour.accepts() || !before.accepts() {
            // The listener is closed first, which resets connections in the queue of a black hole.
            state.fillers.clear();
            if let Some(listener) = state.listener.take() {
                stop_listening(listener);
            }
            if behaviour != Behaviour::Refuse {
                let listener = listen(self.address);
                if behaviour == Behaviour::BlackHole {
                    state.fillers = fill(&listener);
                }
                state.listener = Some(listener);
            }
        }
        self.shared.changed.notify_all();
    }

    /// Sets another target for new connections.
    pub(crate) fn lead_to(&self, server: SocketAddr) {
        self.shared.lock().server = server;
    }

    /// Closes all open connections.
    pub(crate) fn end_all(&self, how: End) {
        let connections = std::mem::take(&mut self.shared.lock().connections);
        for connection in connections.iter().filter_map(Weak::upgrade) {
            connection.end(how);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        let _ = self.accepts.take().map(JoinHandle::join);
        self.end_all(End::Reset);
    }
}

/// A nonblocking listener.
fn listen(address: SocketAddr) -> TcpListener {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Shuts a listener down, so that its address is free at once. A process that is being forked has a copy of it until
/// it executes its program, and the copy would go on listening.
fn stop_listening(listener: TcpListener) {
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
}

/// Fills the accept queue of a listener, so that the system answers no further connection attempt.
fn fill(listener: &TcpListener) -> Vec<TcpStream> {
    rustix::net::listen(listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let patience = Duration::from_millis(50);
    std::iter::from_fn(|| TcpStream::connect_timeout(&address, patience).ok()).take(16).collect()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>) {
        const PAUSE: Duration = Duration::from_millis(2);
        let mut state = self.lock();
        while !state.ended {
            let listener = state.listener.as_ref().filter(|_| state.behaviour.accepts());
            if let Some(Ok((client, _))) = listener.map(TcpListener::accept) {
                self.accepted.fetch_add(1, Ordering::SeqCst);
                // On loopback, a connection is established at once or not at all.
                let server = TcpStream::connect_timeout(&state.server, Duration::from_secs(5));
                let Ok(server) = server else {
                    let _ = set_socket_linger(&client, Some(Duration::ZERO));
                    continue;
                };
                let connection = Connection::open(client, server, self);
                state.connections.retain(|connection| connection.strong_count() > 0);
                state.connections.push(Arc::downgrade(&connection));
                continue;
            }
            state = self.changed.wait_timeout(state, PAUSE).unwrap().0;
        }
        state.listener = None;
    }
}

impl Connection {
    fn open(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> Arc<Self> {
        client.set_nonblocking(false).unwrap();
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        shared.open.fetch_add(1, Ordering::SeqCst);
        let connection = Arc::new(Self {
            client,
            server,
            shared: Arc::clone(shared),
            end: Mutex::new(None),
            is_clients_turn: AtomicBool::new(true),
        });
        for pump in [Self::pump_requests, Self::pump_answers] {
            let connection = Arc::clone(&connection);
            thread::spawn(move || pump(&connection));
        }
        connection
    }

    /// Ends the connection once, for either side.
    fn end(&self, how: End) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.is_some() {
            return;
        }
        *end = Some(how);
        match how {
            // No FIN must be sent. The last thread that drops the socket sends RST.
            End::Reset => {
                let _ = set_socket_linger(&self.client, Some(Duration::ZERO));
                let _ = self.client.shutdown(Shutdown::Read);
            }
            End::Finished => drop(self.client.shutdown(Shutdown::Both)),
        }
        let _ = self.server.shutdown(Shutdown::Both);
        drop(end);
        self.shared.changed.notify_all();
    }

    fn has_ended(&self) -> bool {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn pump_requests(&self) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(length @ 1..) = (&self.client).read(&mut buffer) {
            if self.is_clients_turn.swap(false, Ordering::SeqCst) {
                self.shared.turns.fetch_add(1, Ordering::SeqCst);
            }
            if (&self.server).write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        self.end(End::Finished);
    }

    fn pump_answers(&self) {
        let mut buffer = [0; 16 * 1024];
        let mut cutter = Cutter::default();
        while let Ok(length @ 1..) = (&self.server).read(&mut buffer) {
            self.is_clients_turn.store(true, Ordering::SeqCst);
            if self.deliver(&buffer[..length], &mut cutter).is_none() {
                break;
            }
        }
        // While the proxy is muted, the end of the server is not passed either.
        let mut state = self.shared.lock();
        while state.behaviour == Behaviour::Mute && !self.has_ended() && !state.ended {
            state = self.shared.changed.wait_timeout(state, PATIENT).unwrap().0;
        }
        drop(state);
        self.end(End::Finished);
    }

    /// Passes data by the behaviour. Returns `None` at the end of the connection.
    fn deliver(&self, mut answer: &[u8], cutter: &mut Cutter) -> Option<()> {
        while !answer.is_empty() {
            let state = self.shared.lock();
            let (behaviour, chosen) = (state.behaviour, state.chosen);
            if self.has_ended() || state.ended {
                return None;
            }
            let wait = |state, time| drop(self.shared.changed.wait_timeout(state, time).unwrap());
            let passed = match behaviour {
                Behaviour::Mute => {
                    wait(state, PATIENT);
                    0
                }
                Behaviour::Trickle => {
                    let until = now() + Duration::from_secs(1);
                    let mut state = state;
                    while state.chosen == chosen && !self.has_ended() && !state.ended && now() < until {
                        state = self.shared.changed.wait_timeout(state, until.saturating_sub(now())).unwrap().0;
                    }
                    1
                }
                Behaviour::Cut(place, how) => {
                    drop(state);
                    if let Some(at) = cutter.place(place, chosen, answer) {
                        let _ = (&self.client).write_all(&answer[..at]);
                        self.end(how);
                        return None;
                    }
                    answer.len()
                }
                Behaviour::Pass | Behaviour::Refuse | Behaviour::BlackHole => {
                    drop(state);
                    answer.len()
                }
            };
            (&self.client).write_all(&answer[..passed]).ok()?;
            answer = &answer[passed..];
        }
        Some(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The interval for checking the condition again, because a notification may come too early.
const PATIENT: Duration = Duration::from_millis(20);

/// Finds where to cut.
#[derive(Default)]
struct Cutter {
    chosen: usize,
    passed: usize,
    /// The last passed bytes, for a text that arrives in parts.
    last: Vec<u8>,
}

impl Cutter {
    /// The position of the cut in this data, or `None` if all of it is passed.
    fn place(&mut self, place: Place, chosen: usize, answer: &[u8]) -> Option<usize> {
        if self.chosen != chosen {
            *self = Self { chosen, ..Self::default() };
        }
        let at = match place {
            Place::After(bytes) => Some(bytes.saturating_sub(self.passed)).filter(|&at| at < answer.len()),
            Place::Within(text) => {
                let seen = [&self.last, answer].concat();
                let found = seen.windows(text.len()).position(|window| window == text.as_bytes());
                found.map(|at| (at + text.len() / 2).saturating_sub(self.last.len()))
            }
        };
        self.passed += answer.len();
        self.last.extend_from_slice(answer);
        let keep = if let Place::Within(text) = place { text.len() - 1 } else { 0 };
        self.last.drain(..self.last.len().saturating_sub(keep));
        at
    }
}
