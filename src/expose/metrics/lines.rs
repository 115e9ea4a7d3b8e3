//! The sample lines of one family for one lease or one source.

use super::FamilyRenderer;
use crate::expose::catalogue::Samples;

/// The end of the labels of a sample that has no label beside `source` and `lease`.
const LABELS_END: &[u8] = b"} ";

/// The longest text of a number with its line feed.
const MAX_NUMBER_LEN: usize = 26;

impl<T> FamilyRenderer<T> {
    /// Writes the lines of one lease or source. `labels` is their common text, without the closing brace.
    pub(super) fn write(&self, out: &mut Vec<u8>, labels: &[u8], subject: &T) {
        let mut lines = Lines { out, name: self.name.as_bytes(), labels };
        match self.samples {
            Samples::StateSet(_, _, current) => {
                let current = current(subject);
                for (at, label) in self.label_values.iter().enumerate() {
                    lines.integer(label, u64::from(at == current));
                }
            }
            Samples::LabelEnum(_, _, current) => lines.integer(&self.label_values[current(subject)], 1),
            Samples::Counters(_, _, count) => {
                for (at, label) in self.label_values.iter().enumerate() {
                    lines.integer(label, count(subject, at));
                }
            }
            Samples::LabelValues(label, values) => values(subject, &mut |value| lines.label_value(label, value)),
            Samples::Float(value) => {
                if let Some(value) = value(subject) {
                    lines.float(value);
                }
            }
            Samples::Integer(value) => {
                if let Some(value) = value(subject) {
                    lines.integer(LABELS_END, value);
                }
            }
        }
    }

    /// Appends the values from which [`Self::write`] makes the lines. Equal bytes mean equal lines, apart from the common
    /// labels.
    pub(super) fn write_values(&self, out: &mut Vec<u8>, subject: &T) {
        match self.samples {
            Samples::StateSet(_, _, index) | Samples::LabelEnum(_, _, index) => {
                out.extend_from_slice(&index(subject).to_ne_bytes());
            }
            Samples::Counters(_, values, count) => {
                for at in 0..values.len() {
                    out.extend_from_slice(&count(subject, at).to_ne_bytes());
                }
            }
            Samples::LabelValues(_, values) => {
                values(subject, &mut |value| {
                    out.extend_from_slice(value.as_bytes());
                    out.push(b',');
                });
                out.push(b'\n');
            }
            Samples::Float(value) => write_optional(out, value(subject).map(f64::to_bits)),
            Samples::Integer(value) => write_optional(out, value(subject)),
        }
    }
}

fn write_optional(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        out.extend_from_slice(&value.to_ne_bytes());
    }
}

/// Writes sample lines with one name and the same common labels.
struct Lines<'a> {
    out: &'a mut Vec<u8>,
    name: &'static [u8],
    labels: &'a [u8],
}

impl Lines<'_> {
    #[inline]
    fn integer(&mut self, label: &[u8], value: u64) {
        self.start(label, MAX_NUMBER_LEN);
        match u8::try_from(value) {
            Ok(digit @ 0..10) => self.out.push(b'0' + digit),
            _ => self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        }
        self.out.push(b'\n');
    }

    #[inline]
    fn float(&mut self, value: f64) {
        self.start(LABELS_END, MAX_NUMBER_LEN);
        // Ages and times are made from integer microseconds, so every value is finite.
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value);
        self.out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        self.out.push(b'\n');
    }

    /// A sample of value 1 with a label value that needs no escaping.
    fn label_value(&mut self, label: &str, value: &str) {
        let rest = [label, "=\"", value, "\"} 1\n"];
        self.start(b",", rest.iter().map(|part| part.len()).sum());
        for part in rest {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// Writes the name and the labels. Reserves the whole line first, so that the buffer grows at most once a line.
    #[inline]
    fn start(&mut self, label: &[u8], rest: usize) {
        self.out.reserve(self.name.len() + self.labels.len() + label.len() + rest);
        self.out.extend_from_slice(self.name);
        self.out.extend_from_slice(self.labels);
        self.out.extend_from_slice(label);
    }
}
