//! The metrics: one reading of one source rendered once, as Prometheus text format 0.0.4.
//!
//! Each family is one stretch of one buffer, so that several sources are joined family by family without copying. A
//! lease's labels are escaped once, numbers are printed without allocating, and the buffer is used again for the next
//! reading as soon as no scrape holds it.

use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::catalogue::{CATALOGUE, Family, OfLease, OfSource, Samples, holders};
use crate::lease::{SourceSnapshot, Status};

/// The content type of this format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The families that are exposed, each with its header.
#[derive(Clone, Debug)]
pub struct Exposition {
    families: Arc<[(&'static Family, Bytes)]>,
}

/// One reading of one source, rendered.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    text: Bytes,
    /// Where each family of the exposition lies in it.
    families: Box<[Range<usize>]>,
}

impl Exposition {
    /// All families of the catalogue but those whose names are `dropped`.
    pub fn without(dropped: impl Fn(&str) -> bool) -> Self {
        let families = CATALOGUE.iter().filter(|family| !dropped(family.name));
        Self { families: families.map(|family| (family, header(family))).collect() }
    }

    /// Several sources joined, family by family. No text is copied.
    #[must_use]
    pub fn joined(&self, sources: &[&Rendered]) -> Vec<Bytes> {
        let mut chunks = Vec::with_capacity(self.families.len() * (1 + sources.len()));
        for (at, (_, header)) in self.families.iter().enumerate() {
            let mut headed = false;
            for source in sources {
                let Some(range) = source.families.get(at).filter(|range| !range.is_empty()) else { continue };
                if !std::mem::replace(&mut headed, true) {
                    chunks.push(header.clone());
                }
                chunks.push(source.text.slice(range.clone()));
            }
        }
        chunks
    }
}

fn header(family: &Family) -> Bytes {
    let mut text = BytesMut::new();
    text.put_slice(b"# HELP ");
    text.put_slice(family.name.as_bytes());
    text.put_u8(b' ');
    for byte in family.help.bytes() {
        match byte {
            b'\\' => text.put_slice(b"\\\\"),
            b'\n' => text.put_slice(b"\\n"),
            _ => text.put_u8(byte),
        }
    }
    text.put_slice(b"\n# TYPE ");
    text.put_slice(family.name.as_bytes());
    text.put_u8(b' ');
    text.put_slice(family.kind().as_bytes());
    text.put_u8(b'\n');
    text.freeze()
}

/// Renders one source, again and again.
#[derive(Debug)]
pub struct Renderer {
    exposition: Exposition,
    buffer: BytesMut,
    labels: Labels,
}

impl Renderer {
    /// A renderer of these families.
    #[must_use]
    pub fn new(exposition: Exposition) -> Self {
        Self { exposition, buffer: BytesMut::new(), labels: Labels::default() }
    }

    /// Takes back the buffer of a reading that is no longer served, if no scrape still holds it.
    pub fn take_back(&mut self, rendered: Rendered) {
        if let Ok(mut buffer) = rendered.text.try_into_mut() {
            buffer.clear();
            self.buffer = buffer;
        }
    }

