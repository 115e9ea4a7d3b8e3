//! The folder that the demo takes place in, with the configuration that the exporter reads; and the store.
//!
//! The schedulers use the store where it is. The exporter reads it by another way, which can be taken away: an SQLite
//! file in `store/` through the link `mount`, a server through a relay.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::Failure;
use super::by_hand::{ByHand, indented, word};
use super::own_store::{OwnStore, remove, told};
use super::pace::Pace;
use super::relay::Relay;
use super::way::Way;
use crate::scheduler::{InstanceToken, ProtocolError, ServerAddress, StoreAddress, Transport};

/// The name of the source that the exporter reads.
pub(super) const SOURCE: &str = "documents";
/// The name of the lease that the schedulers share.
pub(super) const LEASE: &str = "retention-planning";
/// The name of the exporter's configuration in the folder.
const CONFIG_FILE: &str = "lease-exporter.yml";

/// The folder and the store, removed when this is dropped unless they are to be kept.
#[derive(Debug)]
pub(super) struct Stage {
    // Removed before the folder that it may be in.
    store: OwnStore,
    folder: TempDir,
    keep: bool,
    pace: Pace,
    way: Way,
}

impl Stage {
    /// Makes everything: in an SQLite file of its own, or in this store.
    pub(super) async fn set(pace: Pace, keep: bool, store: Option<StoreAddress>) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lease-exporter-demo-")
            .disable_cleanup(keep)
            .tempdir()
            .map_err(|error| Failure::System(format!("cannot make a temporary folder: {error}")))?;
        let unwritable = |error: io::Error| Failure::System(format!("cannot write into the temporary folder: {error}"));
        let server = store.as_ref().and_then(StoreAddress::server).cloned();
        let (address, way) = match (store, server) {
            (Some(address), Some(server)) => (address, Way::Relay(relay(&server).await?)),
            _ => {
                fs::create_dir(folder.path().join("store")).map_err(unwritable)?;
                let path = folder.path().join("store/documents.db");
                (StoreAddress::Sqlite(path), Way::Link(folder.path().join("mount")))
            }
        };
        let store = OwnStore::make(address, keep).await?;
        let stage = Self { store, folder, keep, pace, way };
        stage.furnish().map_err(unwritable)?;
        Ok(stage)
    }

    fn furnish(&self) -> io::Result<()> {
        // With a key, `lease-exporter status` beside the demo shows the holders by the same names.
        let key = InstanceToken::random().map_err(io::Error::other)?;
        let path = self.folder.path().join("token.key");
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(key.as_str().as_bytes())?;
        fs::write(self.config_file(), self.config())?;
        self.way.reveal()
    }

    /// The store, as the schedulers know it.
    pub(super) fn store(&self) -> &StoreAddress {
        self.store.address()
    }

    /// The exporter's way to it.
    pub(super) fn way(&self) -> &Way {
        &self.way
    }

    /// The exporter's configuration.
    pub(super) fn config_file(&self) -> PathBuf {
        self.folder.path().join(CONFIG_FILE)
    }

    /// What to say of the folder at the start, if it is kept: line by line.
    pub(super) fn kept(&self) -> Option<Vec<String>> {
        self.keep.then(|| {
            let mut lines = vec![format!("Kept: {}, with this configuration:", self.config_file().display())];
            lines.extend(self.config().lines().map(|line| format!("    {line}")));
            lines
        })
    }

    /// The commands that remove by hand what this would have left in the store; none if nothing is, or is to be kept.
    pub(super) fn removal_by_hand(&self) -> Vec<String> {
        if self.keep { Vec::new() } else { ByHand::on(self.store()).removal() }
    }

    /// Removes everything, or leaves it fit to be looked at; gives what to say of it in the end. `others_left` is what
    /// came of those who work on it, or nothing if they did not leave. Dropped on the way, what it did not come to stays.
    pub(super) async fn clear(
        self,
        others_left: impl Future<Output = Option<Result<(), Failure>>>,
    ) -> (Result<(), Failure>, Vec<String>) {
        let Self { store, folder, keep, pace, way } = self;
        let store = store.release();
        let by_hand = ByHand::on(&store);
        let others_left = others_left.await;
        if keep {
            let kept = fit_to_be_looked_at(folder.path(), pace, &way, &store);
            let farewell = if kept.is_ok() { farewell_to_kept(folder.path(), &by_hand) } else { Vec::new() };
            return (others_left.unwrap_or(Ok(())).and(kept), farewell);
        }
        let removed = match others_left {
            // The store lets nobody go, and would not let this go either.
            None if store.server().is_some() => Err(told(ProtocolError::Unreachable)),
            _ => remove(store).await,
        };
        let closed = folder.close().map_err(failed("remove the temporary folder"));
        let farewell = match (&removed, &closed) {
            (Err(_), _) => {
                let left = "Stopped; but what the demo made in the store is left there. Remove it with".to_owned();
                [left].into_iter().chain(by_hand.removal()).collect()
            }
            (Ok(()), Err(_)) => Vec::new(),
            (Ok(()), Ok(())) => vec!["Stopped; nothing is left behind.".to_owned()],
        };
        (others_left.unwrap_or(Ok(())).and(removed).and(closed), farewell)
    }

    fn config(&self) -> String {
        config(self.pace, &source(self.store.address(), Some(&self.way)))
    }
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::System(format!("cannot {what}: {error}"))
}

