//! The test process's side of `supervise`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A private folder and the server in it, both gone with this or with the test process.
pub(super) struct Supervisor {
    folder: PathBuf,
    child: Child,
    conversation: Mutex<Conversation>,
}

struct Conversation {
    /// Its end is what tells `supervise` to tidy up. The system closes it when this process is gone.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Conversation {
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "tests/support/supervise has ended");
        line.trim_end().to_owned()
    }
}

impl Supervisor {
    /// Makes the folder.
    pub(super) fn start(end_signal: &str) -> Self {
        let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/supervise"))
            .arg(end_signal)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not ended by what a terminal sends to the tests.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start tests/support/supervise, which needs bash: {error}"));
        let words = child.stdin.take();
        let mut conversation = Conversation { words, answers: BufReader::new(child.stdout.take().unwrap()) };
        let folder = conversation.answer().into();
        Self { folder, child, conversation: Mutex::new(conversation) }
    }

    /// The private folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command in the folder to its end, which has to be good.
    pub(super) fn run(&self, name: &str, command: &[String]) {
        self.put(name, command);
        let code = self.say(&format!("run {name}"));
        assert_eq!(code, "0", "{} failed:\n{}", command[0], self.log(name));
    }

    /// Starts the server, and gives its process id.
    pub(super) fn serve(&self, command: &[String]) -> i32 {
        self.put("server", command);
        self.say("start").parse().unwrap()
    }

    /// Sends a signal to the server and the processes under it. They have stopped or gone, if it does that.
    pub(super) fn signal(&self, name: &str) {
        self.say(&format!("signal {name}"));
    }

    /// Waits until the server has ended.
    pub(super) fn wait(&self) {
        self.say("wait");
    }

    /// The output of a command or of the `server` since it was started.
    pub(super) fn log(&self, name: &str) -> String {
        let log = std::fs::read(self.folder.join(format!("{name}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    fn put(&self, name: &str, command: &[String]) {
        let words: String = command.iter().flat_map(|word| [word.as_str(), "\0"]).collect();
        std::fs::write(self.folder.join(name), words).unwrap();
    }

    fn say(&self, word: &str) -> String {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let words = conversation.words.as_mut().unwrap();
        writeln!(words, "{word}").expect("tests/support/supervise has ended");
        conversation.answer()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let conversation = self.conversation.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(conversation.words.take());
        let _ = self.child.wait();
    }
}
