//! Time zones: of times without a zone, and of sessions with a server.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A fixed offset from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    minutes: i32,
}

/// The time zone of a session with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionZone {
    /// A fixed offset.
    Fixed(Zone),
    /// A name that the server knows. Its characters need no escaping within quotes.
    Named(Box<str>),
}

/// Why a text is not a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneFault {
    /// The text is not a fixed offset.
    #[error(
        "write `UTC`, or how far it is ahead of that, as `+09:00`; only `session_time_zone`, where it is the server that \
         converts, takes a zone's name"
    )]
    OfExporter,
    /// The text is neither a fixed offset nor a name.
    #[error(
        "write `UTC`, how far it is ahead of that, as `+09:00`, or a name that the server knows, as `Europe/Berlin`"
    )]
    OfSession,
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self { minutes: 0 };

    /// The Unix time in microseconds at which a clock in this zone shows `micros`.
    #[must_use]
    pub const fn utc_micros(self, micros: i64) -> i64 {
        const MINUTE: i64 = Duration::from_secs(60).as_micros() as i64;
        micros.saturating_sub(self.minutes as i64 * MINUTE)
    }
}

impl FromStr for Zone {
    type Err = ZoneFault;

    fn from_str(text: &str) -> Result<Self, ZoneFault> {
        if matches!(text, "UTC" | "Z") {
            return Ok(Self::UTC);
        }
        let (sign, rest) = match text.as_bytes().first() {
            Some(b'+') => (1, &text[1..]),
            Some(b'-') => (-1, &text[1..]),
            _ => return Err(ZoneFault::OfExporter),
        };
        let (hours, minutes) = rest.split_once(':').ok_or(ZoneFault::OfExporter)?;
        let number = |digits: &str, below: i32| {
            let fits = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i32>().ok().filter(|number| fits && *number < below).ok_or(ZoneFault::OfExporter)
        };
        Ok(Self { minutes: sign * (number(hours, 15)? * 60 + number(minutes, 60)?) })
    }
}

/// The offset in the notation that all servers accept.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Default for SessionZone {
    fn default() -> Self {
        Self::Fixed(Zone::UTC)
    }
}

impl FromStr for SessionZone {
    type Err = ZoneFault;

    fn from_str(text: &str) -> Result<Self, ZoneFault> {
        if let Ok(zone) = text.parse() {
            return Ok(Self::Fixed(zone));
        }
        let is_name = text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-' | b'/'));
        if is_name { Ok(Self::Named(text.into())) } else { Err(ZoneFault::OfSession) }
    }
}

/// The zone in the notation that the server accepts within quotes.
impl fmt::Display for SessionZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(zone) => fmt::Display::fmt(zone, f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_utc_or_an_offset() {
        for (text, shown) in [("UTC", "+00:00"), ("+09:00", "+09:00"), ("-03:30", "-03:30"), ("+14:00", "+14:00")] {
            assert_eq!(text.parse::<Zone>().unwrap().to_string(), shown);
        }
        for wrong in ["", "utc", "Europe/Berlin", "+9", "+09", "+9:00", "09:00", "+15:00", "+09:60", "+０9:00"] {
            assert_eq!(wrong.parse::<Zone>(), Err(ZoneFault::OfExporter), "{wrong}");
        }
        let tokyo: Zone = "+09:00".parse().unwrap();
        assert_eq!(tokyo.utc_micros(9 * 3_600_000_000), 0);
    }

    #[test]
    fn a_sessions_zone_is_an_offset_too_or_a_name_that_can_stand_in_quotes() {
        for (text, shown) in [
            ("UTC", "+00:00"),
            ("-03:30", "-03:30"),
            ("Europe/Berlin", "Europe/Berlin"),
            ("America/Port-au-Prince", "America/Port-au-Prince"),
            ("Etc/GMT+9", "Etc/GMT+9"),
        ] {
            assert_eq!(text.parse::<SessionZone>().unwrap().to_string(), shown);
        }
        let long = "a".repeat(65);
        for wrong in ["", "+9", "+15:00", "Europe/Berlin'", "Europe/Berlin\\", "Europe Berlin", "Zürich", &long] {
            assert_eq!(wrong.parse::<SessionZone>(), Err(ZoneFault::OfSession), "{wrong}");
        }
        assert!(long[1..].parse::<SessionZone>().is_ok());
    }
}
