//! Errors of the web configuration file.

use crate::diagnostic::{Diagnostics, FileFault, InvalidFile, QuotedValue};
use crate::duration::DurationFault;

/// All problems of one web configuration file.
pub type WebConfigError = InvalidFile<Problem>;

/// The problems found so far while the file is converted.
pub(super) type Problems = Diagnostics<Problem>;

/// A problem of the file. The message gives the value, unless it may be secret, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant describes it and its fields")]
pub enum Problem {
    #[error("there is no such file; a relative path starts at the working directory")]
    NoFile,
    #[error(
        "the file says nothing any more, which while the exporter serves is taken for one that is not written yet; to \
         serve without what it said, restart the exporter"
    )]
    Emptied,
    /// The change would remove a protection; the field names it.
    #[error(
        "this would end {0}, which while the exporter serves is taken for a file that is half written; if it is meant, \
         restart the exporter"
    )]
    Weakened(&'static str),
    /// The web configuration file itself cannot be read.
    #[error("the file {0}")]
    File(FileFault),
    /// A certificate or key file cannot be read.
    #[error("the file that `{key}` names, {path}, {fault}{}", fault.hint())]
    NamedFile { key: &'static str, path: QuotedValue, fault: FileFault },
    #[error("{0}")]
    Yaml(String),
    #[error("`{inline}` and `{file}` say the same; leave one")]
    GivenTwice { inline: &'static str, file: &'static str },
    /// The field names the missing key.
    #[error("`tls_server_config` needs `{0}`; add it, or leave `tls_server_config` out to serve without TLS")]
    TlsWithout(&'static str),
    #[error("`{0}` holds no certificate; it takes PEM, with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate(&'static str),
    #[error(
        "`{0}` holds no private key; it takes PEM, unencrypted, with `-----BEGIN PRIVATE KEY-----` or an older form"
    )]
    NoKey(&'static str),
    #[error(
        "a certificate of `{0}` cannot be used; it has to be of X.509 version 3, which `openssl x509 -noout -text` tells"
    )]
    BadCertificate(&'static str),
    #[error(
        "the private key cannot be used; make one of RSA with 2048 bits or more, of ECDSA with P-256 or P-384, or of Ed25519"
    )]
    BadKey,
    #[error("the private key does not belong to the certificate; give both of one pair")]
    KeyMismatch,
    #[error("`{key}` cannot be this: `{value}`; write {known}")]
    Choice { key: &'static str, value: QuotedValue, known: &'static str },
    #[error("`{key}: {value}` is too old to be spoken here; write TLS12 or TLS13")]
    OldVersion { key: &'static str, value: &'static str },
    #[error("`min_version` is above `max_version`; write them the other way round")]
    NoVersion,
    #[error("`{key}` cannot have `{value}`, which is not implemented here; take it out; there are {known}")]
    NotImplemented { key: &'static str, value: QuotedValue, known: String },
    #[error(
        "no connection is possible with these versions, `cipher_suites` and `curve_preferences`; allow more of them"
    )]
    NoCommonParameters,
    /// The field names the key that gives the authority.
    #[error(
        "`client_auth_type` does not ask for certificates, so `{0}` would mean nothing; write \
         `client_auth_type: RequireAndVerifyClientCert`, or leave `{0}` out"
    )]
    AuthorityWithoutPolicy(&'static str),
    #[error(
        "`client_allowed_sans` needs a `client_auth_type` that requires a certificate; write \
         `client_auth_type: RequireAndVerifyClientCert`"
    )]
    NamesWithoutCertificate,
    #[error(
        "`client_allowed_sans` cannot have an e-mail address; name a DNS name, an IP address or a URI of the certificate"
    )]
    Email,
    #[error("the header `{value}` cannot be set; the headers are {known}")]
    Header { value: QuotedValue, known: String },
    #[error("the header `{header}` cannot have this value; write {known}")]
    HeaderValue { header: &'static str, known: &'static str },
    #[error("a user's name cannot have a `:` in it, because it ends the name where clients send it; choose another")]
    UserName,
    /// The value is not shown because it may be a password.
    #[error(
        "what stands here is no bcrypt hash; make one with `htpasswd -nBC 10 \"\" | tr -d ':\\n'`, and never write the password itself"
    )]
    NoHash,
    #[error("a bcrypt hash of cost {cost} cannot be used: it would hold up every answer; make one of cost 4 to {most}")]
    Cost { cost: u32, most: u32 },
    #[error("`burst` cannot be this: `{0}`; write a whole number up to 4294967295, of requests that may come at once")]
    Burst(QuotedValue),
    #[error("`interval` cannot be this: `{value}`; {fault}")]
    Interval { value: QuotedValue, fault: DurationFault },
}
