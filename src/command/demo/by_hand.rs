//! The commands by which a person looks at what the demo made in a store, and removes it.
//!
//! Each says where the store is, so that it finds the same server from any terminal, and removes nothing on another. A
//! password stays in its file.

#[cfg(any(feature = "postgres", feature = "redis"))]
use crate::scheduler::ServerAddress;
use crate::scheduler::StoreAddress;

/// Commands, a line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ByHand {
    /// What lets the others in.
    login: Option<String>,
    look: String,
    /// None for a file, which goes with its folder.
    remove: Option<String>,
}

impl ByHand {
    /// For what the demo made in this store.
    pub(super) fn on(store: &StoreAddress) -> Self {
        match store {
            StoreAddress::Sqlite(path) => {
                let look =
                    format!("sqlite3 -readonly {} 'SELECT * FROM scheduler_lease'", word(&path.to_string_lossy()));
                Self { look, ..Self::default() }
            }
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { server, schema } => {
                let schema = schema.as_deref().unwrap_or("public");
                let psql = psql(server);
                Self {
                    login: login(server, "PGPASSWORD"),
                    look: format!("{psql} -c 'SELECT * FROM {schema}.scheduler_lease'"),
                    remove: Some(format!("{psql} -c 'DROP SCHEMA {schema} CASCADE'")),
                }
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { server, prefix } => {
                let redis_cli = redis_cli(server);
                let look = format!("{redis_cli} --scan --pattern {}", word(&format!("{prefix}*")));
                let remove = Some(format!("{look} | xargs {redis_cli} UNLINK"));
                Self { login: login(server, "REDISCLI_AUTH"), look, remove }
            }
        }
    }

    /// To look at it, and to remove it.
    pub(super) fn all(&self) -> Vec<String> {
        self.login.iter().chain([&self.look]).chain(&self.remove).map(|line| indented(line)).collect()
    }

    /// To remove it.
    pub(super) fn removal(&self) -> Vec<String> {
        let login = self.login.as_ref().filter(|_| self.remove.is_some());
        login.into_iter().chain(&self.remove).map(|line| indented(line)).collect()
    }
}

/// A command as it is shown.
pub(super) fn indented(command: &str) -> String {
    format!("    {command}")
}

/// A text as one word of a shell, whatever is in it.
pub(super) fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// How the password gets from its file to the command, without being seen.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn login(server: &ServerAddress, variable: &str) -> Option<String> {
    let file = server.password_file().and_then(|path| std::path::absolute(path).ok())?;
    Some(format!(r#"export {variable}="$(cat {})""#, word(&file.to_string_lossy())))
}

#[cfg(feature = "postgres")]
fn psql(server: &ServerAddress) -> String {
    let mut command = format!("psql -h {} -p {}", word(server.host()), server.port());
    for (option, value) in [("-U", server.user()), ("-d", server.database())] {
        command.extend(value.map(|value| format!(" {option} {}", word(value))));
    }
    command
}

#[cfg(feature = "redis")]
fn redis_cli(server: &ServerAddress) -> String {
    let mut command = format!("redis-cli -h {} -p {}", word(server.host()), server.port());
    if let Some(user) = server.user() {
        command.push_str(&format!(" --user {}", word(user)));
        // Without any it would not say who it is.
        if server.password_file().is_none() {
            command.push_str(" --pass '' --no-auth-warning");
        }
    }
    command.push_str(&format!(" -n {}", word(server.database().unwrap_or("0"))));
    command
}

#[cfg(test)]
#[cfg(all(feature = "postgres", feature = "redis"))]
mod tests {
    use super::*;

    fn by_hand(url: &str, password_file: Option<&str>) -> ByHand {
        ByHand::on(&StoreAddress::parse(url, password_file.map(Into::into)).unwrap().within("own"))
    }

    #[test]
    fn each_command_says_where_the_store_is_and_no_password() {
        assert_eq!(
            by_hand("postgres://me@localhost:6432/jobs", Some("/a b")).all(),
            [
                r#"    export PGPASSWORD="$(cat '/a b')""#,
                "    psql -h localhost -p 6432 -U me -d jobs -c 'SELECT * FROM own.scheduler_lease'",
                "    psql -h localhost -p 6432 -U me -d jobs -c 'DROP SCHEMA own CASCADE'",
            ]
        );
        assert_eq!(
            by_hand("redis://localhost", None).all(),
            [
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*'",
                "    redis-cli -h localhost -p 6379 -n 0 --scan --pattern 'own:*' \
                 | xargs redis-cli -h localhost -p 6379 -n 0 UNLINK",
            ]
        );
        let nopass = by_hand("redis://it's@[::1]:1/2", None).removal().concat();
        assert!(nopass.contains(r"redis-cli -h ::1 -p 1 --user 'it'\''s' --pass '' --no-auth-warning -n 2 UNLINK"));
        let with_password = by_hand("redis://me@localhost/2", Some("/file")).removal();
        assert_eq!(with_password[0], r#"    export REDISCLI_AUTH="$(cat /file)""#);
        assert!(!with_password[1].contains("--pass"));
    }

    #[test]
    fn a_file_goes_with_its_folder() {
        let by_hand = by_hand("sqlite:///a", None);
        assert_eq!(by_hand.all(), ["    sqlite3 -readonly /a 'SELECT * FROM scheduler_lease'"]);
        assert!(by_hand.removal().is_empty());
    }
}
