//! X.509 certificates: validity period and permitted use.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use rustls::CertificateError;
use rustls::pki_types::UnixTime;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The end of a certificate's validity, as time since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotAfter(Duration);

impl NotAfter {
    /// Reads it from a certificate in DER. Returns `None` if the certificate cannot be parsed or expired before 1970.
    pub(super) fn from_der(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
        Some(Self(Duration::from_secs(seconds)))
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

/// Checks that a certificate without a chain is valid now and may be used for client authentication. RFC 5280 (4.2.1.12)
/// permits any use if the certificate has no extended key usage.
pub(super) fn check_client_certificate(certificate: &[u8], now: UnixTime) -> Result<(), CertificateError> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let usage = certificate.extended_key_usage().map_err(|_| CertificateError::BadEncoding)?;
    let (validity, now) = (certificate.validity(), i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    if now < validity.not_before.timestamp() {
        Err(CertificateError::NotValidYet)
    } else if now > validity.not_after.timestamp() {
        Err(CertificateError::Expired)
    } else if usage.is_some_and(|usage| !usage.value.any && !usage.value.client_auth) {
        Err(CertificateError::InvalidPurpose)
    } else {
        Ok(())
    }
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
    fn the_end_of_validity_is_the_one_that_the_certificate_was_made_with() {
        // From 2050 on, certificates encode the time as GeneralizedTime.
        for (year, month, day, shown, seconds) in [
            (1999, 12, 31, "1999-12-31T00:00:00Z", 946_598_400.0),
            (2024, 2, 29, "2024-02-29T00:00:00Z", 1_709_164_800.0),
            (2049, 12, 31, "2049-12-31T00:00:00Z", 2_524_521_600.0),
            (2050, 1, 1, "2050-01-01T00:00:00Z", 2_524_608_000.0),
            (9999, 12, 31, "9999-12-31T00:00:00Z", 253_402_214_400.0),
        ] {
            let not_after = NotAfter::from_der(&certificate(year, month, day)).unwrap();
            assert_eq!((not_after.to_string().as_str(), not_after.unix_seconds()), (shown, seconds));
        }
    }

    #[test]
    fn a_truncated_certificate_is_not_parsed() {
        let whole = certificate(2030, 1, 1);
        for length in 0..whole.len() {
            assert_eq!(NotAfter::from_der(&whole[..length]), None, "{length} of {}", whole.len());
        }
    }
}
