//! A database of one's own on a shared PostgreSQL or MariaDB.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::kind::{Kind, put_secret, text};
use super::{mariadb, programs};

/// An empty database with a unique name, dropped with its guard. Its owner may do anything in it; its reader may read
/// every table that is made in it, until that is revoked, and nothing else.
pub struct Database {
    kind: Kind,
    port: u16,
    socket_dir: PathBuf,
    name: String,
    reader: Login,
    owner: Login,
}

/// Somebody who may log in over TCP with a password.
pub struct Login {
    name: String,
    password: String,
    password_file: PathBuf,
    url: String,
}

impl Login {
    /// The user's or role's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// A file with the password in it. Writing another into it makes it wrong.
    pub fn password_file(&self) -> &Path {
        &self.password_file
    }

    /// The database's address without the password.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Database {
    pub(super) fn create(kind: Kind, port: u16, socket_dir: &Path) -> Self {
        static CREATED: AtomicU32 = AtomicU32::new(1);
        let name = format!("database{}", CREATED.fetch_add(1, Ordering::Relaxed));
        let scheme = match kind {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mysql",
            Kind::Redis | Kind::Valkey => panic!("{} has keyspaces instead", kind.name()),
        };
        let login = |who: &str| {
            let (user, password) = (format!("{name}_{who}"), format!("password-of-{name}-{who}"));
            let password_file = socket_dir.join(format!("{user}.password"));
            put_secret(&password_file, &password);
            let url = format!("{scheme}://{user}@127.0.0.1:{port}/{name}");
            Login { name: user, password, password_file, url }
        };
        let (reader, owner) = (login("reader"), login("owner"));
        let database = Self { kind, port, socket_dir: socket_dir.to_owned(), name, reader, owner };
        database.make();
        database
    }

    fn make(&self) {
        let Self { name, reader, owner, .. } = self;
        let [reads, owns] = [reader, owner].map(|login| (login.name(), login.password()));
        match self.kind {
            Kind::Postgres => {
                // CREATE DATABASE takes no other statement beside it in one transaction.
                self.run(
                    "postgres",
                    &format!(
                        "CREATE ROLE {} LOGIN PASSWORD '{}';\nCREATE ROLE {} LOGIN PASSWORD '{}';\n\
                         CREATE DATABASE {name} OWNER {};\n",
                        reads.0, reads.1, owns.0, owns.1, owns.0
                    ),
                );
                self.execute(&format!(
                    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {0};\n\
                     ALTER DEFAULT PRIVILEGES FOR ROLE {1} GRANT SELECT ON TABLES TO {0};\n",
                    reads.0, owns.0
                ));
            }
            _ => {
                self.run(
                    "",
                    &format!(
                        "CREATE DATABASE {name};\nCREATE USER {}@'%' IDENTIFIED BY '{}';\n\
                         CREATE USER {}@'%' IDENTIFIED BY '{}';\nGRANT SELECT ON {name}.* TO {}@'%';\n\
                         GRANT ALL ON {name}.* TO {}@'%';\n",
                        reads.0, reads.1, owns.0, owns.1, reads.0, owns.0
                    ),
                );
            }
        }
    }

    /// The kind of its server.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its unique name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The login with read access, for an exporter.
    pub fn reader(&self) -> &Login {
        &self.reader
    }

    /// The login of the owner, for a scheduler.
    pub fn owner(&self) -> &Login {
        &self.owner
    }

    /// The reader's address, without the password.
    pub fn url(&self) -> &str {
        self.reader.url()
    }

    /// The file with the reader's password.
    pub fn password_file(&self) -> &Path {
        self.reader.password_file()
    }

    /// Runs statements in it as the superuser, and fails with the server's message if one of them does.
    pub fn execute(&self, sql: &str) {
        self.run(&self.name, sql);
    }

    /// Runs statements in it as the superuser and gives the rows, a line each with tabs between values.
    pub fn query(&self, sql: &str) -> String {
        self.run(&self.name, sql)
    }

    /// Lets the reader in with a certificate in its name; PostgreSQL then asks for no password. For servers with TLS.
    pub fn require_certificate(&self) {
        let reader = self.reader.name();
        match self.kind {
            Kind::Postgres => self.execute(&format!(
                "DO $$ BEGIN IF to_regrole('by_certificate') IS NULL THEN CREATE ROLE by_certificate; END IF; END $$;\n\
                 GRANT by_certificate TO {reader};\n"
            )),
            _ => self.execute(&format!("ALTER USER {reader}@'%' REQUIRE X509;\n")),
        }
    }

    /// Runs statements in a database as the superuser, over the private socket.
    fn run(&self, database: &str, sql: &str) -> String {
        self.attempt(database, sql).unwrap_or_else(|message| panic!("{message}\nin {sql}"))
    }

    fn attempt(&self, database: &str, sql: &str) -> Result<String, String> {
        let folder = text(self.socket_dir.clone());
        // A server that is frozen would keep the client waiting.
        let mut client = Command::new("timeout");
        client.arg("60");
        match self.kind {
            Kind::Postgres => client
                .args([&programs::find("psql"), "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1"])
                .args(["-h", &folder, "-p", &self.port.to_string(), "-U", "postgres", "-d", database]),
            _ => client.args([
                &programs::find("mariadb"),
                "--no-defaults",
                "--batch",
                "--skip-column-names",
                "--default-character-set=utf8mb4",
                "--user=root",
                &format!("--socket={folder}/{}", mariadb::SOCKET),
                &format!("--database={database}"),
            ]),
        };
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = client.stdin.take().unwrap();
        let statements = sql.to_owned();
        // On another thread: a client that has much to say must not wait for a reader that is still writing. If it stops
        // reading, what it says tells why.
        let writes = std::thread::spawn(move || drop(stdin.write_all(statements.as_bytes())));
        let output = client.wait_with_output().unwrap();
        writes.join().unwrap();
        let [said, complaint] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        if output.status.success() { Ok(said.trim_end_matches('\n').to_owned()) } else { Err(complaint) }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server that this test has broken has no use for it.
        if std::thread::panicking() {
            return;
        }
        let Self { name, reader, owner, .. } = &*self;
        let (reader, owner) = (reader.name(), owner.name());
        let _ = match self.kind {
            Kind::Postgres => self.attempt(
                "postgres",
                &format!("DROP DATABASE {name} WITH (FORCE);\nDROP ROLE {reader};\nDROP ROLE {owner};\n"),
            ),
            _ => self.attempt("", &format!("DROP DATABASE {name};\nDROP USER {reader}@'%';\nDROP USER {owner}@'%';\n")),
        };
    }
}
