//! What can be used, and is likely not what was meant.

use super::validity::NotAfter;
use super::{Tls, WebConfig};
use crate::{clock, log};

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// HTTP/2 is asked for by name.
    #[error("`http2: true` changes nothing: the exporter speaks HTTP/1.1 alone, which Prometheus speaks too")]
    Http2,
    /// No name is one that may connect.
    #[error("`client_allowed_sans` names nobody, so no client can connect")]
    NobodyAllowed,
    /// Clients' certificates may be of any authority that the system trusts.
    #[error(
        "without `client_ca_file`, clients' certificates are verified by the authorities that this system trusts, which sign \
         for anybody; name yours"
    )]
    SystemRoots,
    /// Clients' certificates are to be verified by what the system trusts, and it trusts nobody.
    #[error(
        "without `client_ca_file`, no client's certificate is trusted, because this system trusts no authority; name yours"
    )]
    NoSystemRoots,
    /// A rate lets no request in.
    #[error("`rate_limit` without a `burst`, or with one of 0, refuses every request; set `burst`")]
    RateOfNothing,
    /// Others have rights to the file of the private key.
    #[error("other users have rights to the file that `key_file` names, {0}; take them away with `chmod 600`")]
    ExposedKey(Box<str>),
    /// The exporter's certificate has run out.
    #[error("the certificate ran out at {0}: clients that verify it do not connect; renew it")]
    RanOut(NotAfter),
}

impl WebConfig {
    /// What there is to look at now, in seconds since the Unix epoch.
    #[must_use]
    pub fn warnings(&self, now: f64) -> Vec<Warning> {
        let tls = self.tls.as_ref();
        let http2 = self.http2.then_some(Warning::Http2);
        let nobody = tls.filter(|tls| tls.admits_nobody()).map(|_| Warning::NobodyAllowed);
        let authorities = tls.and_then(Tls::system_roots).map(|trusts_anybody| match trusts_anybody {
            true => Warning::SystemRoots,
            false => Warning::NoSystemRoots,
        });
        let nothing = self.rate.filter(|rate| rate.blocks_everything()).map(|_| Warning::RateOfNothing);
        let exposed_key = tls.and_then(Tls::exposed_key).map(|path| Warning::ExposedKey(path.into()));
        let ran_out = self.not_after().filter(|not_after| not_after.unix_seconds() < now).map(Warning::RanOut);
        [http2, nobody, authorities, nothing, exposed_key, ran_out].into_iter().flatten().collect()
    }

    /// Has the log say what there is to look at now.
    pub fn warn(&self) {
        for warning in self.warnings(clock::unix_seconds()) {
            tracing::warn!(target: log::ACT, %warning, "the web configuration may not be what is meant");
        }
    }

    /// When the first of the certificates that the exporter presents runs out.
    #[must_use]
    pub fn not_after(&self) -> Option<NotAfter> {
        self.tls.as_ref().and_then(|tls| tls.not_after())
    }
}
