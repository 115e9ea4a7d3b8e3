//! The metrics: one reading of one source rendered once, for both text formats.
//!
//! Each family has a text of its own, so that several sources are joined family by family without copying. A lease's
//! labels are escaped once, numbers are printed without allocating, and the texts' pieces are used again for the next
//! reading as soon as no scrape holds them.

mod joined;

use std::sync::Arc;

use bytes::Bytes;

use super::Format;
use super::catalogue::{CATALOGUE, Family, OfLease, OfSource, Samples, holders};
use super::pieces::{Pieces, Spare};
use crate::lease::{SourceSnapshot, Status};

pub use joined::{Compressed, gzip};

/// The families that are exposed, with all of their text that is the same for every reading.
#[derive(Clone, Debug)]
pub struct Exposition {
    families: Arc<[Exposed]>,
}

#[derive(Debug)]
struct Exposed {
    family: &'static Family,
    /// The lines that say what it is, in each format.
    headers: [Bytes; Format::ALL.len()],
    /// What ends the labels of a line: for each value of a closed set, with that label.
    tails: Box<[Box<[u8]>]>,
}

/// What ends the labels of a line that has none of its own.
const TAIL: &[u8] = b"} ";

/// One reading of one source, rendered: the lines of each family of the exposition.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    families: Box<[Vec<Bytes>]>,
}

impl Exposition {
    /// All families of the catalogue but those whose names are `dropped`.
    pub fn without(dropped: impl Fn(&str) -> bool) -> Self {
        let families = CATALOGUE.iter().filter(|family| !dropped(family.name));
        Self { families: families.map(Exposed::new).collect() }
    }
}

impl Exposed {
    fn new(family: &'static Family) -> Self {
        let (label, values) = match family.samples {
            Samples::Lease(OfLease::StateSet(values, _)) => ("state", values),
            Samples::Lease(OfLease::Told(label, values, _) | OfLease::Counters(label, values, _)) => (label, values),
            Samples::Source(OfSource::Told(label, values, _) | OfSource::Counters(label, values, _)) => (label, values),
            Samples::Lease(OfLease::Holders | OfLease::Alerts | OfLease::Float(_) | OfLease::Integer(_))
            | Samples::Source(OfSource::Float(_) | OfSource::Integer(_)) => ("", &[][..]),
        };
        let tail = |value: &&str| format!(",{label}=\"{value}\"}} ").into_bytes().into_boxed_slice();
        Self {
            family,
            headers: Format::ALL.map(|format| family.description().header(format).into()),
            tails: values.iter().map(tail).collect(),
        }
    }

    const fn header(&self, format: Format) -> &Bytes {
        &self.headers[format as usize]
    }
}

/// Renders one source, again and again.
#[derive(Debug)]
pub struct Renderer {
    exposition: Exposition,
    texts: Vec<Pieces>,
    spare: Spare,
    labels: Labels,
}

/// So many leases go through all families before the next ones do: few enough to stay in a core's own cache.
const BLOCK: usize = 256;

impl Renderer {
    /// A renderer of these families.
    #[must_use]
    pub fn new(exposition: Exposition) -> Self {
        let texts = exposition.families.iter().map(|_| Pieces::default()).collect();
        Self { exposition, texts, spare: Spare::default(), labels: Labels::default() }
    }

    /// Takes back the pieces of a reading that is no longer served, those that no scrape still holds.
    pub fn take_back(&mut self, rendered: Rendered) {
        for (text, pieces) in self.texts.iter_mut().zip(rendered.families) {
            text.take_back(pieces, &mut self.spare);
        }
    }

    /// Renders one reading.
    pub fn render(&mut self, snapshot: &SourceSnapshot) -> Rendered {
        self.labels.of(snapshot);
        let families = &*self.exposition.families;
        for (block, leases) in snapshot.leases.chunks(BLOCK).enumerate() {
            for (exposed, text) in families.iter().zip(&mut self.texts) {
                let Samples::Lease(samples) = &exposed.family.samples else { continue };
                let mut lines = Lines { text, spare: &mut self.spare, name: exposed.family.name.as_bytes() };
                for (at, status) in leases.iter().enumerate() {
                    of_lease(&mut lines, self.labels.lease(block * BLOCK + at), samples, &exposed.tails, status);
                }
            }
        }
        for (exposed, text) in families.iter().zip(&mut self.texts) {
            let Samples::Source(samples) = &exposed.family.samples else { continue };
            let mut lines = Lines { text, spare: &mut self.spare, name: exposed.family.name.as_bytes() };
            of_source(&mut lines, self.labels.source(), samples, &exposed.tails, snapshot);
        }
        // What is spare now was for a larger reading than this.
        self.spare = Spare::default();
        Rendered { families: self.texts.iter_mut().map(|text| std::mem::take(text).finish()).collect() }
    }
}

