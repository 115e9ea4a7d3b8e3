//! From when until when a certificate is valid, which rustls does not show, and whether it is one for clients.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::CertificateError;
use rustls::pki_types::UnixTime;

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// RFC 5280, 4.2.1.12: what a certificate may be used for, and among that: anything, and proving who a client is.
const EXTENDED_KEY_USAGE: [u8; 3] = [0x55, 0x1d, 0x25];
const ANY_USAGE: [u8; 4] = [0x55, 0x1d, 0x25, 0x00];
const CLIENT_AUTH: [u8; 8] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/// When a certificate runs out, since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotAfter(Duration);

impl NotAfter {
    /// Of a certificate as DER; nothing for what is none, or one that ran out before there was a Unix.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        CertificateFields::of(certificate)?.not_after.duration_since(UNIX_EPOCH).ok().map(Self)
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

/// Whether a certificate that needs no chain may prove now who a client is.
pub(super) fn check_client_certificate(certificate: &[u8], now: UnixTime) -> Result<(), CertificateError> {
    let parts = CertificateFields::of(certificate).ok_or(CertificateError::BadEncoding)?;
    let now = UNIX_EPOCH + Duration::from_secs(now.as_secs());
    if now < parts.not_before {
        Err(CertificateError::NotValidYet)
    } else if now > parts.not_after {
        Err(CertificateError::Expired)
    } else if !parts.is_for_clients {
        Err(CertificateError::InvalidPurpose)
    } else {
        Ok(())
    }
}

/// What is read of a certificate.
struct CertificateFields {
    not_before: SystemTime,
    not_after: SystemTime,
    /// Whether it may be used for anything, or for clients.
    is_for_clients: bool,
}

impl CertificateFields {
    /// Of a certificate as DER; nothing for what is none.
    fn of(certificate: &[u8]) -> Option<Self> {
        // RFC 5280, 4.1: what is signed begins with the version, if there is one, the serial number, the algorithm and
        // the issuer; then come the two times, the subject, its key, and, after two identifiers that are hardly ever there,
        // the extensions.
        let (signed, _) = value(value(certificate, SEQUENCE)?.0, SEQUENCE)?;
        let rest = value(signed, VERSION).map_or(signed, |(_, rest)| rest);
        let (_, rest) = value(rest, INTEGER)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (times, rest) = value(rest, SEQUENCE)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (_, rest) = value(rest, SEQUENCE)?;
        let (tag, not_before, times) = any(times)?;
        // Before 1970, which is not read, it began long ago.
        let not_before = time(tag, not_before).unwrap_or(UNIX_EPOCH);
        let (tag, not_after, _) = any(times)?;
        let extensions = values(rest)?.into_iter().find(|(tag, _)| *tag == EXTENSIONS);
        let is_for_clients = match extensions {
            Some((_, extensions)) => is_for_clients(value(extensions, SEQUENCE)?.0)?,
            None => true,
        };
        Some(Self { not_before, not_after: time(tag, not_after)?, is_for_clients })
    }
}

/// Whether extensions leave a certificate to be used for clients: without a word on usage, it may be used for anything.
fn is_for_clients(extensions: &[u8]) -> Option<bool> {
    for (_, extension) in values(extensions)? {
        let (name, rest) = value(extension, OBJECT_IDENTIFIER)?;
        if name == EXTENDED_KEY_USAGE {
            // Whether it is critical may stand in between.
            let (_, usages) = values(rest)?.into_iter().find(|(tag, _)| *tag == OCTET_STRING)?;
            let usages = values(value(usages, SEQUENCE)?.0)?;
            return Some(usages.iter().any(|(_, usage)| *usage == ANY_USAGE || *usage == CLIENT_AUTH));
        }
    }
    Some(true)
}

fn time(tag: u8, text: &[u8]) -> Option<SystemTime> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let digits = match tag {
        UTC_TIME => format!("{}{text}", if text < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let digits = digits.strip_suffix('Z').filter(|digits| digits.len() == 14)?;
    let [year, month, day, hour, minute, second] = [0..4, 4..6, 6..8, 8..10, 10..12, 12..14].map(|at| &digits[at]);
    humantime::parse_rfc3339(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok()
}

/// All values, one after the other: the kind and the content of each.
fn values(mut bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let (tag, content, rest) = any(bytes)?;
        values.push((tag, content));
        bytes = rest;
    }
    Some(values)
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
