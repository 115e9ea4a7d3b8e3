//! Until when a certificate is valid, which rustls does not show.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// When a certificate runs out, since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotAfter(Duration);

impl NotAfter {
    /// Of a certificate as DER; nothing for what is none, or one that ran out before there was a Unix.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        // RFC 5280, 4.1: what is signed begins with the version, if there is one, the serial number, the algorithm and
        // the issuer; then come the two times.
        let (signed, _) = value(value(certificate, SEQUENCE)?.0, SEQUENCE)?;
        let rest = value(signed, VERSION).map_or(signed, |(_, rest)| rest);
        let (_, rest) = value(rest, INTEGER)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (.., not_after) = any(value(rest, SEQUENCE)?.0)?;
        let (tag, text, _) = any(not_after)?;
        let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
        let digits = match tag {
            UTC_TIME => format!("{}{text}", if text < "50" { "20" } else { "19" }),
            GENERALIZED_TIME => text.to_owned(),
            _ => return None,
        };
        let digits = digits.strip_suffix('Z').filter(|digits| digits.len() == 14)?;
        let [year, month, day, hour, minute, second] = [0..4, 4..6, 6..8, 8..10, 10..12, 12..14].map(|at| &digits[at]);
        let time = humantime::parse_rfc3339(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok()?;
        time.duration_since(UNIX_EPOCH).ok().map(Self)
    }

    /// Seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl fmt::Display for NotAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + self.0).fmt(f)
    }
}

/// The content of the value that comes first, if it is of this kind, and what comes after it.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    any(bytes).filter(|(found, ..)| *found == tag).map(|(_, content, rest)| (content, rest))
}

/// The kind and the content of the value that comes first, and what comes after it.
fn any(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        // Longer than four bytes no length of a certificate is.
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        0..=0x7f => (usize::from(first), rest),
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(year: i32, month: u8, day: u8) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, month, day);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn it_is_what_the_certificate_was_made_with() {
        // From 2050 on, the time is written in another form.
        for (year, month, day, shown, seconds) in [
            (1999, 12, 31, "1999-12-31T00:00:00Z", 946_598_400.0),
            (2024, 2, 29, "2024-02-29T00:00:00Z", 1_709_164_800.0),
            (2049, 12, 31, "2049-12-31T00:00:00Z", 2_524_521_600.0),
            (2050, 1, 1, "2050-01-01T00:00:00Z", 2_524_608_000.0),
            (9999, 12, 31, "9999-12-31T00:00:00Z", 253_402_214_400.0),
        ] {
            let not_after = NotAfter::of(&certificate(year, month, day)).unwrap();
            assert_eq!((not_after.to_string().as_str(), not_after.unix_seconds()), (shown, seconds));
        }
    }

    #[test]
    fn what_is_cut_off_anywhere_is_no_certificate() {
        let whole = certificate(2030, 1, 1);
        for length in 0..whole.len() {
            assert_eq!(NotAfter::of(&whole[..length]), None, "{length} of {}", whole.len());
        }
    }
}
