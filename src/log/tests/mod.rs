use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use proptest::prelude::*;
use tracing::{debug, error, info, warn};
use tracing_subscriber::layer::SubscriberExt;

use super::layer::LogLayer;
use super::{Format, Level, OPERATION, PERIOD};
use crate::expose::is_invisible;

mod reader;

/// A subscriber that logs to this writer.
pub(crate) fn to<W: Write + Send + 'static>(
    writer: W,
    level: Level,
    format: Format,
) -> impl tracing::Subscriber + Send + Sync {
    tracing_subscriber::registry().with(LogLayer::new(writer, level, format, PERIOD))
}

/// Sends each write to a channel.
struct ChannelWriter(Sender<String>);

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines written by a function.
fn written(level: Level, format: Format, act: impl FnOnce()) -> Vec<String> {
    let (sender, receiver) = channel();
    // Dropping the subscriber ends the channel.
    tracing::subscriber::with_default(to(ChannelWriter(sender), level, format), act);
    receiver.try_iter().collect()
}

fn line(format: Format, act: impl FnOnce()) -> String {
    let mut lines = written(Level::Debug, format, act);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

/// A text as it is parsed back from the log.
fn shown(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) && u32::from(c) > 0xffff { '\u{fffd}' } else { c }).collect()
}

