//! The rights that a preset prints are sufficient, and each is necessary.

use std::fs;
use std::process::Command;

use lease_exporter::preset::Preset;

use super::airflow::{self, VERSIONS, Version};
use super::cases::{Sql, System};
use super::source_reader::{SourceReader, configuration};
use super::{db_scheduler, quartz, river, shedlock};

/// The printed statements for a role.
fn grants(system: &System, variant: Option<&str>, role: &str) -> Vec<String> {
    let store = match system.sql {
        Sql::Postgres => "postgres",
        Sql::Mysql => "mysql",
    };
    let views = Preset::named(system.preset).unwrap().with([]).views(store);
    let view = views.into_iter().find(|view| view.variant.as_deref() == variant).unwrap();
    let statements = view.grants.split(';').map(str::trim).filter(|grant| !grant.is_empty());
    statements.map(|grant| grant.replace("lease_exporter", role)).collect()
}

fn check(system: &System, variant: Option<&str>) {
    let role = format!("least_{}", system.database.name());
    let (granted_to, revoke) = match system.sql {
        Sql::Postgres => (role.clone(), format!("DROP OWNED BY {role};")),
        Sql::Mysql => (format!("{role}@'%'"), format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {role}@'%';")),
    };
    let create = match system.sql {
        Sql::Postgres => format!("CREATE ROLE {role} LOGIN PASSWORD 'of the least';"),
        Sql::Mysql => format!("CREATE USER {granted_to} IDENTIFIED BY 'of the least';"),
    };
    system.database.execute(&create);
    let folder = tempfile::tempdir().unwrap();
    let password_file = folder.path().join("password");
    fs::write(&password_file, "of the least").unwrap();
    let url = system.database.url().replace(system.database.reader().name(), &role);
    let look = || SourceReader::at(&configuration(system.preset, &url, &password_file, "", "")).look();
    let grants = grants(system, variant, &role);
    let what = format!("{} on {:?} {variant:?}", system.preset, system.sql);

    assert!(look().is_err(), "{what}: without any");
    for left_out in 0..grants.len() {
        let others = grants.iter().enumerate().filter(|(at, _)| *at != left_out);
        system.database.execute(&others.map(|(_, grant)| format!("{grant};\n")).collect::<String>());
        let error = look().expect_err(&format!("{what}: without {}", grants[left_out]));
        assert!(matches!(error.failure().as_str(), "store_refused" | "schema_mismatch"), "{what}: {error}");
        system.database.execute(&revoke);
    }
    system.database.execute(&grants.iter().map(|grant| format!("{grant};\n")).collect::<String>());
    look().unwrap_or_else(|error| panic!("{what}: {error}"));
    let drop = match system.sql {
        Sql::Postgres => format!("DROP OWNED BY {role}; DROP ROLE {role};"),
        Sql::Mysql => format!("DROP USER {granted_to};"),
    };
    system.database.execute(&drop);
}

#[test]
fn the_rights_that_a_preset_prints_are_enough_and_each_is_needed() {
    check(&river::system(), None);
    for sql in [Sql::Postgres, Sql::Mysql] {
        check(&shedlock::system(sql), None);
        check(&db_scheduler::system(sql), None);
        check(&quartz::system(sql), None);
        for version in VERSIONS {
            let variant = match version {
                Version::Two => "airflow-2",
                Version::Three => "airflow-3",
                Version::ThreeFlagged => "airflow-3-flagged",
            };
            check(&airflow::system(sql, version), Some(variant));
        }
    }
}

/// The output of `lease-exporter presets` with its placeholders replaced. It also creates the user, and sets the schema
/// of the tables.
#[test]
fn the_rights_are_printed_as_statements_that_run_as_they_are() {
    for system in [river::system(), quartz::system(Sql::Postgres), quartz::system(Sql::Mysql)] {
        let (name, role) = (system.database.name(), format!("whole_{}", system.database.name()));
        let (store, source) = match system.sql {
            Sql::Postgres => ("postgres", "schema: inner_schema"),
            Sql::Mysql => ("mysql", ""),
        };
        if system.sql == Sql::Postgres {
            // Neither the search path nor rights of PUBLIC give access.
            system
                .database
                .execute("ALTER SCHEMA public RENAME TO inner_schema; REVOKE ALL ON SCHEMA inner_schema FROM PUBLIC;");
            system.database.execute(&format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC"));
        }
        let arguments = ["presets", system.preset, "--store", store];
        let output = Command::new(env!("CARGO_BIN_EXE_lease-exporter")).args(arguments).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let rights = page.split_once("rights to grant (put yours for PASSWORD, ").unwrap().1;
        let rights = rights.split_once(":\n").unwrap().1.split("\n\n").next().unwrap();
        let replaced = [
            ("lease_exporter", role.as_str()),
            ("THE_DATABASE", name),
            ("THE_SCHEMA", "inner_schema"),
            ("'PASSWORD'", "'whole'"),
        ];
        let rights = replaced.iter().fold(rights.to_owned(), |rights, (from, to)| rights.replace(from, to));
        system.database.execute(&rights);
        let folder = tempfile::tempdir().unwrap();
        let password_file = folder.path().join("password");
        fs::write(&password_file, "whole").unwrap();
        let url = system.database.url().replace(system.database.reader().name(), &role);
        let looked = SourceReader::at(&configuration(system.preset, &url, &password_file, source, "")).look();
        looked.unwrap_or_else(|error| panic!("{} on {store}: {error}\n{rights}", system.preset));
        system.database.execute(&match system.sql {
            Sql::Postgres => format!("DROP OWNED BY {role}; DROP ROLE {role};"),
            Sql::Mysql => format!("DROP USER {role};"),
        });
    }
}

/// The reader must not see the arguments of jobs.
#[test]
fn no_granted_right_reads_the_arguments_of_jobs() {
    for (system, payload) in [
        (river::system(), "SELECT args FROM river_job"),
        (db_scheduler::system(Sql::Postgres), "SELECT task_data FROM scheduled_tasks"),
        (quartz::system(Sql::Postgres), "SELECT job_data FROM qrtz_triggers"),
    ] {
        let role = format!("least_{}", system.database.name());
        let grants = grants(&system, None, &role).join(";\n");
        system.database.execute(&format!("CREATE ROLE {role};\n{grants};"));
        let (table, column) = payload.split_once(" FROM ").map(|(column, table)| (table, &column[7..])).unwrap();
        let may =
            system.database.query(&format!("SELECT has_column_privilege('{role}', '{table}', '{column}', 'SELECT')"));
        assert_eq!(may, "f", "{payload}");
        system.database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role};"));
    }
}
