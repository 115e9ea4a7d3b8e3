//! A pseudo-terminal in which the program runs, and the screen that it shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{eventually, now};

/// The size of a terminal.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    rows: NonZeroU16,
    columns: NonZeroU16,
}

impl Size {
    /// A size in rows and columns.
    pub(crate) fn of(rows: u16, columns: u16) -> Self {
        Self { rows: NonZeroU16::new(rows).unwrap(), columns: NonZeroU16::new(columns).unwrap() }
    }
}

/// A pseudo-terminal and the process in it.
pub(crate) struct Terminal {
    child: Child,
    ended: Option<i32>,
    /// The side of the user.
    person: File,
    seen: Arc<Mutex<Seen>>,
}

/// The output of the process, as bytes and as a screen.
struct Seen {
    raw: Vec<u8>,
    screen: vt100::Parser<Titles>,
}

/// Terminal commands that do not change the screen.
#[derive(Default)]
struct Titles(Vec<String>);

impl vt100::Callbacks for Titles {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0.push(String::from_utf8_lossy(title).into_owned());
    }
}

impl Terminal {
    /// Starts a command in a terminal. Its standard output may be redirected.
    pub(crate) fn start(command: &Command, size: Size, output: Option<Stdio>) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let side = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        resize(&person, size);
        let stream = |side: &OwnedFd| Stdio::from(side.try_clone().unwrap());
        // `setsid` makes the terminal the controlling one, so that Ctrl-C reaches the process.
        let mut own = Command::new("setsid");
        own.arg("--ctty").arg(command.get_program()).args(command.get_args());
        own.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => own.env(name, value),
                None => own.env_remove(name),
            };
        }
        // The size of the terminal decides, not `COLUMNS`.
        own.env_remove("COLUMNS");
        if let Some(folder) = command.get_current_dir() {
            own.current_dir(folder);
        }
        own.stdin(stream(&side)).stdout(output.unwrap_or_else(|| stream(&side))).stderr(stream(&side));
        let child = own.spawn().unwrap_or_else(|error| panic!("cannot start {own:?}: {error}"));
        drop((own, side));
        let screen = vt100::Parser::new_with_callbacks(size.rows, size.columns, 0, Titles::default());
        let seen = Arc::new(Mutex::new(Seen { raw: Vec::new(), screen }));
        let person = File::from(person);
        let (mut reading, shared) = (person.try_clone().unwrap(), Arc::clone(&seen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reading.read(&mut bytes) {
                let mut seen = shared.lock().unwrap();
                seen.raw.extend_from_slice(&bytes[..count]);
                seen.screen.process(&bytes[..count]);
            }
        });
        Self { child, ended: None, person, seen }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Types a text.
    pub(crate) fn type_in(&mut self, keys: &str) {
        self.person.write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&self, size: Size) {
        self.seen().screen.screen_mut().set_size(size.rows, size.columns);
        resize(&self.person, size);
    }

    /// The content of the screen.
    pub(crate) fn contents(&self) -> String {
        self.seen().screen.screen().contents()
    }

    /// All written bytes.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen().raw).into_owned()
    }

    /// The window titles that were set.
    pub(crate) fn titles(&self) -> Vec<String> {
        self.seen().screen.callbacks().0.clone()
    }

    /// Whether the alternate screen is active and the cursor hidden.
    pub(crate) fn is_taken(&self) -> bool {
        let seen = self.seen();
        let screen = seen.screen.screen();
        assert_eq!(screen.alternate_screen(), screen.hide_cursor(), "half taken");
        screen.alternate_screen()
    }

    /// Waits until a condition holds for the screen, and returns its content.
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let started = now();
        eventually(what, || {
            last = self.contents();
            let enough = holds(&last);
            assert!(enough || now() - started < super::PATIENCE, "waited in vain for {what}:\n{last}");
            enough.then(|| last.clone())
        })
    }

    /// Waits for a text on the screen.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |contents| contents.contains(text))
    }

    /// The process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the process to end, and returns its exit code.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        let status = eventually("a process in a terminal to end", || self.child.try_wait().unwrap());
        self.ended = Some(status.code().unwrap_or(-1));
        status.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = kill_process(self.pid(), Signal::CONT);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn resize(terminal: &impl std::os::fd::AsFd, size: Size) {
    let size = Winsize { ws_row: size.rows.get(), ws_col: size.columns.get(), ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}