fn of_lease(lines: &mut Lines<'_>, labels: &[u8], samples: &OfLease, tails: &[Box<[u8]>], status: &Status) {
    match samples {
        OfLease::StateSet(_, current) => {
            let current = current(status);
            for (at, tail) in tails.iter().enumerate() {
                lines.integer(labels, tail, u64::from(at == current));
            }
        }
        OfLease::Told(_, _, told) => lines.integer(labels, &tails[told(status)], 1),
        OfLease::Holders => {
            for token in holders(status) {
                lines.labelled(labels, "holder", token.as_str());
            }
        }
        OfLease::Alerts => {
            for alert in status.policy.alerts.iter() {
                lines.labelled(labels, "alert", alert.as_str());
            }
        }
        OfLease::Float(value) => {
            if let Some(value) = value(status) {
                lines.float(labels, value);
            }
        }
        OfLease::Integer(value) => {
            if let Some(value) = value(status) {
                lines.integer(labels, TAIL, value);
            }
        }
        OfLease::Counters(_, _, count) => {
            for (at, tail) in tails.iter().enumerate() {
                lines.integer(labels, tail, count(status, at));
            }
        }
    }
}

fn of_source(lines: &mut Lines<'_>, labels: &[u8], samples: &OfSource, tails: &[Box<[u8]>], snapshot: &SourceSnapshot) {
    match samples {
        OfSource::Float(value) => {
            if let Some(value) = value(&snapshot.health) {
                lines.float(labels, value);
            }
        }
        OfSource::Integer(value) => {
            if let Some(value) = value(&snapshot.health) {
                lines.integer(labels, TAIL, value);
            }
        }
        OfSource::Told(_, _, told) => lines.integer(labels, &tails[told(snapshot)], 1),
        OfSource::Counters(_, _, count) => {
            for (at, tail) in tails.iter().enumerate() {
                lines.integer(labels, tail, count(&snapshot.health, at));
            }
        }
    }
}

/// Sample lines of one family.
struct Lines<'a> {
    text: &'a mut Pieces,
    spare: &'a mut Spare,
    name: &'static [u8],
}

impl Lines<'_> {
    #[inline]
    fn integer(&mut self, labels: &[u8], tail: &[u8], value: u64) {
        let out = self.start(labels, tail, LONGEST_NUMBER);
        match u8::try_from(value) {
            Ok(digit @ 0..10) => out.push(b'0' + digit),
            _ => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        }
        out.push(b'\n');
    }

    #[inline]
    fn float(&mut self, labels: &[u8], value: f64) {
        let out = self.start(labels, TAIL, LONGEST_NUMBER);
        // Every number here is finite: ages and times come from whole microseconds.
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value);
        out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        out.push(b'\n');
    }

    /// A line that is 1 for a label whose value is ours and needs no escaping.
    fn labelled(&mut self, labels: &[u8], label: &str, value: &str) {
        let rest = [label, "=\"", value, "\"} 1\n"];
        let out = self.start(labels, b",", rest.iter().map(|part| part.len()).sum());
        for part in rest {
            out.extend_from_slice(part.as_bytes());
        }
    }

    /// Everything up to what is its own, after making room for the whole line at once.
    #[inline]
    fn start(&mut self, labels: &[u8], tail: &[u8], rest: usize) -> &mut Vec<u8> {
        let out = self.text.room(self.name.len() + labels.len() + tail.len() + rest, self.spare);
        out.extend_from_slice(self.name);
        out.extend_from_slice(labels);
        out.extend_from_slice(tail);
        out
    }
}

/// The longest that a number and the end of its line can be.
const LONGEST_NUMBER: usize = 26;

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

#[cfg(test)]
mod tests;
