//! Tests of the server with real sockets.

mod choices;
mod client;
mod content;
mod limits;
mod live;
mod requests;
mod routes;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::config::WebConfigWatcher;
use super::{Authenticator, Limits, Listener, Router, Settings, is_taken, serve};
use content::Fake;

/// A server that runs until it is dropped or shut down.
struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(content: Fake, settings: Settings, limits: Limits) -> Self {
        Self::behind(Authenticator::unrestricted(Router::new(Arc::new(content), settings)), limits).await
    }

    async fn behind(authenticator: Authenticator<Fake>, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let task =
            tokio::spawn(serve(vec![Listener::Tcp(listener)], Arc::new(authenticator), limits, shutdown.clone()));
        Self { address, shutdown, task }
    }

    /// A server with a web configuration.
    async fn watched(file: &Path, limits: Limits) -> Self {
        let watched = WebConfigWatcher::new(file).unwrap();
        let router = Router::new(Arc::new(Fake::plain()), Settings::default());
        Self::behind(Authenticator::watching(router, Arc::new(watched), [7; 32]), limits).await
    }

    async fn with(content: Fake) -> Self {
        Self::start(content, Settings::default(), Limits::default()).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

/// A web configuration whose one user `one` has this password.
fn users(password: &str) -> String {
    let hash = bcrypt::hash_with_salt(password, 4, *b"sixteen bytes ok").unwrap();
    format!("basic_auth_users: {{one: {hash}}}\n")
}
