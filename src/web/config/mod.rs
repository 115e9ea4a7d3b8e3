//! The file of `--web.config.file`: who may connect, who may ask, and what is said with every answer.
//!
//! Its format is that of the exporter-toolkit, which users of Prometheus exporters know. As with the exporter's own
//! configuration, what is written is read into private types, one conversion makes a [`WebConfig`] of them or says
//! everything that is wrong, and no error repeats a secret.

mod ciphers;
mod client;
mod flag;
mod headers;
mod material;
mod problem;
mod protection;
mod rate;
mod raw;
mod tls;
mod users;
mod validity;
mod warning;
mod watch;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toolkit;

use std::fmt;
use std::path::Path;

use hyper::header::{HeaderName, HeaderValue};

pub use problem::{Problem, WebConfigError};
pub use protection::Protection;
pub use validity::NotAfter;
pub use warning::Warning;
pub use watch::Watched;

pub(super) use rate::{Bucket, Rate};
pub(super) use tls::Tls;
pub(super) use users::Users;

use crate::diagnostic::FileFault;
use crate::file::FileError;
use material::Material;
use problem::Faults;
use raw::RawWebConfig;

/// What holds for whoever connects. By default there is no TLS and anybody may ask.
#[derive(Default)]
pub struct WebConfig {
    pub(super) tls: Option<Tls>,
    /// Whether HTTP/2 is asked for, which there is not.
    http2: bool,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) users: Option<Users>,
    pub(super) rate: Option<Rate>,
}

impl fmt::Debug for WebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A header is public, but not what somebody put there by mistake.
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("WebConfig")
            .field("tls", &self.tls)
            .field("headers", &headers)
            .field("users", &self.users)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

impl WebConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It or a file that it names cannot be read, or what it says cannot be used: all that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, WebConfigError> {
        Self::read(path, &mut Material::default())
    }

    /// The same, which also tells what was read.
    fn read(path: &Path, material: &mut Material) -> Result<Self, WebConfigError> {
        let file = path.display().to_string();
        let whole = |problem| WebConfigError::new(&file, None, problem);
        let bytes = material.file(path).map_err(|fault| {
            whole(if fault == FileError::Absent { Problem::NoFile } else { Problem::File(fault.into()) })
        })?;
        let text = String::from_utf8(bytes).map_err(|_| whole(Problem::File(FileFault::NotText)))?;
        Self::parse(&text, &file, path.parent().unwrap_or(Path::new("")), material)
    }

    /// Checks the text of a file in this folder.
    fn parse(text: &str, file: &str, folder: &Path, material: &mut Material) -> Result<Self, WebConfigError> {
        let RawWebConfig { tls_server_config, http_server_config, basic_auth_users, rate_limit } = raw::read(text)
            .map_err(|unreadable| WebConfigError::new(file, unreadable.line, Problem::Yaml(unreadable.to_string())))?;
        let mut faults = Faults::default();
        let mut http = http_server_config.unwrap_or_default();
        let config = Self {
            tls: tls_server_config.and_then(|tls| tls::checked(tls, folder, material, &mut faults)),
            http2: flag::checked("http2", http.http2.take(), &mut faults).unwrap_or_default(),
            headers: headers::checked(http, &mut faults),
            users: users::checked(basic_auth_users.unwrap_or_default(), &mut faults),
            rate: rate_limit.and_then(|rate| rate::checked(&rate, &mut faults)),
        };
        faults.finish(file, config)
    }
}
