//! The keys of a source that every server has: `password_file` and `tls`, and for databases `time_zone`.

use std::str::FromStr;

use super::address::ServerAddress;
use super::section::{KeySet, KeySpec, Shape, StoreSection, line};
use super::zone::ZoneFault;
use super::{Identity, PasswordFile, Server, Tls};
use crate::diagnostic::QuotedValue;

pub(super) const PASSWORD_FILE: KeySpec = KeySpec::text("password_file");
pub(super) const TIME_ZONE: KeySpec = KeySpec::text("time_zone");
pub(super) const TLS: KeySpec =
    KeySpec { name: "tls", shape: Shape::Section(KeySet::new(&KEYS, &KeySpec::names(&KEYS))) };

const KEYS: [KeySpec; 4] =
    [KeySpec::text("mode"), KeySpec::text("ca_file"), KeySpec::text("cert_file"), KeySpec::text("key_file")];

pub(super) fn password_file(section: &StoreSection<'_>) -> Option<PasswordFile> {
    section.path(PASSWORD_FILE.name).map(PasswordFile::new)
}

pub(super) fn tls_line(section: &StoreSection<'_>) -> Option<u64> {
    section.keys.get(TLS.name).map(|node| node.line().unwrap_or(section.line))
}

/// The protection that `tls` configures; `None` if there is none, or a problem with it, which is noted.
pub(super) fn tls(section: &mut StoreSection<'_>) -> Option<Tls> {
    let (keys, at) = (section.keys.section(TLS.name)?, tls_line(section)?);
    let off = match keys.text("mode").map(|mode| (&*mode.value, line(mode))) {
        None | Some(("verify", _)) => false,
        Some(("off", _)) => true,
        Some((other, line)) => {
            let value = QuotedValue::new(other);
            section.diagnostics.note(line, format!("`mode` cannot be this: `{value}`; write `verify` or `off`"));
            return None;
        }
    };
    let file = |key| keys.text(key).map(|text| section.base_dir.join(&text.value));
    let ca_file = file("ca_file");
    let identity = match (file("cert_file"), file("key_file")) {
        (Some(cert_file), Some(key_file)) => Some(Identity { cert_file, key_file }),
        (None, None) => None,
        _ => {
            section.diagnostics.note(at, "`cert_file` and `key_file` belong together; give both or none");
            return None;
        }
    };
    match (off, ca_file, identity) {
        (true, None, None) => Some(Tls::Off),
        (true, ..) => {
            section.diagnostics.note(at, "`tls` has `mode: off` and files for it; leave one or the other out");
            None
        }
        (false, ca_file, identity) => Some(Tls::Verify { ca_file, identity }),
    }
}

/// The server and the name of the database that a source of this kind configures; `None` if there is a problem with the
/// address, which is noted.
///
/// A connection within the machine cannot be eavesdropped on. Any other is protected unless `tls` says otherwise.
pub(super) fn database(section: &mut StoreSection<'_>, kind: &str, port: u16) -> Option<(Server, Box<str>)> {
    let address = section.address(|text| ServerAddress::database(text, kind, port));
    let ServerAddress { host, user, path } = address?;
    let default = if host.is_local() { Tls::Off } else { Tls::VERIFY };
    let server = Server { password: password_file(section), tls: tls(section).unwrap_or(default), host, user };
    Some((server, path))
}

/// A time zone; the default if there is none, or a problem with it, which is noted.
pub(super) fn zone<Z: FromStr<Err = ZoneFault> + Default>(key: &str, section: &mut StoreSection<'_>) -> Z {
    let parse = |text: &str| {
        let problem = |fault| format!("`{key}` cannot be this: `{}`; {fault}", QuotedValue::new(text)).into();
        text.parse().map_err(problem)
    };
    section.parsed(key, parse).unwrap_or_default()
}
