//! The file of `--web.config.file`: TLS, client certificates, users, rate limit and response headers.
//!
//! The format is that of the exporter-toolkit of Prometheus. As with the exporter's own configuration, the file is parsed
//! into private types, and one conversion returns a [`WebConfig`] or all problems. Errors never repeat a secret.

mod certificate;
mod ciphers;
mod client_auth;
mod headers;
mod pem;
mod problem;
mod protection;
mod rate_limit;
mod raw;
mod tls;
mod tracked_files;
mod users;
mod warning;
mod watcher;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use hyper::header::{HeaderName, HeaderValue};

pub use certificate::NotAfter;
pub use problem::{Problem, WebConfigError};
pub use protection::Protection;
pub use warning::Warning;
pub use watcher::WebConfigWatcher;

pub(super) use rate_limit::{RateLimit, TokenBucket};
pub(super) use tls::Tls;
pub(super) use users::Users;

use crate::diagnostic::FileFault;
use crate::file::FileError;
use problem::Problems;
use raw::RawWebConfig;
use tracked_files::FileReader;

/// A checked web configuration. The default has neither TLS nor users.
#[derive(Default)]
pub struct WebConfig {
    pub(super) tls: Option<Tls>,
    /// Whether the file asks for HTTP/2, which the exporter does not support.
    http2: bool,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) users: Option<Users>,
    pub(super) rate_limit: Option<RateLimit>,
}

impl fmt::Debug for WebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of headers are left out too: they are public, but may hold a secret by mistake.
        write!(f, "<web configuration: {}>", self.protection())
    }
}

impl WebConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file or a file that it names cannot be read or is invalid: all problems.
    pub fn load(path: &Path) -> Result<Self, WebConfigError> {
        Self::read(path, &mut FileReader::default())
    }

    fn read(path: &Path, files: &mut FileReader) -> Result<Self, WebConfigError> {
        let file = path.display().to_string();
        let error = |problem| WebConfigError::new(&file, None, problem);
        let bytes = files.read(path).map_err(|fault| {
            error(if fault == FileError::Absent { Problem::NoFile } else { Problem::File(fault.into()) })
        })?;
        let text = String::from_utf8(bytes).map_err(|_| error(Problem::File(FileFault::NotText)))?;
        Self::parse(&text, &file, path.parent().unwrap_or(Path::new("")), files)
    }

    /// Checks the text of a file. Relative paths in it start at the folder.
    fn parse(text: &str, file: &str, folder: &Path, files: &mut FileReader) -> Result<Self, WebConfigError> {
        let RawWebConfig { tls_server_config, http_server_config, basic_auth_users, rate_limit } = raw::parse(text)
            .map_err(|unreadable| WebConfigError::new(file, unreadable.line, Problem::Yaml(unreadable.to_string())))?;
        let mut problems = Problems::default();
        let http = http_server_config.unwrap_or_default();
        let config = Self {
            tls: tls_server_config.and_then(|tls| tls::convert(&tls, folder, files, &mut problems)),
            http2: raw::boolean("http2", &http.http2, &mut problems).unwrap_or_default(),
            headers: headers::convert(http, &mut problems),
            users: users::convert(basic_auth_users.unwrap_or_default(), &mut problems),
            rate_limit: rate_limit.and_then(|rate| rate_limit::convert(&rate, &mut problems)),
        };
        problems.finish(file, config)
    }
}
