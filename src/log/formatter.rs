//! One event as a line, with the keys of Prometheus: `ts`, `level`, `msg`, and then the event's own.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use super::Format;
use super::escape::Escaped;

/// An event as it is written, but for its end.
#[derive(Debug)]
pub(super) struct Line {
    format: Format,
    timestamp: String,
    /// Everything after the timestamp.
    pairs: String,
    /// The event's field `source`; empty if it has none.
    pub(super) source: String,
}

impl Line {
    pub(super) fn of(event: &Event<'_>, format: Format, unix_seconds: f64) -> Self {
        let mut fields = Fields {
            format,
            pairs: String::new(),
            message: Escaped::default(),
            keys: Vec::new(),
            source: String::new(),
        };
        event.record(&mut fields);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let mut pairs = String::with_capacity(256);
        for (key, value) in [("level", &Escaped::of(level)), ("msg", &fields.message)] {
            begin_pair(&mut pairs, format, key);
            value.append_to(&mut pairs, format);
        }
        pairs.push_str(&fields.pairs);
        let since = Duration::try_from_secs_f64(unix_seconds).unwrap_or_default();
        let at = humantime::format_rfc3339_millis(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH));
        let timestamp = match format {
            Format::Logfmt => format!("ts={at}"),
            Format::Json => format!("{{\"ts\":\"{at}\""),
        };
        Self { format, timestamp, pairs, source: fields.source }
    }

    /// The whole line, with how many others were left out since the last, and how many could not be written.
    pub(super) fn written(&self, suppressed: u64, lost: u64) -> String {
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
}

/// Two events that say the same are the same, whenever they were.
impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pairs.hash(state);
    }
}

/// Writes what comes before a value that is not the first of its line.
fn begin_pair(line: &mut String, format: Format, key: &str) {
    let (before, after) = match format {
        Format::Logfmt => (" ", "="),
        Format::Json => (",\"", "\":"),
    };
    line.extend([before, key, after]);
}

/// The fields of an event, as they come.
struct Fields {
    format: Format,
    pairs: String,
    message: Escaped,
    keys: Vec<String>,
    source: String,
}

impl Fields {
    /// Begins a pair; under another key if there is one of this already, because a reader may keep but one.
    fn begin(&mut self, field: &Field) {
        let name = field.name();
        let letters = name.strip_prefix("r#").unwrap_or(name).chars().take(100);
        let mut key: String =
            letters.map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' }).collect();
        while matches!(&*key, "" | "ts" | "level" | "msg" | "suppressed" | "lost") || self.keys.contains(&key) {
            key.push('_');
        }
        begin_pair(&mut self.pairs, self.format, &key);
        self.keys.push(key);
    }

    /// A number or a truth value, which needs no quotes.
    fn bare(&mut self, field: &Field, value: impl fmt::Display) {
        self.begin(field);
        self.pairs.push_str(&value.to_string());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = Escaped::of(format_args!("{value:?}"));
        match field.name() {
            "message" => self.message = value,
            name => {
                self.begin(field);
                value.append_to(&mut self.pairs, self.format);
                if name == "source" {
                    value.as_str().clone_into(&mut self.source);
                }
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }
}
