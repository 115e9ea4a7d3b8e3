//! The demo's temporary folder, with the exporter's configuration, and its store.
//!
//! The schedulers use the store directly. The exporter reads it through an access that the demo can interrupt: an SQLite
//! file in `store/` through the link `mount`, a server through a proxy.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use lease_protocol::{HolderId, ProtocolError, ServerAddress, StoreAddress, Transport};
use tempfile::TempDir;
use tokio::time::timeout;

use super::super::Failure;
use super::access::{StoreAccess, TcpProxy};
use super::commands::{StoreCommands, indent, shell_word};
use super::output::Output;
use super::speed::Speed;
use super::store::{DemoStore, store_failure};

/// The name of the exporter's source.
pub(super) const SOURCE: &str = "documents";
/// The name of the schedulers' lease.
pub(super) const LEASE: &str = "retention-planning";

/// The folder and the store. Dropping them removes them, unless they are to be kept.
#[derive(Debug)]
pub(super) struct DemoEnvironment {
    // Dropped before the folder, which may contain it.
    store: DemoStore,
    folder: TempDir,
    keep: bool,
    pub(super) speed: Speed,
    /// The exporter's access to the store.
    pub(super) access: StoreAccess,
}

impl DemoEnvironment {
    /// Creates the folder, and the store on this server or as an SQLite file in the folder.
    pub(super) async fn create(speed: Speed, keep: bool, server: Option<StoreAddress>) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lease-exporter-demo-")
            .disable_cleanup(keep)
            .tempdir()
            .map_err(failed("make a temporary folder"))?;
        let access = match server.as_ref().and_then(StoreAddress::server) {
            Some(server) => StoreAccess::Proxy(start_proxy(server).await?),
            None => {
                fs::create_dir(folder.path().join("store")).map_err(failed(WRITE))?;
                StoreAccess::Link(folder.path().join("mount"))
            }
        };
        let address = server.unwrap_or_else(|| StoreAddress::Sqlite(folder.path().join("store/documents.db")));
        let store = DemoStore::create(address, keep).await?;
        let environment = Self { store, folder, keep, speed, access };
        environment.write_files().map_err(failed(WRITE))?;
        Ok(environment)
    }

    fn write_files(&self) -> io::Result<()> {
        // With a key file, `lease-exporter status` shows the same instance tokens as the demo.
        let key = HolderId::random().map_err(io::Error::other)?;
        let path = self.folder.path().join("token.key");
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(key.as_str().as_bytes())?;
        fs::write(self.config_file(), self.config(Some(&self.access)))?;
        self.access.restore()
    }

    /// The address of the store for the schedulers.
    pub(super) const fn store(&self) -> &StoreAddress {
        &self.store.address
    }

    /// The description of the store's place.
    pub(super) fn place(&self) -> String {
        match self.store() {
            StoreAddress::Sqlite(_) => "an SQLite file".to_owned(),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { schema, .. } => {
                format!("the schema {} on PostgreSQL", schema.as_deref().unwrap_or_default())
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { prefix, .. } => format!("Redis under keys that begin with {prefix}"),
        }
    }

    /// The path of the exporter's configuration.
    pub(super) fn config_file(&self) -> PathBuf {
        self.folder.path().join("lease-exporter.yml")
    }

    /// The exporter's configuration, which reads the store through the access, or directly without one. Only its short
    /// durations are specific to the demo.
    fn config(&self, access: Option<&StoreAccess>) -> String {
        let durations = [self.speed.reuse_for(), self.speed.stall_after()];
        let [reuse_for, stall_after] = durations.map(humantime::format_duration);
        let source = source(self.store(), access).join("\n    ");
        format!(
            "\
# A relative path begins at the folder of this file.
token_key_file: token.key
sources:
  - name: {SOURCE}
    {source}
    reuse_for: {reuse_for}
leases:
  - match: {{ source: {SOURCE}, lease: {LEASE} }}
    stall_after: {stall_after}
"
        )
    }

    /// The announcement of the folder and of the configuration in it, if they are kept.
    pub(super) fn kept(&self) -> Option<Vec<String>> {
        self.keep.then(|| {
            let mut lines = vec![format!("Kept: {}, with this configuration:", self.config_file().display())];
            lines.extend(self.config(Some(&self.access)).lines().map(indent));
            lines
        })
    }

    /// Removes or keeps everything once its users have stopped, and prints what is left. If this future is dropped, the
    /// rest of the work is not done: a second signal must not wait for the store.
    pub(super) async fn finish(
        self,
        users_stopped: impl Future<Output = Result<(), Failure>>,
        output: &mut Output<impl Write>,
    ) -> Result<io::Result<()>, Failure> {
        let removal = if self.keep { Vec::new() } else { StoreCommands::new(self.store()).removal() };
        let mut cleanup = pin!(self.clean_up(users_stopped));
        let mut printed = Ok(());
        let (result, lines) = match timeout(NOTICE_AFTER, &mut cleanup).await {
            Ok(done) => done,
            Err(_) => {
                if !removal.is_empty() {
                    let notice = "The store is slow to answer. Another Ctrl-C ends at once, and leaves what the demo \
                                  made there; remove that with"
                        .to_owned();
                    printed = output.lines(&[&[notice], &*removal].concat());
                }
                cleanup.await
            }
        };
        let printed = printed.and_then(|()| output.lines(&lines));
        result.map(|()| printed)
    }

    /// Removes or keeps everything; returns the result and the demo's last lines.
    async fn clean_up(
        mut self,
        users_stopped: impl Future<Output = Result<(), Failure>>,
    ) -> (Result<(), Failure>, Vec<String>) {
        self.store.removes_on_drop = false;
        let stopped = timeout(STOP_TIMEOUT, users_stopped).await;
        let is_stuck = stopped.is_err();
        let stopped = stopped.unwrap_or(Ok(()));
        if self.keep {
            let kept = self.make_readable();
            let lines = if kept.is_ok() { self.kept_notice() } else { Vec::new() };
            return (stopped.and(kept), lines);
        }
        let removed = if is_stuck && self.store().server().is_some() {
            // The users still wait for the server, so the removal would wait as well.
            Err(store_failure(ProtocolError::Unreachable))
        } else {
            self.store.remove().await
        };
        let commands = StoreCommands::new(self.store());
        let closed = self.folder.close().map_err(failed("remove the temporary folder"));
        let lines = match (&removed, &closed) {
            (Err(_), _) => {
                let notice = "Stopped; but what the demo made in the store is left there. Remove it with".to_owned();
                [notice].into_iter().chain(commands.removal()).collect()
            }
            (Ok(()), Err(_)) => Vec::new(),
            (Ok(()), Ok(())) => vec!["Stopped; nothing is left behind.".to_owned()],
        };
        (stopped.and(removed).and(closed), lines)
    }

    /// Makes what is kept readable without the demo, whose access to the store ends with it.
    fn make_readable(&self) -> Result<(), Failure> {
        self.access.restore().map_err(failed("put the link to the store back"))?;
        fs::write(self.config_file(), self.config(None)).map_err(failed(WRITE))
    }

    fn kept_notice(&self) -> Vec<String> {
        let [config_file, folder] =
            [&*self.config_file(), self.folder.path()].map(|path| shell_word(&path.to_string_lossy()));
        let mut lines = vec![
            "Stopped. The store and the configuration are kept. Inspect and remove them with".to_owned(),
            indent(&format!("lease-exporter status --config.file={config_file}")),
        ];
        lines.extend(StoreCommands::new(self.store()).all());
        lines.push(indent(&format!("rm -r {folder}")));
        lines
    }
}

