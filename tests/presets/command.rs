//! `lease-exporter presets`: the printed commands and configurations are valid.

use std::path::Path;
use std::process::{Command, Output};

use lease_exporter::config::{Config, Families};
use lease_exporter::preset::Preset;

fn presets(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lease-exporter")).arg("presets").args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = presets(arguments);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// `UPDATE_GOLDEN=1` writes the expected texts.
#[test]
fn every_preset_is_listed_and_printed_as_it_was() {
    let mut pages = vec![("presets.txt".to_owned(), printed(&[]))];
    pages.extend(
        Preset::all().iter().map(|preset| (format!("presets-{}.txt", preset.name()), printed(&[preset.name()]))),
    );
    for (name, text) in pages {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "{name} differs; UPDATE_GOLDEN=1 rewrites it"
        );
    }
}

#[test]
fn the_example_of_each_preset_and_kind_of_store_is_a_configuration() {
    for preset in Preset::all() {
        for store in preset.stores() {
            let page = printed(&[preset.name(), "--store", store]);
            let (_, example) = page.split_once("\nExample:\n").unwrap();
            let yaml: String = example.lines().map(|line| format!("{}\n", &line[2..])).collect();
            let config = Config::parse(&yaml, "example.yml", Path::new("/"), Families { all: &[], of_alerts: &[] })
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config.sources[0].store.kind().name(), store, "{yaml}");
        }
    }
}

#[test]
fn the_documents_have_a_row_for_each_preset_with_its_kind_and_clock() {
    let document = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/presets.md")).unwrap();
    for preset in Preset::all() {
        let rows = document.lines().filter(|line| line.starts_with(&format!("| `{}` |", preset.name())));
        let [row] = rows.collect::<Vec<_>>().try_into().unwrap_or_else(|rows| panic!("{}: {rows:?}", preset.name()));
        let cells: Vec<&str> = row.split(" | ").collect();
        assert_eq!((cells[2], cells[3]), (preset.kind.as_str(), preset.clock.as_str()), "{row}");
    }
}

#[test]
fn one_kind_of_store_is_printed_alone() {
    let page = printed(&["quartz", "--store", "mysql"]);
    assert!(page.contains("mysql, statement:") && !page.contains("postgres"), "{page}");
}

#[test]
fn parameters_of_the_command_line_are_in_all_that_is_printed() {
    let page = printed(&["quartz", "--store", "postgres", "--parameter", "table_prefix=APP_"]);
    assert!(page.contains("ON APP_TRIGGERS TO lease_exporter") && page.contains("FROM APP_TRIGGERS"), "{page}");
    assert!(page.contains("\n        table_prefix: APP_\n") && !page.contains("FROM QRTZ_"), "{page}");
    let page = printed(&["redbeat", "--parameter", "key_prefix=app:", "--parameter", "lock_timeout=25s"]);
    assert!(
        page.contains("~app::lock") && page.contains("ttl: 25s") && page.contains("key_prefix: \"app:\""),
        "{page}"
    );
    let page = printed(&["quartz", "--parameter", "clustered=false"]);
    assert!(page.contains("\n        clustered: false\n"), "what was given counts more than the example's own: {page}");
}

#[test]
fn examples_show_what_works_best() {
    let page = printed(&["quartz"]);
    let (_, example) = page.split_once("\nExample:\n").unwrap();
    for line in ["store: postgres://", "clustered: true", "overdue_after: "] {
        assert!(example.contains(line), "{line}: {example}");
    }
    assert!(printed(&["shedlock"]).split_once("\nExample:\n").unwrap().1.contains("cadence: "));
}

#[test]
fn unknown_names_are_refused_with_exit_code_3_and_the_known_names() {
    for (arguments, told) in [
        (&["quarz"][..], "error: invalid value 'quarz' for '[NAME]'\n  [possible values: airflow, "),
        (&["nothing-like-it"], "error: invalid value 'nothing-like-it' for '[NAME]'\n  [possible values: airflow, "),
        (&["river", "--store", "mysql"], "lease-exporter: the preset `river` does not read mysql; it reads postgres\n"),
        (&["river", "--store", "oracle"], "error: invalid value 'oracle' for '--store <KIND>'"),
        (
            &["river", "--parameter", "table=x"],
            "lease-exporter: the preset `river` has no parameter \"table\"; it has `lease_ttl`\n",
        ),
        (
            &["quartz", "--parameter", "table_prefix=a;b"],
            "lease-exporter: the parameter `table_prefix` cannot be \"a;b\"; write letters, digits and `_`, ",
        ),
        (
            &["quartz", "--parameter", "table_prefix"],
            "error: invalid value 'table_prefix' for '--parameter <NAME=VALUE>': write",
        ),
        (&["--store", "mysql"], "error: the following required arguments were not provided:"),
    ] {
        let output = presets(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &[][..]), "{arguments:?}");
        assert!(stderr.starts_with(told), "{arguments:?}: {stderr}");
    }
}
