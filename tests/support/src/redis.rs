//! How Redis and Valkey are started.

use super::kind::{Setup, text};
use super::programs;

/// The name of its socket within the folder.
pub(super) const SOCKET: &str = "redis.sock";

/// How many numbered databases it has: one for each test that wants one.
pub(super) const DATABASES: u32 = 4096;

/// The server. What was written outlives it, as with the others, but not the machine.
pub(super) fn serve(program: &str, setup: &Setup<'_>) -> Vec<String> {
    let mut words = vec![programs::find(program)];
    let mut set = |name: &str, value: &str| words.extend([format!("--{name}"), value.to_owned()]);
    set("bind", "127.0.0.1");
    set("unixsocket", &text(setup.folder.join(SOCKET)));
    set("unixsocketperm", "700");
    set("dir", &text(setup.folder.to_owned()));
    set("databases", &DATABASES.to_string());
    set("aclfile", &setup.place("users.acl", ""));
    set("save", "");
    set("appendonly", "yes");
    set("appendfsync", "no");
    match setup.tls {
        None => set("port", &setup.port.to_string()),
        Some(certificates) => {
            set("port", "0");
            set("tls-port", &setup.port.to_string());
            set("tls-auth-clients", "optional");
            set("tls-ca-cert-file", &setup.place("ca.pem", certificates.ca()));
            set("tls-cert-file", &setup.place("server.pem", certificates.server_certificate()));
            set("tls-key-file", &setup.place("server.key", certificates.server_key()));
        }
    }
    for setting in setup.settings {
        let (name, value) = setting.split_once('=').expect("a setting is name=value");
        set(name, value);
    }
    words
}
