//! One event as a line.

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use super::Format;
use super::text::Text;

/// What an event says, and when it was.
#[derive(Debug)]
pub(super) struct Line {
    unix_seconds: f64,
    level: &'static str,
    message: Text,
    fields: Vec<(String, Value)>,
}

#[derive(Debug, Hash)]
enum Value {
    Text(Text),
    /// A number or a truth value, which needs no quotes.
    Bare(String),
}

impl Line {
    /// The line of an event.
    pub(super) fn of(event: &Event<'_>, unix_seconds: f64) -> Self {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let mut line = Self { unix_seconds, level, message: Text::default(), fields: Vec::new() };
        event.record(&mut line);
        line
    }

    /// What it says under a name, if that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.iter().find_map(|(key, value)| match value {
            Value::Text(text) if key == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// Adds a field; under another name if there is one of this already, because a reader may keep but one.
    fn push(&mut self, name: &str, value: Value) {
        let letters = name.strip_prefix("r#").unwrap_or(name).chars().take(100);
        let mut key: String =
            letters.map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' }).collect();
        let taken = |key: &str| {
            matches!(key, "" | "ts" | "level" | "msg" | "suppressed" | "lost")
                || self.fields.iter().any(|(other, _)| other == key)
        };
        while taken(&key) {
            key.push('_');
        }
        self.fields.push((key, value));
    }

    /// The whole line, how many others were left out since the last, and how many nobody read.
    pub(super) fn written(&self, format: Format, suppressed: u64, lost: u64) -> String {
        let mut line = Pairs { format, written: String::with_capacity(256) };
        let since = Duration::try_from_secs_f64(self.unix_seconds).unwrap_or_default();
        let at = UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
        line.text("ts", &Text::of(humantime::format_rfc3339_millis(at)));
        line.text("level", &Text::of(self.level));
        line.text("msg", &self.message);
        for (key, value) in &self.fields {
            match value {
                Value::Text(text) => line.text(key, text),
                Value::Bare(bare) => line.bare(key, bare),
            }
        }
        for (key, count) in [("suppressed", suppressed), ("lost", lost)] {
            if count > 0 {
                line.bare(key, &count.to_string());
            }
        }
        line.end()
    }
}

/// Keys and values, in one of the formats.
struct Pairs {
    format: Format,
    written: String,
}

impl Pairs {
    fn text(&mut self, key: &str, value: &Text) {
        self.key(key);
        match self.format {
            Format::Logfmt => value.quote_if_need_be(&mut self.written),
            Format::Json => value.quote(&mut self.written),
        }
    }

    fn bare(&mut self, key: &str, value: &str) {
        self.key(key);
        self.written.push_str(value);
    }

    fn key(&mut self, key: &str) {
        let before = match (self.format, self.written.is_empty()) {
            (Format::Logfmt, true) => "",
            (Format::Logfmt, false) => " ",
            (Format::Json, true) => "{\"",
            (Format::Json, false) => ",\"",
        };
        let after = match self.format {
            Format::Logfmt => "=",
            Format::Json => "\":",
        };
        for part in [before, key, after] {
            self.written.push_str(part);
        }
    }

    fn end(mut self) -> String {
        self.written.push_str(match self.format {
            Format::Logfmt => "\n",
            Format::Json => "}\n",
        });
        self.written
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = Text::of(format_args!("{value:?}"));
        match field.name() {
            "message" => self.message = text,
            name => self.push(name, Value::Text(text)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field.name(), Value::Bare(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field.name(), Value::Bare(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field.name(), Value::Bare(value.to_string()));
    }
}

/// Two events that say the same are the same, whenever they were.
impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.level, &self.message, &self.fields).hash(state);
    }
}
