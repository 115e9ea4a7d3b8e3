//! The events of a stream as they are sent: as they are, or each a part of one gzip stream.
//!
//! Each part is compressed by itself. One that could refer to what was sent before would be little shorter, since rows are
//! most like each other, and would cost each stream a compressor of its own.

use bytes::Bytes;

use crate::expose::Encoding;
use crate::expose::gzip::{Compressor, Growing, Part};

/// How long a browser waits before it opens a stream again that broke off.
const RETRY: &[u8] = b"retry: 2000\n\n";
/// Nothing is new, and the exporter is there.
const SAME: &[u8] = b"event: same\ndata:\n\n";

/// How the events of one stream are sent.
#[derive(Debug)]
pub(super) enum Events {
    Plain,
    Gzip(Growing),
}

/// An event as it is sent.
#[derive(Debug)]
pub(super) enum Event {
    Plain(Bytes),
    Gzip(Part),
    /// The first of a stream, with what that begins with.
    First(Part),
}

impl Event {
    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Gzip(part) => part.bytes(),
            Self::First(part) => [Growing::head(), &part.bytes()].concat().into(),
        }
    }
}

impl Events {
    pub(super) fn new(encoding: Encoding) -> Self {
        // A stream is long, whatever it begins with.
        if encoding == Encoding::Identity { Self::Plain } else { Self::Gzip(Growing::default()) }
    }

    pub(super) const fn encoding(&self) -> Encoding {
        match self {
            Self::Plain => Encoding::Identity,
            Self::Gzip(_) => Encoding::GzipAlways,
        }
    }

    /// The first event.
    pub(super) fn beginning(&self) -> Event {
        match self.short(RETRY) {
            Event::Gzip(part) => Event::First(part),
            plain => plain,
        }
    }

    /// The event that nothing is new.
    pub(super) fn same(&self) -> Event {
        self.short(SAME)
    }

    fn short(&self, text: &'static [u8]) -> Event {
        let text = Bytes::from_static(text);
        match self {
            Self::Plain => Event::Plain(text),
            Self::Gzip(_) => Event::Gzip(Part::stored(text)),
        }
    }

    /// Notes that an event was sent.
    pub(super) fn sent(&mut self, event: &Event) {
        if let (Self::Gzip(growing), Event::Gzip(part) | Event::First(part)) = (self, event) {
            growing.grew(part);
        }
    }

    /// What the stream ends with, if anything.
    pub(super) fn end(&self) -> Option<Bytes> {
        match self {
            Self::Plain => None,
            Self::Gzip(growing) => Some(growing.end()),
        }
    }
}

/// The event that the page is now this; nothing, if it could not be compressed.
pub(super) fn page(main: &str, encoding: Encoding) -> Option<Event> {
    let text = lines(main);
    if encoding == Encoding::Identity {
        return Some(Event::Plain(text));
    }
    let part = Compressor::new().part(&[text]);
    part.inspect_err(|error| tracing::error!(%error, "the page could not be compressed")).ok().map(Event::Gzip)
}

/// An event of which each line is one of `text`.
fn lines(text: &str) -> Bytes {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::page::{Looked, Now, View, main};
    use crate::expose::sample;
    use crate::history::History;

    #[test]
    fn a_hundred_rows_are_sent_as_a_tenth_of_what_they_are() {
        let (snapshot, history) = (sample::many(100), History::default());
        let looks = [Looked { snapshot: &snapshot, history: &history, at: sample::now().monotonic, unanswered: None }];
        let Now { unix_seconds, monotonic } = sample::now();
        let main = main(&View::list(""), &looks, Now { unix_seconds, monotonic }).unwrap();
        let bytes = |encoding| page(&main, encoding).unwrap().bytes().len();
        let (plain, packed) = (bytes(Encoding::Identity), bytes(Encoding::GzipAlways));
        assert!(plain > 50_000 && packed * 10 < plain, "{packed} of {plain}");
    }
}
