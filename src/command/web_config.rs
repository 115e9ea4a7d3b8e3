//! Reports on the web configuration.

use std::path::Path;

use tracing::info;

use super::Failure;
use crate::clock;
use crate::web::config::{Protection, WebConfig};

/// Logs which protection the server requires of clients.
pub(super) fn log_protection(protection: Protection) {
    let switch = |on| if on { "on" } else { "off" };
    let Protection { tls, client_certificates, users } = protection;
    info!(
        tls = switch(tls),
        client_certificates = switch(client_certificates),
        users,
        "protection of the web interface"
    );
}

/// The report of `check` on a file.
pub(super) fn check(path: &Path) -> Result<String, Failure> {
    let config = WebConfig::load(path).map_err(|error| Failure::Configuration(error.to_string()))?;
    let mut text = format!("The web configuration is well formed: {}.\n", config.protection());
    for warning in config.warnings(clock::unix_seconds()) {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    Ok(text)
}