/// Lets what is kept be read without the demo, whose way to the store ends with it.
fn fit_to_be_looked_at(folder: &Path, pace: Pace, way: &Way, store: &StoreAddress) -> Result<(), Failure> {
    way.reveal().map_err(failed("put the link to the store back"))?;
    let config = config(pace, &source(store, None));
    fs::write(folder.join(CONFIG_FILE), config).map_err(failed("write into the temporary folder"))
}

fn farewell_to_kept(folder: &Path, by_hand: &ByHand) -> Vec<String> {
    let status = format!("lease-exporter status --config.file={}", word(&folder.join(CONFIG_FILE).to_string_lossy()));
    let mut lines = vec![
        "Stopped. The store and the configuration are kept; look at them, and remove them, with".to_owned(),
        indented(&status),
    ];
    lines.extend(by_hand.all());
    lines.push(indented(&format!("rm -r {}", word(&folder.to_string_lossy()))));
    lines
}

async fn relay(server: &ServerAddress) -> Result<Relay, Failure> {
    if server.transport() == Transport::Tls {
        return Err(Failure::Configuration(
            "--store: the demo's exporter reads through a relay on 127.0.0.1, which the server's certificate is not for; \
             name a server that needs no TLS"
                .to_owned(),
        ));
    }
    let relay = Relay::start(server.host().to_owned(), server.port()).await;
    relay.map_err(|error| Failure::System(format!("cannot listen: {error}")))
}

/// How the exporter is to read the store: directly, or by the way that can be taken away. Nothing in it is special to the
/// demo.
#[cfg_attr(
    not(any(feature = "postgres", feature = "redis")),
    expect(unused_variables, reason = "to a file there is one way")
)]
fn source(store: &StoreAddress, way: Option<&Way>) -> Vec<String> {
    match store {
        // Also when it is kept: the link is, too.
        StoreAddress::Sqlite(_) => {
            vec!["store: sqlite://mount/documents.db".to_owned(), "preset: reference".to_owned()]
        }
        #[cfg(feature = "postgres")]
        StoreAddress::Postgres { server, schema } => {
            let mut lines = of_server("postgres", server, way);
            lines.push("tls: { mode: \"off\" }".to_owned());
            lines.extend(schema.as_deref().map(|schema| format!("schema: {schema}")));
            lines.push("preset: reference".to_owned());
            lines
        }
        #[cfg(feature = "redis")]
        StoreAddress::Redis { server, prefix } => {
            let mut lines = of_server("redis", server, way);
            lines.push("preset: reference".to_owned());
            lines.push(format!("parameters: {{ key_prefix: {} }}", quoted(prefix)));
            lines
        }
    }
}

#[cfg(any(feature = "postgres", feature = "redis"))]
fn of_server(scheme: &str, server: &ServerAddress, way: Option<&Way>) -> Vec<String> {
    let place = match way {
        Some(Way::Relay(relay)) => server.at(relay.address()),
        _ => server.clone(),
    };
    let mut lines = vec![format!("store: {}", quoted(&place.url(scheme)))];
    let password_file = server.password_file().and_then(|path| std::path::absolute(path).ok());
    lines.extend(password_file.map(|path| format!("password_file: {}", quoted(&path.to_string_lossy()))));
    lines
}

/// A text as YAML, whatever is in it.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The exporter's configuration. Nothing in it is special to the demo but that its times are short.
fn config(pace: Pace, source: &[String]) -> String {
    let (reuse_for, stall_after) = [pace.reuse_for(), pace.stall_after()].map(humantime::format_duration).into();
    let source = source.join("\n    ");
    format!(
        "\
# A path that does not begin with a slash starts at the folder of this file.
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
