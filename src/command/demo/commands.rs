//! The shell commands that inspect and remove what the demo has created in a store.
//!
//! Each command names the server in full, so that it works in any terminal and affects no other server. Passwords stay in
//! their files.

#[cfg(any(feature = "postgres", feature = "redis"))]
use lease_protocol::ServerAddress;

use lease_protocol::StoreAddress;

/// The commands, one per line.
#[derive(Debug)]
pub(super) struct StoreCommands {
    /// Exports the password for the other commands.
    login: Option<String>,
    inspect: String,
    /// `None` for an SQLite file, which is removed with its folder.
    remove: Option<String>,
}

impl StoreCommands {
    /// The commands for the demo's part of this store.
    pub(super) fn new(store: &StoreAddress) -> Self {
        match store {
            StoreAddress::Sqlite(path) => {
                let file = shell_word(&path.to_string_lossy());
                let inspect = format!("sqlite3 -readonly {file} 'SELECT * FROM scheduler_lease'");
                Self { login: None, inspect, remove: None }
            }
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { server, schema } => {
                let schema = schema.as_deref().unwrap_or("public");
                let psql = psql(server);
                Self {
                    login: login(server, "PGPASSWORD"),
                    inspect: format!("{psql} -c 'SELECT * FROM {schema}.scheduler_lease'"),
                    remove: Some(format!("{psql} -c 'DROP SCHEMA {schema} CASCADE'")),
                }
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { server, prefix } => {
                let redis_cli = redis_cli(server);
                let inspect = format!("{redis_cli} --scan --pattern {}", shell_word(&format!("{prefix}*")));
                let remove = Some(format!("{inspect} | xargs {redis_cli} UNLINK"));
                Self { login: login(server, "REDISCLI_AUTH"), inspect, remove }
            }
        }
    }

    /// The commands that inspect and then remove the store, indented.
    pub(super) fn all(&self) -> Vec<String> {
        self.login.iter().chain([&self.inspect]).chain(&self.remove).map(|command| indent(command)).collect()
    }

    /// The commands that remove the store, indented; none if nothing need be removed.
    pub(super) fn removal(&self) -> Vec<String> {
        let login = self.login.as_ref().filter(|_| self.remove.is_some());
        login.into_iter().chain(&self.remove).map(|command| indent(command)).collect()
    }
}

/// A command as the demo prints it.
pub(super) fn indent(command: &str) -> String {
    format!("    {command}")
}

/// The text quoted as one word of a shell.
pub(super) fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command that exports the password from its file, so that it does not appear in the output.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn login(server: &ServerAddress, variable: &str) -> Option<String> {
    let file = server.password_file().and_then(|path| std::path::absolute(path).ok())?;
    Some(format!(r#"export {variable}="$(cat {})""#, shell_word(&file.to_string_lossy())))
}

#[cfg(feature = "postgres")]
fn psql(server: &ServerAddress) -> String {
    let mut command = format!("psql -h {} -p {}", shell_word(server.host()), server.port());
    for (option, value) in [("-U", server.user()), ("-d", server.database())] {
        command.extend(value.map(|value| format!(" {option} {}", shell_word(value))));
    }
    command
}

#[cfg(feature = "redis")]
fn redis_cli(server: &ServerAddress) -> String {
    let mut command = format!("redis-cli -h {} -p {}", shell_word(server.host()), server.port());
    if let Some(user) = server.user() {
        command.push_str(&format!(" --user {}", shell_word(user)));
        // Without a password, redis-cli would not log in as the user.
        if server.password_file().is_none() {
            command.push_str(" --pass '' --no-auth-warning");
        }
    }
    command.push_str(&format!(" -n {}", shell_word(server.database().unwrap_or("0"))));
    command
}
