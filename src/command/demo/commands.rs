//! The shell commands that inspect and remove what the demo has created in a store.
//!
//! Each command names the server in full, so that it works in any terminal and affects no other server. Passwords stay in
//! their files.

#[cfg(any(feature = "postgres", feature = "redis"))]
use lease_protocol::ServerAddress;

use lease_protocol::StoreAddress;

/// The commands, one per line.
#[derive(Debug, Default, PartialEq, Eq)]
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
                let inspect = format!(
                    "sqlite3 -readonly {} 'SELECT * FROM scheduler_lease'",
                    shell_word(&path.to_string_lossy())
                );
                Self { inspect, ..Self::default() }
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
        // Without any it would not say who it is.
        if server.password_file().is_none() {
            command.push_str(" --pass '' --no-auth-warning");
        }
    }
    command.push_str(&format!(" -n {}", shell_word(server.database().unwrap_or("0"))));
    command
}

#[cfg(test)]
#[cfg(all(feature = "postgres", feature = "redis"))]
mod tests {
    use super::*;

    fn commands(url: &str, password_file: Option<&str>) -> StoreCommands {
        StoreCommands::new(&StoreAddress::parse(url, password_file.map(Into::into)).unwrap().with_namespace("own"))
    }

    #[test]
    fn each_command_names_the_server_and_no_password() {
        assert_eq!(
            commands("postgres://me@localhost:6432/jobs", Some("/a b")).all(),
            [
                r#"    export PGPASSWORD="$(cat '/a b')""#,
                "    psql -h localhost -p 6432 -U me -d jobs -c 'SELECT * FROM own.scheduler_lease'",
                "    psql -h localhost -p 6432 -U me -d jobs -c 'DROP SCHEMA own CASCADE'",
            ]
        );
        assert_eq!(
            commands("redis://localhost", None).all(),
            [
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*'",
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*' \
                 | xargs redis-cli -h localhost -p 6379 -n 0 UNLINK",
            ]
        );
        let nopass = commands("redis://it's@[::1]:1/2", None).removal().concat();
        assert!(nopass.contains(r"redis-cli -h ::1 -p 1 --user 'it'\''s' --pass '' --no-auth-warning -n 2 UNLINK"));
        let with_password = commands("redis://me@localhost/2", Some("/file")).removal();
        assert_eq!(with_password[0], r#"    export REDISCLI_AUTH="$(cat /file)""#);
        assert!(!with_password[1].contains("--pass"));
    }

    #[test]
    fn an_sqlite_file_is_removed_with_its_folder() {
        let commands = commands("sqlite:///a", None);
        assert_eq!(commands.all(), ["    sqlite3 -readonly /a 'SELECT * FROM scheduler_lease'"]);
        assert!(commands.removal().is_empty());
    }
}
