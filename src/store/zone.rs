//! What a time without a zone means.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How far the clock on the wall is ahead of UTC, in a zone without summer time.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Zone {
    minutes: i32,
}

/// What is no zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write `UTC`, or how far it is ahead of that, as `+09:00`")]
pub struct NoZone;

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self { minutes: 0 };

    /// What UTC is, in microseconds, when a clock on the wall of this zone shows `micros`.
    #[must_use]
    pub const fn utc_micros(self, micros: i64) -> i64 {
        const MINUTE: i64 = Duration::from_secs(60).as_micros() as i64;
        micros.saturating_sub(self.minutes as i64 * MINUTE)
    }
}

impl FromStr for Zone {
    type Err = NoZone;

    fn from_str(text: &str) -> Result<Self, NoZone> {
        if matches!(text, "UTC" | "Z") {
            return Ok(Self::UTC);
        }
        let (sign, rest) = match text.as_bytes().first() {
            Some(b'+') => (1, &text[1..]),
            Some(b'-') => (-1, &text[1..]),
            _ => return Err(NoZone),
        };
        let (hours, minutes) = rest.split_once(':').ok_or(NoZone)?;
        let number = |digits: &str, below: i32| {
            let fits = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i32>().ok().filter(|number| fits && *number < below).ok_or(NoZone)
        };
        Ok(Self { minutes: sign * (number(hours, 15)? * 60 + number(minutes, 60)?) })
    }
}

/// As an offset, which every store with zones understands.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
            assert_eq!(wrong.parse::<Zone>(), Err(NoZone), "{wrong}");
        }
        let tokyo: Zone = "+09:00".parse().unwrap();
        assert_eq!(tokyo.utc_micros(9 * 3_600_000_000), 0);
    }
}