/// How long the schedulers, the producer and the server may take to stop. Each stops once the store has answered.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// The delay of the notice that the demo waits for the store.
const NOTICE_AFTER: Duration = Duration::from_secs(1);

const WRITE: &str = "write into the temporary folder";

fn failed(operation: &str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::System(format!("cannot {operation}: {error}"))
}

async fn start_proxy(server: &ServerAddress) -> Result<TcpProxy, Failure> {
    if server.transport() == Transport::Tls {
        return Err(Failure::Configuration(
            "--store: the demo's exporter reads through a proxy on 127.0.0.1, for which the server's certificate is not \
             valid; name a server that needs no TLS"
                .to_owned(),
        ));
    }
    TcpProxy::start(server.host().to_owned(), server.port()).await.map_err(failed("listen"))
}

/// The lines of the source in the exporter's configuration: through the access, or directly without one.
#[cfg_attr(
    not(any(feature = "postgres", feature = "redis")),
    expect(unused_variables, reason = "an SQLite file is always read through the link")
)]
fn source(store: &StoreAddress, access: Option<&StoreAccess>) -> Vec<String> {
    match store {
        StoreAddress::Sqlite(_) => {
            vec!["store: sqlite://mount/documents.db".to_owned(), "preset: reference".to_owned()]
        }
        #[cfg(feature = "postgres")]
        StoreAddress::Postgres { server, schema } => {
            let mut lines = server_source("postgres", server, access);
            lines.push("tls: { mode: \"off\" }".to_owned());
            lines.extend(schema.as_deref().map(|schema| format!("schema: {schema}")));
            lines.push("preset: reference".to_owned());
            lines
        }
        #[cfg(feature = "redis")]
        StoreAddress::Redis { server, prefix } => {
            let mut lines = server_source("redis", server, access);
            lines.push("preset: reference".to_owned());
            lines.push(format!("parameters: {{ key_prefix: {} }}", yaml_string(prefix)));
            lines
        }
    }
}

#[cfg(any(feature = "postgres", feature = "redis"))]
fn server_source(scheme: &str, server: &ServerAddress, access: Option<&StoreAccess>) -> Vec<String> {
    let address = match access {
        Some(StoreAccess::Proxy(proxy)) => server.through_proxy(proxy.address()),
        _ => server.clone(),
    };
    let mut lines = vec![format!("store: {}", yaml_string(&address.url(scheme)))];
    let password_file = server.password_file().and_then(|path| std::path::absolute(path).ok());
    lines.extend(password_file.map(|path| format!("password_file: {}", yaml_string(&path.to_string_lossy()))));
    lines
}

/// The text as a quoted YAML string, which JSON strings are.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn yaml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
