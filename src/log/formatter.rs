//! Formats an event as a line, with the keys that Prometheus uses (`ts`, `level`, `msg`), then the fields of the event.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use tracing::Event;
use tracing::field::{Field, Visit};

use super::Format;
use super::escape::Escaped;

/// A formatted event, without the end of the line.
#[derive(Debug)]
pub(super) struct Line {
    format: Format,
    timestamp: String,
    /// Everything after the timestamp.
    pairs: String,
    keys: Vec<String>,
    /// The value of the field `source`, or empty.
    pub(super) source: String,
}

impl Line {
    pub(super) fn new(event: &Event<'_>, format: Format, unix_seconds: f64) -> Self {
        let since_epoch = Duration::try_from_secs_f64(unix_seconds).unwrap_or_default();
        let time = humantime::format_rfc3339_millis(UNIX_EPOCH.checked_add(since_epoch).unwrap_or(UNIX_EPOCH));
        let timestamp = match format {
            Format::Logfmt => format!("ts={time}"),
            Format::Json => format!("{{\"ts\":\"{time}\""),
        };
        let mut line =
            Self { format, timestamp, pairs: String::with_capacity(256), keys: Vec::new(), source: String::new() };
        line.push("level", &Escaped::new(event.metadata().level().as_str().to_lowercase()));
        // The macros of `tracing` record the message before the fields.
        event.record(&mut line);
        line
    }

    /// The whole line, with the number of lines left out by the filter and of lines that could not be written.
    pub(super) fn to_text(&self, suppressed: u64, lost: u64) -> String {
        let mut line = format!("{}{}", self.timestamp, self.pairs);
        for (key, count) in [("suppressed", suppressed), ("lost", lost)] {
            if count > 0 {
                begin_pair(&mut line, self.format, key);
                line.push_str(&count.to_string());
            }
        }
        line.push_str(match self.format {
            Format::Logfmt => "\n",
            Format::Json => "}\n",
        });
        line
    }

    fn push(&mut self, key: &str, value: &Escaped) {
        begin_pair(&mut self.pairs, self.format, key);
        value.append_to(&mut self.pairs, self.format);
    }

    /// The key of a field. Underscores make it unique, because parsers may keep only one value per key.
    fn unique_key(&mut self, field: &Field) -> String {
        let name = field.name();
        let letters = name.strip_prefix("r#").unwrap_or(name).chars().take(100);
        let mut key: String =
            letters.map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' }).collect();
        while matches!(&*key, "" | "ts" | "level" | "msg" | "suppressed" | "lost") || self.keys.contains(&key) {
            key.push('_');
        }
        self.keys.push(key.clone());
        key
    }

    /// Appends a number or a boolean, which needs no quotes.
    fn push_unquoted(&mut self, field: &Field, value: impl fmt::Display) {
        let key = self.unique_key(field);
        begin_pair(&mut self.pairs, self.format, &key);
        self.pairs.push_str(&value.to_string());
    }
}

/// Ignores the timestamp, so that repeated events have the same hash.
impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pairs.hash(state);
    }
}

/// Appends the separator and the key of a pair. The timestamp always comes before it.
fn begin_pair(line: &mut String, format: Format, key: &str) {
    let (before, after) = match format {
        Format::Logfmt => (" ", "="),
        Format::Json => (",\"", "\":"),
    };
    line.extend([before, key, after]);
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = Escaped::new(format_args!("{value:?}"));
        if field.name() == "source" {
            value.as_str().clone_into(&mut self.source);
        }
        let key = if field.name() == "message" { "msg".to_owned() } else { self.unique_key(field) };
        self.push(&key, &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push_unquoted(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push_unquoted(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push_unquoted(field, value);
    }
}
