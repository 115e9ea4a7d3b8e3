//! Event streams: what the page shows, sent again whenever it is another.
//!
//! A stream looks at the sources as any request does, so it shares readings with scrapes and never makes a source be read
//! more often than `reuse_for` allows. There are only so many, and all end with the server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Request, StatusCode};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::Content;
use super::deadline::Patience;
use super::reply::{self, Reply};
use super::site::{looks, now};
use crate::expose::page::{self, View};
use crate::observer::{Chosen, Observed};

/// How many streams there may be at once. Whoever comes then asks for the page again and again instead.
pub(super) const MOST: usize = 32;
/// How often a stream looks.
const EVERY: Duration = Duration::from_secs(2);
/// How long a browser waits before it opens a stream again that broke off.
const RETRY: &[u8] = b"retry: 2000\n\n";
/// Nothing is new, and the exporter is there.
const SAME: &[u8] = b"event: same\ndata:\n\n";

/// The streams that are open.
#[derive(Debug)]
pub(super) struct Streams {
    free: Arc<Semaphore>,
    ended: CancellationToken,
}

impl Default for Streams {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(MOST)), ended: CancellationToken::new() }
    }
}

impl Streams {
    /// Ends all streams. There are none from then on.
    pub(super) fn end(&self) {
        self.free.close();
        self.ended.cancel();
    }

    /// Opens a stream, if there are not too many.
    pub(super) fn open<B>(
        &self,
        content: &Arc<impl Content>,
        request: &Request<B>,
        requests: Option<Arc<Semaphore>>,
        patience: Patience,
    ) -> Reply {
        let Ok(free) = Arc::clone(&self.free).try_acquire_owned() else {
            return reply::error(StatusCode::SERVICE_UNAVAILABLE);
        };
        let (sender, receiver) = channel(1);
        if request.method() != Method::HEAD {
            let stream = Stream {
                content: Arc::clone(content),
                view: View::live(request.uri().query().unwrap_or_default()),
                patience: patience.with(request.headers()),
                requests,
                shown: Vec::new(),
                _free: free,
            };
            let ended = self.ended.clone();
            tokio::spawn(async move { ended.run_until_cancelled_owned(stream.run(sender)).await });
        }
        reply::stream(receiver)
    }
}

struct Stream<C> {
    content: Arc<C>,
    view: View,
    patience: Duration,
    requests: Option<Arc<Semaphore>>,
    /// What was sent last. It is not kept for that: it may be large.
    shown: Vec<Weak<Observed>>,
    _free: OwnedSemaphorePermit,
}

impl<C: Content> Stream<C> {
    /// Sends until nobody takes it any more.
    async fn run(mut self, sender: Sender<Bytes>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next = Some(Bytes::from_static(RETRY));
        while let Some(event) = next {
            if sender.send(event).await.is_err() {
                return;
            }
            tokio::select! {
                _ = ticks.tick() => {}
                () = sender.closed() => return,
            }
            next = self.look().await;
        }
    }

    /// What there is to send; nothing if it could not be rendered.
    async fn look(&mut self) -> Option<Bytes> {
        let requests = self.requests.clone();
        let permit = requests.map(Semaphore::try_acquire_owned).transpose();
        // While there are too many requests, a stream goes without.
        let Ok(_permit) = permit else { return Some(Bytes::from_static(SAME)) };
        // All are configured.
        let observed = self.content.snapshots(Chosen::All, Instant::now() + self.patience).await.ok()?;
        let same = |(one, other): (&Arc<Observed>, &Weak<Observed>)| std::ptr::eq(Arc::as_ptr(one), other.as_ptr());
        if !observed.is_empty() && observed.len() == self.shown.len() && observed.iter().zip(&self.shown).all(same) {
            return Some(Bytes::from_static(SAME));
        }
        let main = page::main(&self.view, &looks(&observed), now())
            .inspect_err(|error| tracing::error!(%error, "the page could not be rendered"))
            .ok()?;
        self.shown = observed.iter().map(Arc::downgrade).collect();
        Some(event(&main))
    }
}

/// An event of which each line is one of `text`.
fn event(text: &str) -> Bytes {
    let mut event = String::with_capacity(text.len() + text.len() / 16);
    event.push_str("event: page\n");
    for line in text.lines() {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into()
}
