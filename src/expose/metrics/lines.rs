//! Sample lines: the text of one family for one lease or one source, and the values that it is made of.

use super::FamilyRenderer;
use crate::expose::catalogue::{LeaseSamples, SourceSamples, holders};
use crate::lease::{SourceSnapshot, Status};

/// The end of the labels of a line that has no label of its own.
const TAIL: &[u8] = b"} ";

/// The longest that a number and the end of its line can be.
const LONGEST_NUMBER: usize = 26;

impl FamilyRenderer<LeaseSamples> {
    /// Writes the lines of one lease, whose labels are given without the closing brace.
    pub(super) fn write(&self, out: &mut Vec<u8>, labels: &[u8], status: &Status) {
        let mut lines = Lines { out, name: self.name.as_bytes(), labels };
        match self.samples {
            LeaseSamples::StateSet(_, current) => {
                let current = current(status);
                for (at, tail) in self.tails.iter().enumerate() {
                    lines.integer(tail, u64::from(at == current));
                }
            }
            LeaseSamples::LabelEnum(_, _, told) => lines.integer(&self.tails[told(status)], 1),
            LeaseSamples::HolderTokens => {
                for token in holders(status) {
                    lines.labelled("holder", token.as_str());
                }
            }
            LeaseSamples::EnabledAlerts => {
                for alert in status.policy.alerts.iter() {
                    lines.labelled("alert", alert.as_str());
                }
            }
            LeaseSamples::Float(value) => {
                if let Some(value) = value(status) {
                    lines.float(value);
                }
            }
            LeaseSamples::Integer(value) => {
                if let Some(value) = value(status) {
                    lines.integer(TAIL, value);
                }
            }
            LeaseSamples::Counters(_, _, count) => {
                for (at, tail) in self.tails.iter().enumerate() {
                    lines.integer(tail, count(status, at));
                }
            }
        }
    }

    /// Adds all that the lines of one lease say beside its labels, unambiguously: two leases with the same bytes here
    /// have the same lines.
    pub(super) fn encode(&self, values: &mut Vec<u8>, status: &Status) {
        match self.samples {
            LeaseSamples::StateSet(_, index) | LeaseSamples::LabelEnum(_, _, index) => {
                values.extend_from_slice(&index(status).to_ne_bytes());
            }
            LeaseSamples::HolderTokens => {
                for token in holders(status) {
                    values.extend_from_slice(token.as_str().as_bytes());
                }
                values.push(b'\n');
            }
            LeaseSamples::EnabledAlerts => {
                for alert in status.policy.alerts.iter() {
                    values.extend_from_slice(alert.as_str().as_bytes());
                    values.push(b',');
                }
                values.push(b'\n');
            }
            LeaseSamples::Float(value) => encode(values, value(status).map(f64::to_bits)),
            LeaseSamples::Integer(value) => encode(values, value(status)),
            LeaseSamples::Counters(_, labels, count) => {
                for at in 0..labels.len() {
                    values.extend_from_slice(&count(status, at).to_ne_bytes());
                }
            }
        }
    }
}

fn encode(values: &mut Vec<u8>, value: Option<u64>) {
    match value {
        None => values.push(0),
        Some(value) => {
            values.push(1);
            values.extend_from_slice(&value.to_ne_bytes());
        }
    }
}

impl FamilyRenderer<SourceSamples> {
    /// Writes the lines of one source, whose labels are given without the closing brace.
    pub(super) fn write(&self, out: &mut Vec<u8>, labels: &[u8], snapshot: &SourceSnapshot) {
        let mut lines = Lines { out, name: self.name.as_bytes(), labels };
        match self.samples {
            SourceSamples::Float(value) => {
                if let Some(value) = value(&snapshot.health) {
                    lines.float(value);
                }
            }
            SourceSamples::Integer(value) => {
                if let Some(value) = value(&snapshot.health) {
                    lines.integer(TAIL, value);
                }
            }
            SourceSamples::LabelEnum(_, _, told) => lines.integer(&self.tails[told(snapshot)], 1),
            SourceSamples::Counters(_, _, count) => {
                for (at, tail) in self.tails.iter().enumerate() {
                    lines.integer(tail, count(&snapshot.health, at));
                }
            }
        }
    }
}

/// Sample lines of one family with the same labels.
struct Lines<'a> {
    out: &'a mut Vec<u8>,
    name: &'static [u8],
    labels: &'a [u8],
}

impl Lines<'_> {
    #[inline]
    fn integer(&mut self, tail: &[u8], value: u64) {
        self.start(tail, LONGEST_NUMBER);
        match u8::try_from(value) {
            Ok(digit @ 0..10) => self.out.push(b'0' + digit),
            _ => self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        }
        self.out.push(b'\n');
    }

    #[inline]
    fn float(&mut self, value: f64) {
        self.start(TAIL, LONGEST_NUMBER);
        // Every number here is finite: ages and times come from whole microseconds.
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value);
        self.out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        self.out.push(b'\n');
    }

    /// A line that is 1 for a label whose value is the exporter's own and needs no escaping.
    fn labelled(&mut self, label: &str, value: &str) {
        let rest = [label, "=\"", value, "\"} 1\n"];
        self.start(b",", rest.iter().map(|part| part.len()).sum());
        for part in rest {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// Writes the name and the labels, after making room for the whole line at once.
    #[inline]
    fn start(&mut self, tail: &[u8], rest: usize) {
        self.out.reserve(self.name.len() + self.labels.len() + tail.len() + rest);
        self.out.extend_from_slice(self.name);
        self.out.extend_from_slice(self.labels);
        self.out.extend_from_slice(tail);
    }
}
