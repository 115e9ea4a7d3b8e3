//! A network between the exporter and a server, which can be broken in the middle of anything.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::now;
use crate::servers::free_port;

/// What becomes of a connection, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Everything comes through.
    Pass,
    /// What the client says comes through; of what the server says nothing does, as long as this lasts.
    Mute,
    /// Of what the server says a byte comes through each second.
    Trickle,
    /// The server's answers come through up to a place, and there the connection ends.
    Cut(Place, End),
    /// Nobody listens. Connections that are there go on.
    Refuse,
    /// An attempt to connect is never answered. Connections that are there go on.
    BlackHole,
}

impl Behaviour {
    fn accepts(self) -> bool {
        !matches!(self, Self::Refuse | Self::BlackHole)
    }
}

/// Where an answer is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After so many bytes since the behaviour was chosen or the connection began.
    After(usize),
    /// In the middle of these bytes, wherever they come.
    Within(&'static str),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, with FIN, as if the server had nothing more to say.
    Finished,
    /// With RST.
    Reset,
}

/// The proxy. It ends, with all of its connections, with this guard.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// The behaviour has, or a connection has ended.
    changed: Condvar,
    accepted: AtomicUsize,
    open: AtomicUsize,
    turns: AtomicUsize,
}

struct State {
    server: SocketAddr,
    behaviour: Behaviour,
    /// Tells a behaviour from the same one chosen again.
    chosen: usize,
    listener: Option<TcpListener>,
    /// What keeps the queue of a black hole full.
    fillers: Vec<TcpStream>,
    connections: Vec<Weak<Connection>>,
    ended: bool,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    shared: Arc<Shared>,
    end: Mutex<Option<End>>,
    /// Whether what the client says next begins a turn of its.
    is_clients_turn: AtomicBool,
}

impl Proxy {
    /// Listens on a port of its own and lets everything through to this server.
    pub(crate) fn to(server: SocketAddr) -> Self {
        // Of those that the system gives to no client: while it refuses connections, one could get its port.
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

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were ever accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// How often clients began to speak: when a connection was new, or after its server had said something. So many round
    /// trips were made, whatever the number of packets.
    pub(crate) fn turns(&self) -> usize {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// Chooses what becomes of connections, those that are there and new ones.
    pub(crate) fn choose(&self, behaviour: Behaviour) {
        let mut state = self.shared.lock();
        let before = std::mem::replace(&mut state.behaviour, behaviour);
        state.chosen += 1;
        if !behaviour.accepts() || !before.accepts() {
            // Closed first in any case: what waits in the queue of a black hole is told to go away.
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

    /// Leads new connections elsewhere.
    pub(crate) fn lead_to(&self, server: SocketAddr) {
        self.shared.lock().server = server;
    }

    /// Ends every connection that is there.
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

/// A listener that never keeps whoever asks it waiting.
fn listen(address: SocketAddr) -> TcpListener {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Closes a listener so that its address is free at once. A process that is being started elsewhere has a copy of it until
/// it runs its program, and that would listen on.
fn stop_listening(listener: TcpListener) {
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
}

/// Fills the queue of a listener, so that the system answers nobody else who wants to connect.
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
                // Loopback: it is there at once or not at all.
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

    /// Ends it once, whichever side it is that wants it.
    fn end(&self, how: End) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.is_some() {
            return;
        }
        *end = Some(how);
        match how {
            // Nothing may be sent before the last of the threads lets go, which then sends RST.
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
        // A server that is gone is no answer either.
        let mut state = self.shared.lock();
        while state.behaviour == Behaviour::Mute && !self.has_ended() && !state.ended {
            state = self.shared.changed.wait_timeout(state, PATIENT).unwrap().0;
        }
        drop(state);
        self.end(End::Finished);
    }

    /// Lets through what may come through; nothing once the connection has ended.
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

/// How long to wait before one looks again: what ends a wait says so, but the one or other moment too early.
const PATIENT: Duration = Duration::from_millis(20);

/// Finds where to cut.
#[derive(Default)]
struct Cutter {
    chosen: usize,
    passed: usize,
    /// The last bytes that came through, for a text that comes in pieces.
    last: Vec<u8>,
}

impl Cutter {
    /// Where in this answer to cut, if in it. Else it comes through.
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
