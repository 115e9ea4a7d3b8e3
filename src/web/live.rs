//! Event streams: what the page shows, sent again whenever it is another.
//!
//! A stream looks at the sources as any request does, so it shares readings with scrapes and never makes a source be read
//! more often than `reuse_for` allows. It waits for none of them longer than a moment, so that each look has an event: one
//! that hangs keeps nobody from what the others show, nor from knowing that the exporter is there. There are only so many,
//! apart from the requests, of which they take no turn; and all end with the server.

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
use super::encoding::encoding;
use super::events::{self, Event, Events};
use super::rendering::Rendering;
use super::reply::{self, Reply};
use super::rules::Pass;
use super::site::{glances, looks, now};
use crate::expose::page::{self, View};
use crate::lease::SourceSnapshot;
use crate::observer::{PartialView, Waiting};

/// How many streams there may be at once. Whoever comes then asks for the page again and again instead.
pub(super) const MOST: usize = 32;
/// How often a stream looks.
const EVERY: Duration = Duration::from_secs(2);

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
        patience: Patience,
        rendering: Rendering,
        pass: Pass,
    ) -> Reply {
        let Ok(free) = Arc::clone(&self.free).try_acquire_owned() else {
            return reply::error(StatusCode::SERVICE_UNAVAILABLE);
        };
        let (sender, receiver) = channel(1);
        let events = Events::new(encoding(request.headers()));
        let reply = reply::stream(events.encoding(), receiver);
        if request.method() != Method::HEAD {
            let stream = Stream {
                content: Arc::clone(content),
                view: Arc::new(View::live(request.uri().query().unwrap_or_default())),
                patience: patience.with(request.headers()),
                rendering,
                pass,
                events,
                shown: Vec::new(),
                _free: free,
            };
            tokio::spawn(stream.run(sender, self.ended.clone()));
        }
        reply
    }
}

struct Stream<C> {
    content: Arc<C>,
    view: Arc<View>,
    patience: Duration,
    rendering: Rendering,
    pass: Pass,
    events: Events,
    /// What was sent last. It is not kept for that: it may be large.
    shown: Vec<Weak<SourceSnapshot>>,
    _free: OwnedSemaphorePermit,
}

impl<C: Content> Stream<C> {
    /// Sends until nobody takes it any more, or nobody may.
    async fn run(mut self, sender: Sender<Bytes>, ended: CancellationToken) {
        ended.run_until_cancelled(self.tell(&sender)).await;
        if let Some(end) = self.events.end() {
            // Who has yet to take what came before needs no end.
            let _ = sender.try_send(end);
        }
    }

    async fn tell(&mut self, sender: &Sender<Bytes>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next = Some(self.events.beginning());
        while let Some(event) = next {
            if sender.send(event.bytes()).await.is_err() {
                return;
            }
            self.events.sent(&event);
            tokio::select! {
                _ = ticks.tick() => {}
                () = sender.closed() => return,
            }
            next = self.look().await;
            // After the look, which may have taken its time: nothing is sent to who may not see it.
            if !self.pass.holds().await {
                return;
            }
        }
    }

    /// What there is to send; nothing if it could not be rendered.
    async fn look(&mut self) -> Option<Event> {
        let deadline = Instant::now() + self.patience;
        let glances = glances(&*self.content, &self.view, Waiting::Briefly, deadline).await;
        let same = |(glance, shown): (&PartialView, &Weak<SourceSnapshot>)| {
            glance.unanswered.is_none() && std::ptr::eq(Arc::as_ptr(&glance.snapshot), shown.as_ptr())
        };
        if !glances.is_empty() && glances.len() == self.shown.len() && glances.iter().zip(&self.shown).all(same) {
            return Some(self.events.same());
        }
        self.shown = glances.iter().map(|glance| Arc::downgrade(&glance.snapshot)).collect();
        let (view, encoding) = (Arc::clone(&self.view), self.events.encoding());
        let render = move || {
            let main = page::main(&view, &looks(&glances), now());
            let main = main.inspect_err(|error| tracing::error!(%error, "the page could not be rendered")).ok()?;
            events::page(&main, encoding)
        };
        self.rendering.of(render).await?
    }
}
