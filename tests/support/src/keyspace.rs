//! A numbered database of one's own on a shared Redis or Valkey.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::kind::{Kind, put_secret};
use super::redis::{DATABASES, SOCKET};

/// An empty numbered database, emptied with its guard. Its reader may read every key of the server.
pub struct Keyspace {
    socket: PathBuf,
    number: u32,
    reader: String,
    password: String,
    url: String,
    password_file: PathBuf,
}

impl Keyspace {
    pub(super) fn claim(kind: Kind, port: u16, tls: bool, socket_dir: &Path) -> Self {
        static CLAIMED: AtomicU32 = AtomicU32::new(1);
        assert!(matches!(kind, Kind::Redis | Kind::Valkey), "{} has databases instead", kind.name());
        let number = CLAIMED.fetch_add(1, Ordering::Relaxed);
        assert!(number < DATABASES, "more keyspaces than a server has databases");
        let (reader, password) = (format!("reader_{number}"), format!("password-of-reader-{number}"));
        let password_file = socket_dir.join(format!("{reader}.password"));
        put_secret(&password_file, &password);
        let scheme = if tls { "rediss" } else { "redis" };
        let url = format!("{scheme}://{reader}@127.0.0.1:{port}/{number}");
        let keyspace = Self { socket: socket_dir.join(SOCKET), number, reader, password, url, password_file };
        keyspace.grant(&["+@read", "+@connection", "+@transaction", "-keys", "+time", "+info", "+role"]);
        keyspace
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The name of the user who may read it.
    pub fn reader(&self) -> &str {
        &self.reader
    }

    /// The reader's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The reader's address, without the password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The file with the reader's password. Writing another into it makes it wrong.
    pub fn password_file(&self) -> &Path {
        &self.password_file
    }

    /// Makes these the only commands, in the words of `ACL SETUSER`, that the reader may give, whatever the key.
    pub fn grant(&self, commands: &[&str]) {
        let password = format!(">{}", self.password);
        let user = ["ACL", "SETUSER", &self.reader, "reset", "on", &password, "allkeys", "resetchannels"];
        self.command(&[&user, commands].concat());
        // So that the user is there after a restart, like everything else.
        self.command(&["ACL", "SAVE"]);
    }

    /// Gives a command in this database as a user who may do anything, and gives the answer: values of a list in lines,
    /// nothing for nil. An error fails the test.
    pub fn command<W: AsRef<[u8]>>(&self, words: &[W]) -> String {
        self.attempt(words).unwrap_or_else(|error| {
            let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word.as_ref())).collect();
            panic!("{error}\nto {}", words.join(" "))
        })
    }

    /// Gives a command and does not wait for its answer, which may take for ever; the connection lasts with its guard.
    pub fn begin<W: AsRef<[u8]>>(&self, words: &[W]) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(&encode(words)).unwrap();
        stream
    }

    fn attempt<W: AsRef<[u8]>>(&self, words: &[W]) -> Result<String, String> {
        let told = |error: std::io::Error| error.to_string();
        let mut stream = UnixStream::connect(&self.socket).map_err(told)?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(told)?;
        let mut request = encode(&[b"SELECT", self.number.to_string().as_bytes()]);
        request.extend(encode(words));
        stream.write_all(&request).map_err(told)?;
        let mut answers = BufReader::new(stream);
        let selected = answer(&mut answers);
        // While a script runs on, the server takes nothing but its end: not even this.
        selected.or_else(|error| if error.contains("BUSY") { Ok(String::new()) } else { Err(error) })?;
        answer(&mut answers)
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        // A server that this test has broken has no use for it.
        if !std::thread::panicking() {
            let _ = self.attempt(&["FLUSHDB"]);
            let _ = self.attempt(&["ACL", "DELUSER", &self.reader]);
        }
    }
}

/// A command as the protocol has it.
fn encode<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words.iter().map(AsRef::as_ref) {
        request.extend(format!("${}\r\n", word.len()).bytes());
        request.extend(word);
        request.extend(b"\r\n");
    }
    request
}

/// One answer, in the second version of the protocol.
fn answer(from: &mut impl BufRead) -> Result<String, String> {
    let mut line = String::new();
    from.read_line(&mut line).map_err(|error| error.to_string())?;
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).ok_or("the connection was closed")?;
    let count = || rest.parse::<i64>().map_err(|error| format!("{error} in {line:?}"));
    match kind {
        "+" | ":" => Ok(rest.to_owned()),
        "$" => {
            let Ok(length) = usize::try_from(count()?) else { return Ok(String::new()) };
            let mut value = vec![0; length + 2];
            from.read_exact(&mut value).map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&value[..length]).into_owned())
        }
        "*" => {
            let values: Result<Vec<_>, _> = (0..count()?).map(|_| answer(from)).collect();
            Ok(values?.join("\n"))
        }
        _ => Err(line.to_owned()),
    }
}
