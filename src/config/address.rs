//! Where a store is.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::preset::Dialect;

use super::problem::{Problem, Shown};

/// Where a store is. It is printed as the kind of store alone: a source's name is what tells people which one is meant.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// An SQLite file.
    Sqlite {
        /// The file.
        path: PathBuf,
    },
}

impl StoreAddress {
    const BUILT: &str = "`sqlite`";
    const NOT_BUILT: [&str; 10] = [
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "redis",
        "rediss",
        "valkey",
        "etcd",
        "kubernetes",
        "kubernetes+https",
    ];

    /// The language that the store is read in.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite { .. } => Dialect::Sqlite,
        }
    }

    /// Reads an address; a relative path starts at `base_dir`.
    pub(super) fn parse(text: &str, base_dir: &Path) -> Result<Self, Problem> {
        // Of an SQLite file no password is ever needed, so it is told apart before secrets are looked for.
        if let Some(rest) = text.strip_prefix("sqlite://").or_else(|| (text == "sqlite:").then_some("")) {
            return sqlite(rest, base_dir);
        }
        if has_secret(text) {
            return Err(Problem::SecretInAddress);
        }
        let scheme = match text.split_once("://") {
            Some((scheme, _)) => scheme,
            // A cluster is where its own configuration says, so nothing need follow.
            None => text.strip_suffix(':').filter(|scheme| !scheme.contains(':')).ok_or(Problem::NoScheme)?,
        };
        match Self::NOT_BUILT.into_iter().find(|known| *known == scheme) {
            Some(scheme) => Err(Problem::SchemeNotBuilt { scheme, known: Self::BUILT }),
            None => Err(Problem::Scheme { scheme: Shown::new(scheme), known: Self::BUILT }),
        }
    }
}

fn sqlite(rest: &str, base_dir: &Path) -> Result<StoreAddress, Problem> {
    let fault = match rest {
        "" | "/" => "it names no file; write it as `sqlite:///path/to/file`",
        ":memory:" => "a database in memory has no other process that writes it; name a file",
        _ if rest.contains(['?', '#']) => {
            "it takes no parameters, an SQLite file has no password, and it is only ever opened to read; leave out what begins with `?` or `#`"
        }
        // In a path an `@` is a letter like any other, but before it, it ends a user's name and password.
        _ if names_user(rest.split('/').next().unwrap_or_default()) => {
            "it takes no user and no password, as an SQLite file has neither; write it as `sqlite:///path/to/file`"
        }
        _ if rest.contains('\0') => "no path has a zero byte in it; take it out",
        _ => return Ok(StoreAddress::Sqlite { path: base_dir.join(rest) }),
    };
    Err(Problem::SqliteAddress(fault))
}

/// Whether a user's name and a password stand before an `@`.
fn names_user(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Whether the address of what may have a password, well formed or not, holds what looks like a password.
fn has_secret(text: &str) -> bool {
    const NAMES: [&str; 7] = ["pass", "pwd", "secret", "token", "key=", "auth=", "credential"];
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let parameters = match rest.split_once(['?', '#']) {
        Some((_, parameters)) => parameters,
        // Without a scheme it may be a list of parameters and nothing else.
        None if scheme.is_empty() && rest.contains('=') => rest,
        None => "",
    };
    let parameters = parameters.to_ascii_lowercase();
    names_user(rest) || NAMES.iter().any(|name| parameters.contains(name))
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.dialect().as_str())
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreAddress, Problem> {
        StoreAddress::parse(text, Path::new("/etc/lease-exporter"))
    }

    #[test]
    fn a_path_is_absolute_or_starts_at_the_configurations_folder() {
        for (text, path) in [
            ("sqlite:///var/lib/a b@c.db", "/var/lib/a b@c.db"),
            ("sqlite://beside/it.db", "/etc/lease-exporter/beside/it.db"),
        ] {
            assert_eq!(parse(text), Ok(StoreAddress::Sqlite { path: path.into() }), "{text}");
        }
    }

    #[test]
    fn an_address_is_printed_without_its_path() {
        let address = parse("sqlite:///planted.db").unwrap();
        assert_eq!(format!("{address} {address:?}"), "sqlite sqlite");
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands_and_never_repeated() {
        for text in [
            "postgres://u:planted@h/db",
            "postgres://u:pla/n@ted@h/db",
            "postgres://u:planted?@h/db",
            "redis://:planted@h",
            "mysql://h/db?password=planted",
            "postgres://h/db?sslpassword=planted@x",
            "host=h user=u password=planted",
            "u:planted@h/db",
            "nosuch://u:planted@h/db",
        ] {
            assert_eq!(parse(text), Err(Problem::SecretInAddress), "{text}");
            assert!(!Problem::SecretInAddress.to_string().contains("planted"));
        }
    }

    #[test]
    fn what_is_no_address_of_a_store_in_this_build_is_refused_without_repeating_it() {
        for text in [
            "",
            "planted",
            "/planted",
            "sqlite:/planted",
            "sqlite://",
            "sqlite:",
            "sqlite://:memory:",
            "sqlite:///planted?mode=ro",
            "sqlite:///db?key=planted",
            "sqlite:///db#password=planted",
            "sqlite://u:planted@h/db",
            "postgres://planted/db",
            "kubernetes:",
            "nosuch://planted",
        ] {
            let problem = parse(text).unwrap_err();
            assert_ne!(problem, Problem::SecretInAddress, "{text}");
            assert!(!problem.to_string().contains("planted"), "{problem}");
        }
    }
}