    /// Renders one reading.
    pub fn render(&mut self, snapshot: &SourceSnapshot) -> Rendered {
        let mut out = std::mem::take(&mut self.buffer);
        self.labels.of(snapshot);
        let families = self.exposition.families.iter().map(|(family, _)| {
            let start = out.len();
            let mut lines = Lines { out: &mut out, name: family.name };
            match &family.samples {
                Samples::Lease(samples) => {
                    for (at, status) in snapshot.leases.iter().enumerate() {
                        of_lease(&mut lines, self.labels.lease(at), samples, status);
                    }
                }
                Samples::Source(samples) => of_source(&mut lines, self.labels.source(), samples, snapshot),
            }
            start..out.len()
        });
        let families = families.collect();
        Rendered { text: out.freeze(), families }
    }
}

fn of_lease(lines: &mut Lines<'_>, labels: &[u8], samples: &OfLease, status: &Status) {
    match samples {
        OfLease::StateSet(values, current) => {
            let current = current(status);
            for (at, value) in values.iter().enumerate() {
                lines.integer(labels, Some(("state", value)), u64::from(at == current));
            }
        }
        OfLease::Told(label, value) => lines.integer(labels, Some((label, value(status))), 1),
        OfLease::Holders => {
            for token in holders(status) {
                lines.integer(labels, Some(("holder", token.as_str())), 1);
            }
        }
        OfLease::Alerts => {
            for alert in status.policy.alerts.iter() {
                lines.integer(labels, Some(("alert", alert.as_str())), 1);
            }
        }
        OfLease::Float(value) => {
            if let Some(value) = value(status) {
                lines.float(labels, value);
            }
        }
        OfLease::Integer(value) => {
            if let Some(value) = value(status) {
                lines.integer(labels, None, value);
            }
        }
        OfLease::Counters(label, values, count) => {
            for (at, value) in values.iter().enumerate() {
                lines.integer(labels, Some((label, value)), count(status, at));
            }
        }
    }
}

fn of_source(lines: &mut Lines<'_>, labels: &[u8], samples: &OfSource, snapshot: &SourceSnapshot) {
    match samples {
        OfSource::Float(value) => {
            if let Some(value) = value(&snapshot.health) {
                lines.float(labels, value);
            }
        }
        OfSource::Integer(value) => {
            if let Some(value) = value(&snapshot.health) {
                lines.integer(labels, None, value);
            }
        }
        OfSource::Counters(label, values, count) => {
            for (at, value) in values.iter().enumerate() {
                lines.integer(labels, Some((label, value)), count(&snapshot.health, at));
            }
        }
    }
}

/// Sample lines of one family. Label names, and the values given with them, are our own and need no escaping.
struct Lines<'a> {
    out: &'a mut BytesMut,
    name: &'static str,
}

impl Lines<'_> {
    #[inline]
    fn integer(&mut self, labels: &[u8], extra: Option<(&str, &str)>, value: u64) {
        self.start(labels, extra, 20);
        if value < 10 {
            self.out.put_u8(b'0' + value as u8);
        } else {
            self.out.put_slice(itoa::Buffer::new().format(value).as_bytes());
        }
        self.out.put_u8(b'\n');
    }

    #[inline]
    fn float(&mut self, labels: &[u8], value: f64) {
        self.start(labels, None, 24);
        // Every number here is finite: ages and times come from whole microseconds.
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value);
        self.out.put_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        self.out.put_u8(b'\n');
    }

    /// Everything up to the value, after making room for the whole line at once.
    #[inline]
    fn start(&mut self, labels: &[u8], extra: Option<(&str, &str)>, value: usize) {
        let more = extra.map_or(0, |(label, value)| label.len() + value.len() + 4);
        self.out.reserve(self.name.len() + labels.len() + more + value + 3);
        self.out.put_slice(self.name.as_bytes());
        self.out.put_slice(labels);
        if let Some((label, value)) = extra {
            self.out.put_u8(b',');
            self.out.put_slice(label.as_bytes());
            self.out.put_slice(b"=\"");
            self.out.put_slice(value.as_bytes());
            self.out.put_u8(b'"');
        }
        self.out.put_slice(b"} ");
    }
}

/// The labels of a source and of each of its leases, escaped once a reading, without the closing brace.
#[derive(Debug, Default)]
struct Labels {
    text: Vec<u8>,
    /// Where the source's labels end, then each lease's.
    ends: Vec<usize>,
}

impl Labels {
    fn of(&mut self, snapshot: &SourceSnapshot) {
        self.text.clear();
        self.ends.clear();
        self.text.extend_from_slice(b"{source=\"");
        escape(&mut self.text, &snapshot.source);
        self.text.push(b'"');
        let source = self.text.len();
        self.ends.push(source);
        for status in &snapshot.leases {
            self.text.extend_from_within(..source);
            self.text.extend_from_slice(b",lease=\"");
            escape(&mut self.text, &status.lease);
            self.text.push(b'"');
            self.ends.push(self.text.len());
        }
    }

    fn source(&self) -> &[u8] {
        &self.text[..self.ends[0]]
    }

    fn lease(&self, at: usize) -> &[u8] {
        &self.text[self.ends[at]..self.ends[at + 1]]
    }
}

/// Escapes a label value: backslash, double quote and line feed.
fn escape(out: &mut Vec<u8>, value: &str) {
    for byte in value.bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(byte),
        }
    }
}
