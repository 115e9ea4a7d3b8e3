//! Settings that are valid and probably not intended.

use super::WebConfig;
use super::certificate::NotAfter;
use crate::{clock, log};

/// A setting that is valid and probably not intended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Warning {
    #[error("`http2: true` changes nothing: the exporter speaks HTTP/1.1 alone, which Prometheus speaks too")]
    Http2,
    #[error("`client_allowed_sans` names nobody, so no client can connect")]
    NoAllowedNames,
    #[error(
        "without `client_ca_file`, clients' certificates are verified by the authorities that this system trusts, which sign \
         for anybody; name yours"
    )]
    SystemRoots,
    #[error(
        "without `client_ca_file`, no client's certificate is trusted, because this system trusts no authority; name yours"
    )]
    NoSystemRoots,
    #[error("`rate_limit` without a `burst`, or with one of 0, refuses every request; set `burst`")]
    ZeroBurst,
    #[error("other users have rights to the file that `key_file` names, {0}; take them away with `chmod 600`")]
    ExposedKey(Box<str>),
    #[error("the certificate ran out at {0}: clients that verify it do not connect; renew it")]
    Expired(NotAfter),
}

impl WebConfig {
    /// The warnings at a time in seconds since the Unix epoch.
    #[must_use]
    pub fn warnings(&self, now: f64) -> Vec<Warning> {
        let tls = self.tls.as_ref();
        let mut warnings: Vec<_> = self.http2.then_some(Warning::Http2).into_iter().collect();
        warnings.extend(tls.iter().flat_map(|tls| tls.client_warnings.clone()));
        warnings.extend(self.rate_limit.filter(|limit| limit.rejects_all()).map(|_| Warning::ZeroBurst));
        warnings.extend(tls.and_then(|tls| tls.exposed_key.clone()));
        warnings.extend(self.not_after().filter(|not_after| not_after.unix_seconds() < now).map(Warning::Expired));
        warnings
    }

    /// Logs the warnings.
    pub fn log_warnings(&self) {
        for warning in self.warnings(clock::unix_seconds()) {
            tracing::warn!(target: log::OPERATION, %warning, "the web configuration may not be what is meant");
        }
    }

    /// When the first certificate of the exporter's chain expires.
    #[must_use]
    pub fn not_after(&self) -> Option<NotAfter> {
        self.tls.as_ref()?.not_after
    }
}
