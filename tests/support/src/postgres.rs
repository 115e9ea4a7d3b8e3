//! How PostgreSQL is made and started.

use std::path::Path;

use super::kind::{Setup, text};
use super::programs;

/// The socket is private, so it needs no password. Logins over TCP have passwords.
const PLAIN: &str = "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// Over TCP nobody gets in without TLS, and who is of this group shows a certificate in their name instead of a password.
const TLS: &str = "local all all trust\nlocal replication all trust\n\
    hostssl all +by_certificate 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 scram-sha-256\n";

/// `initdb`, as quick as it can be.
pub(super) fn initialise(folder: &Path) -> Vec<String> {
    let data = text(folder.join("data"));
    [programs::find("initdb").as_str(), "-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        .into_iter()
        .chain(["--no-locale", "--no-sync", "--wal-segsize=1"])
        .map(str::to_owned)
        .collect()
}

/// The server.
pub(super) fn serve(setup: &Setup<'_>) -> Vec<String> {
    let program = programs::find("postgres");
    let folder = text(setup.folder.to_owned());
    let mut settings = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={}", setup.port),
        format!("unix_socket_directories={folder}"),
        "unix_socket_permissions=0700".to_owned(),
        format!("hba_file={}", setup.place("pg_hba.conf", if setup.tls.is_some() { TLS } else { PLAIN })),
        "fsync=off".to_owned(),
        // Among its data, so that nothing is left in /dev/shm if it is killed.
        "dynamic_shared_memory_type=mmap".to_owned(),
        "shared_buffers=16MB".to_owned(),
        "log_line_prefix=".to_owned(),
    ];
    if let Some(certificates) = setup.tls {
        settings.extend([
            "ssl=on".to_owned(),
            format!("ssl_ca_file={}", setup.place("ca.pem", certificates.ca())),
            format!("ssl_cert_file={}", setup.place("server.pem", certificates.server_certificate())),
            format!("ssl_key_file={}", setup.place("server.key", certificates.server_key())),
        ]);
    }
    // It counts what each statement costs. Where a packager left it out, the tests that ask it fail by themselves.
    let statements = Path::new(&program).with_file_name("../lib/pg_stat_statements.so");
    if statements.is_file() {
        settings.push("shared_preload_libraries=pg_stat_statements".to_owned());
    }
    settings.extend_from_slice(setup.settings);
    let settings = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
    [program, "-D".to_owned(), text(setup.folder.join("data"))].into_iter().chain(settings).collect()
}
