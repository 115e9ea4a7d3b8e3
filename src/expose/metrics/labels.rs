//! The labels of a source and of its leases, escaped once for each reading.

use std::ops::Range;

use crate::lease::SourceSnapshot;

/// The texts `{source="…"` and, for each lease, `{source="…",lease="…"`, without closing braces, one after another.
#[derive(Debug)]
pub(super) struct Labels {
    text: Vec<u8>,
    /// The end of the text of the source, followed by the end of the text of each lease.
    ends: Vec<usize>,
}

impl Labels {
    pub(super) fn of(snapshot: &SourceSnapshot) -> Self {
        let mut text = Vec::new();
        text.extend_from_slice(b"{source=\"");
        escape(&mut text, &snapshot.source);
        text.push(b'"');
        let source = text.len();
        let names: usize = snapshot.leases.iter().map(|status| status.lease.len()).sum();
        text.reserve_exact(names + snapshot.leases.len() * (source + b",lease=\"\"".len()));
        let mut ends = Vec::with_capacity(1 + snapshot.leases.len());
        ends.push(source);
        for status in &snapshot.leases {
            text.extend_from_within(..source);
            text.extend_from_slice(b",lease=\"");
            escape(&mut text, &status.lease);
            text.push(b'"');
            ends.push(text.len());
        }
        Self { text, ends }
    }

    pub(super) fn source(&self) -> &[u8] {
        &self.text[..self.ends[0]]
    }

    pub(super) fn lease(&self, at: usize) -> &[u8] {
        &self.text[self.ends[at]..self.ends[at + 1]]
    }

    pub(super) fn leases(&self, range: &Range<usize>) -> &[u8] {
        &self.text[self.ends[range.start]..self.ends[range.end]]
    }
}

/// Escapes a label value: backslash, double quote and line feed.
fn escape(out: &mut Vec<u8>, value: &str) {
    if !value.bytes().any(|byte| matches!(byte, b'\\' | b'"' | b'\n')) {
        return out.extend_from_slice(value.as_bytes());
    }
    for byte in value.bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(byte),
        }
    }
}
