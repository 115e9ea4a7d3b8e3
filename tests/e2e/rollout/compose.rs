//! `deploy/compose.yaml`, checked without a container engine.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{contents, repository, run};

/// The services, with their YAML merge keys resolved.
fn services() -> Vec<(String, Value)> {
    let text = contents("deploy/compose.yaml");
    let mut compose: Value = serde_saphyr::from_str(&text).unwrap();
    let Value::Object(services) = compose["services"].take() else { panic!("no services") };
    assert_eq!(services.len(), 7);
    services.into_iter().collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn every_service_of_compose_is_confined_pinned_and_on_loopback_alone() {
    for (name, service) in services() {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(texts(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(texts(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        assert!(texts(&service["ports"]).iter().all(|port| port.starts_with("127.0.0.1:")), "{name}");
        if service["build"].is_null() {
            let (image, tag) = service["image"].as_str().unwrap().split_once(':').unwrap();
            let numbers = tag.trim_start_matches('v').split('.').filter(|part| part.parse::<u32>().is_ok()).count();
            assert_eq!(numbers, 3, "{name}: {image}:{tag}");
        }
    }
}

/// Services that build an image of the same name at the same time conflict.
#[test]
fn image_names_in_compose_are_unique() {
    let built: Vec<_> = services().into_iter().filter(|(_, service)| !service["build"].is_null()).collect();
    assert_eq!(built.len(), 4);
    for (name, service) in built {
        assert!(service["image"].is_null(), "{name}: {}", service["image"]);
    }
}

#[test]
fn everything_that_compose_mounts_from_here_is_here() {
    let mut mounted = BTreeSet::new();
    for (name, service) in services() {
        for mount in texts(&service["volumes"]) {
            let (from, to) = mount.split_once(':').unwrap();
            if from.starts_with('.') {
                assert!(repository("deploy").join(from).exists(), "{name} mounts {from}");
                assert!(to.ends_with(":ro"), "{name} can write to {from}");
                mounted.insert(from.to_owned());
            }
        }
    }
    let expected = [
        "../alerts",
        "./alertmanager",
        "./grafana/lease-exporter.json",
        "./grafana/provisioning",
        "./local",
        "./prometheus",
    ];
    assert_eq!(mounted, expected.map(str::to_owned).into());
}

/// The program refuses unknown arguments before it does anything.
#[test]
fn the_program_takes_the_arguments_that_compose_gives_it() {
    let mut schedulers = 0;
    for (name, service) in services() {
        let arguments = texts(&service["command"]);
        if arguments.first() == Some(&"scheduler") {
            schedulers += 1;
            // A store that cannot exist, so that the program ends.
            let store = "--store=sqlite:///proc/nowhere/scheduler.db";
            let replaced: Vec<&str> =
                arguments.iter().map(|word| if word.starts_with("--store=sqlite:") { store } else { word }).collect();
            assert!(replaced.contains(&store), "{name}: {arguments:?}");
            let ended = run(&replaced);
            assert!(ended.stderr.starts_with("lease-exporter: --store:"), "{name}: {}", ended.all());
        }
    }
    assert_eq!(schedulers, 2);
}
