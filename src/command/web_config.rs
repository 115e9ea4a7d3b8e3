//! What is said of the web configuration.

use std::path::Path;

use tracing::info;

use super::Failure;
use crate::clock;
use crate::web::config::{Protection, WebConfig};

/// Has the log say what is asked of whoever comes.
pub(super) fn announce(protection: Protection) {
    let word = |on| if on { "on" } else { "off" };
    let Protection { tls, client_certificates, users } = protection;
    info!(tls = word(tls), client_certificates = word(client_certificates), users, "what whoever connects must have");
}

/// What `check` says of a file, a line each.
pub(super) fn checked(path: &Path) -> Result<String, Failure> {
    let config = WebConfig::load(path).map_err(|error| Failure::Configuration(error.to_string()))?;
    let mut text = format!("The web configuration is well formed: {}.\n", config.protection());
    for warning in config.warnings(clock::unix_seconds()) {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    Ok(text)
}
