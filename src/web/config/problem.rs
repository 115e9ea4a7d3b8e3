//! What can be wrong with the file, all of it to be put right by whoever wrote it.

use crate::diagnostic::{Diagnostics, FileFault, InvalidFile, QuotedValue};
use crate::duration::DurationFault;

/// Everything that is wrong with one file.
pub type WebConfigError = InvalidFile<Problem>;

/// The problems found so far.
pub(super) type Faults = Diagnostics<Problem>;

/// One thing that is wrong: what, the value if it can hold no secret, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Problem {
    /// There is no such file.
    #[error("there is no such file; a relative path starts at the working directory")]
    NoFile,
    /// It says nothing any more.
    #[error(
        "the file says nothing any more, which while the exporter serves is taken for one that is not written yet; to \
         serve without what it said, restart the exporter"
    )]
    Emptied,
    /// It would let in who had to show something before.
    #[error(
        "this would end {0}, which while the exporter serves is taken for a file that is half written; if it is meant, \
         restart the exporter"
    )]
    Opens(&'static str),
    /// The file itself.
    #[error("the file {0}")]
    File(FileFault),
    /// A file that it names, as it names it.
    #[error("the file that `{key}` names, {path}, {fault}{}", fault.hint())]
    NamedFile { key: &'static str, path: QuotedValue, fault: FileFault },
    /// It is not the YAML asked for.
    #[error("{0}")]
    Yaml(String),
    /// Two keys that say the same.
    #[error("`{inline}` and `{file}` say the same; leave one")]
    GivenTwice { inline: &'static str, file: &'static str },
    /// TLS without what it cannot be without.
    #[error("`tls_server_config` needs `{0}`; add it, or leave `tls_server_config` out to serve without TLS")]
    TlsWithout(&'static str),
    /// No certificate where there should be some.
    #[error("`{0}` holds no certificate; it takes PEM, with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate(&'static str),
    /// No private key where there should be one.
    #[error(
        "`{0}` holds no private key; it takes PEM, unencrypted, with `-----BEGIN PRIVATE KEY-----` or an older form"
    )]
    NoKey(&'static str),
    /// A certificate that cannot be read.
    #[error(
        "a certificate of `{0}` cannot be used; it has to be of X.509 version 3, which `openssl x509 -noout -text` tells"
    )]
    BadCertificate(&'static str),
    /// A key of a kind that cannot be used.
    #[error(
        "the private key cannot be used; make one of RSA with 2048 bits or more, of ECDSA with P-256 or P-384, or of Ed25519"
    )]
    BadKey,
    /// The key is another certificate's.
    #[error("the private key does not belong to the certificate; give both of one pair")]
    OtherKey,
    /// A word that is none of those there are.
    #[error("`{key}` cannot be this: `{value}`; write {known}")]
    Choice { key: &'static str, value: QuotedValue, known: &'static str },
    /// A version below those that are spoken.
    #[error("`{key}: {value}` is too old to be spoken here; write TLS12 or TLS13")]
    OldVersion { key: &'static str, value: &'static str },
    /// No version is left.
    #[error("`min_version` is above `max_version`; write them the other way round")]
    NoVersion,
    /// A cipher suite or curve that is not there.
    #[error("`{key}` cannot have `{value}`, which is not implemented here; take it out; there are {known}")]
    NotImplemented { key: &'static str, value: QuotedValue, known: String },
    /// A combination of versions, suites and curves that no client can use.
    #[error(
        "no connection is possible with these versions, `cipher_suites` and `curve_preferences`; allow more of them"
    )]
    NothingLeft,
    /// An authority for certificates that nobody asks for.
    #[error(
        "`client_auth_type` does not ask for certificates, so `{0}` would mean nothing; write \
         `client_auth_type: RequireAndVerifyClientCert`, or leave `{0}` out"
    )]
    AuthorityWithoutPolicy(&'static str),
    /// Names of certificates that a client may leave out.
    #[error(
        "`client_allowed_sans` needs a `client_auth_type` that requires a certificate; write \
         `client_auth_type: RequireAndVerifyClientCert`"
    )]
    NamesWithoutCertificate,
    /// A kind of name that cannot be compared.
    #[error(
        "`client_allowed_sans` cannot have an e-mail address; name a DNS name, an IP address or a URI of the certificate"
    )]
    Email,
    /// A header that cannot be set.
    #[error("the header `{value}` cannot be set; the headers are {known}")]
    Header { value: QuotedValue, known: String },
    /// A value that a header cannot have.
    #[error("the header `{header}` cannot have this value; write {known}")]
    HeaderValue { header: &'static str, known: &'static str },
    /// A name that no client can log in with.
    #[error("a user's name cannot have a `:` in it, because it ends the name where clients send it; choose another")]
    UserName,
    /// What should be a hash and is not; it may be a password.
    #[error(
        "what stands here is no bcrypt hash; make one with `htpasswd -nBC 10 \"\" | tr -d ':\\n'`, and never write the password itself"
    )]
    NoHash,
    /// A hash that takes too long, or too little.
    #[error("a bcrypt hash of cost {cost} cannot be used: it would hold up every answer; make one of cost 4 to {most}")]
    Cost { cost: u32, most: u32 },
    /// A number of requests that cannot be used.
    #[error("`burst` cannot be this: `{0}`; write a whole number up to 4294967295, of requests that may come at once")]
    Burst(QuotedValue),
    /// A length of time that cannot be used.
    #[error("`interval` cannot be this: `{value}`; {fault}")]
    Interval { value: QuotedValue, fault: DurationFault },
}