fn of_json(line: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Logs a text in every kind of field.
fn log_text(text: &str) {
    let error = io::Error::other(text.to_owned());
    warn!(text, shown = %text, debug = ?text, error = &error as &dyn std::error::Error, "{text}");
}

fn holds_of_any_text(text: &str) {
    let expected = shown(text);
    let logfmt = line(Format::Logfmt, || log_text(text));
    let json = line(Format::Json, || log_text(text));
    for line in [&logfmt, &json] {
        assert_eq!(line.matches('\n').count(), 1);
        let body = line.strip_suffix('\n').unwrap();
        assert!(!body.chars().any(is_invisible), "{body:?}");
    }
    let pairs = reader::pairs(logfmt.trim_end_matches('\n')).unwrap_or_else(|error| panic!("{error}: {logfmt}"));
    let keys: Vec<_> = pairs.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["ts", "level", "msg", "text", "shown", "debug", "error"]);
    let object = of_json(&json);
    assert_eq!(object.len(), keys.len());
    for (key, value) in &pairs[1..] {
        assert_eq!(object[key], **value, "both formats say the same");
        match key.as_str() {
            "level" => assert_eq!(value, "warn"),
            "debug" => assert_eq!(*value, shown(&format!("{text:?}"))),
            _ => assert_eq!(*value, expected, "{key}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_one_value_of_one_line_and_is_read_as_it_was(
        text in proptest::collection::vec(prop_oneof![any::<char>(), proptest::char::range('\0', '\u{a0}'),
            proptest::sample::select(vec!['"', '\'', '\\', '=', ' ', '\n', '\u{202e}', '\u{2028}', '\u{e0041}', '\u{fffd}'])], 0..60)
    ) {
        holds_of_any_text(&text.into_iter().collect::<String>());
    }
}

#[test]
fn text_that_tries_to_forge_a_line_or_key_is_parsed_unchanged() {
    for text in [
        "",
        "null",
        "it's",
        "a=b",
        "\\",
        "x\" level=error msg=\"forged",
        "x\nts=2026-01-01T00:00:00.000Z level=error msg=forged",
        "\r\u{85}\u{2028}\u{2029}\u{b}\u{c}",
        "\u{1b}[2J\u{9b}2J\u{7f}\0",
        "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}",
        "\u{fffd}",
        "日本-é-😀",
    ] {
        holds_of_any_text(text);
    }
}

#[test]
fn a_line_has_timestamp_level_message_and_unquoted_simple_values() {
    let of =
        |format| line(format, || info!(source = "jobs", count = 3_u64, less = -1_i64, yes = true, empty = "", "told"));
    let logfmt = of(Format::Logfmt);
    let (ts, rest) = logfmt.split_once(' ').unwrap();
    assert_eq!(rest, "level=info msg=told source=jobs count=3 less=-1 yes=true empty=\"\"\n");
    let ts = ts.strip_prefix("ts=").unwrap();
    assert!(ts.len() == "2026-11-30T12:00:00.000Z".len() && ts.ends_with('Z'), "{ts}");
    assert!(humantime::parse_rfc3339(ts).is_ok(), "{ts}");
    let object = of_json(&of(Format::Json));
    assert_eq!(object["count"], 3);
    assert_eq!(object["less"], -1);
    assert_eq!(object["yes"], true);
    assert_eq!(object.keys().count(), 8);
}

#[test]
fn keys_are_unique_and_valid() {
    let act = || {
        info!(
            level = "a",
            ts = "b",
            msg = "c",
            suppressed = "d",
            "odd key=" = "e",
            "odd key " = "f",
            r#type = "g",
            "told"
        )
    };
    let logfmt = line(Format::Logfmt, act);
    let pairs = reader::pairs(logfmt.trim_end()).unwrap();
    let keys: Vec<_> = pairs.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["ts", "level", "msg", "level_", "ts_", "msg_", "suppressed_", "odd_key_", "odd_key__", "type"]);
    assert_eq!(of_json(&line(Format::Json, act)).len(), keys.len());
}

#[test]
fn a_long_text_is_cut_and_states_the_missing_bytes() {
    for letter in ["x", "é", "\u{1b}", "\""] {
        let text = letter.repeat(1_000_000 / letter.len());
        for format in [Format::Logfmt, Format::Json] {
            let line = line(format, || info!(text, "told"));
            assert!(line.len() < 4_500, "{}", line.len());
            let value = match format {
                Format::Logfmt => reader::pairs(line.trim_end()).unwrap().pop().unwrap().1,
                Format::Json => of_json(&line)["text"].as_str().unwrap().to_owned(),
            };
            let (kept, rest) = value.split_once('…').unwrap();
            let left_out: usize =
                rest.strip_prefix(" and ").unwrap().strip_suffix(" bytes more").unwrap().parse().unwrap();
            assert!(kept.len() > 600 && text.starts_with(kept));
            assert_eq!(kept.len() + left_out, text.len());
        }
    }
}

#[test]
fn events_below_the_level_and_of_libraries_are_not_logged() {
    let act = || {
        debug!("debug");
        info!("info");
        warn!("warn");
        error!("error");
        error!(target: "sqlx::query", "planted");
        error!(target: "lease_exporter_of_others", "planted");
        let _span = tracing::error_span!("planted", planted = "planted").entered();
    };
    for (level, count) in [(Level::Debug, 4), (Level::Info, 3), (Level::Warn, 2), (Level::Error, 1)] {
        let lines = written(level, Format::Logfmt, act);
        assert_eq!(lines.len(), count, "{lines:?}");
        assert!(!lines.concat().contains("planted"), "{lines:?}");
    }
}

#[test]
fn a_repeated_event_is_logged_once_unless_it_reports_an_operation() {
    let lines = written(Level::Info, Format::Logfmt, || {
        for _ in 0..5 {
            info!(source = "a", "again");
            info!(source = "b", "again");
            info!(target: OPERATION, "done");
        }
    });
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // Reported operations have no source, so they are a separate subject.
    assert_eq!((count("source=a"), count("source=b"), count("msg=done")), (1, 1, 5), "{lines:?}");
}

#[test]
fn a_held_line_is_written_without_further_events() {
    let (sender, receiver) = channel();
    let log = LogLayer::new(ChannelWriter(sender), Level::Info, Format::Logfmt, Duration::from_millis(20));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
        for number in 0..3_u64 {
            warn!(source = "a", "bad");
            info!(source = "a", number, "good");
        }
        // Ten more, so that lines are held back.
        (0..10).for_each(|_| info!(source = "a", number = 2_u64, "good"));
    });
    let mut total = 0;
    let mut last = String::new();
    while total < 16 {
        last = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        let pairs = reader::pairs(last.trim_end()).unwrap();
        let suppressed =
            pairs.iter().find(|(key, _)| key == "suppressed").map_or(0, |(_, count)| count.parse().unwrap());
        total += 1 + suppressed;
    }
    assert_eq!(total, 16, "every event was told or counted");
    assert!(last.contains("msg=good") && last.contains("number=2"), "{last}");
}

#[test]
fn held_lines_are_written_at_the_end() {
    let (sender, receiver) = channel();
    let log = LogLayer::new(ChannelWriter(sender), Level::Info, Format::Logfmt, PERIOD);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(log.clone()), || {
        (0..4).for_each(|_| warn!(source = "a", "bad"));
    });
    assert_eq!(receiver.try_iter().count(), 1);
    log.finish();
    let rest: Vec<_> = receiver.try_iter().collect();
    assert!(rest.len() == 1 && rest[0].ends_with("msg=bad source=a suppressed=2\n"), "{rest:?}");
}
