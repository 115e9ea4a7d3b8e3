//! How MariaDB is made and started.

use std::path::Path;

use super::kind::{Setup, text};
use super::programs;

/// The name of its socket within the folder.
pub(super) const SOCKET: &str = "mariadb.sock";

/// `mariadb-install-db`, whose `root` has no password but gets in over the private socket alone.
pub(super) fn initialise(folder: &Path) -> Vec<String> {
    vec![
        programs::find("mariadb-install-db"),
        "--no-defaults".to_owned(),
        format!("--datadir={}", text(folder.join("data"))),
        "--auth-root-authentication-method=normal".to_owned(),
        "--skip-test-db".to_owned(),
        "--innodb-log-file-size=8M".to_owned(),
    ]
}

/// The server.
pub(super) fn serve(setup: &Setup<'_>) -> Vec<String> {
    let mut words = vec![
        programs::find("mariadbd"),
        "--no-defaults".to_owned(),
        format!("--datadir={}", text(setup.folder.join("data"))),
        format!("--tmpdir={}", text(setup.folder.to_owned())),
        format!("--socket={}", text(setup.folder.join(SOCKET))),
        format!("--pid-file={}", text(setup.folder.join("mariadb.pid"))),
        format!("--port={}", setup.port),
        "--bind-address=127.0.0.1".to_owned(),
        // Else 127.0.0.1 were `localhost`, whose root has no password.
        "--skip-name-resolve".to_owned(),
        "--innodb-log-file-size=8M".to_owned(),
        "--innodb-buffer-pool-size=16M".to_owned(),
        // Data need to outlive the server, not the machine.
        "--innodb-flush-log-at-trx-commit=2".to_owned(),
        // The machine has few of the kernel's, for all servers together.
        "--innodb-use-native-aio=OFF".to_owned(),
    ];
    if let Some(certificates) = setup.tls {
        words.extend([
            "--require-secure-transport=ON".to_owned(),
            format!("--ssl-ca={}", setup.place("ca.pem", certificates.ca())),
            format!("--ssl-cert={}", setup.place("server.pem", certificates.server_certificate())),
            format!("--ssl-key={}", setup.place("server.key", certificates.server_key())),
        ]);
    }
    words.extend(setup.settings.iter().map(|setting| format!("--{setting}")));
    words
}
