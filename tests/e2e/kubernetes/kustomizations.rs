//! `deploy/kubernetes/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::objects::{Object, Pod, at, parse};
use super::rules::Rules;
use super::tools::{kustomize, try_kustomize};
use crate::harness::repository;

/// The folders under one of `deploy/kubernetes/` that hold a kustomization of a kind.
fn of_kind(kind: &str, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let file = folder.join("kustomization.yaml");
    if file.exists() && parse(&fs::read_to_string(file).unwrap())[0].kind() == kind {
        found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(of_kind(kind, &entry.path()));
        }
    }
    found.sort();
    found
}

fn folder(path: &str) -> PathBuf {
    repository("deploy/kubernetes").join(path)
}

/// What becomes of files and folders of `deploy/kubernetes/` together.
fn overlay(resources: &[&str], components: &[&str], files: &[(&str, &Value)]) -> Vec<Object> {
    try_overlay(resources, components, files).unwrap_or_else(|said| panic!("{said}"))
}

/// The same, where kustomize may refuse it.
fn try_overlay(resources: &[&str], components: &[&str], files: &[(&str, &Value)]) -> Result<Vec<Object>, String> {
    let here = tempfile::Builder::new().prefix("overlay-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // kustomize takes relative paths alone.
    let up: PathBuf = here.path().canonicalize().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = |path: &&str| {
        let there = folder(path).canonicalize().unwrap();
        up.join(there.strip_prefix("/").unwrap()).to_str().unwrap().to_owned()
    };
    let mut resources: Vec<_> = resources.iter().map(relative).collect();
    for (name, content) in files {
        fs::write(here.path().join(name), content.to_string()).unwrap();
        resources.push((*name).to_owned());
    }
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "components": components.iter().map(relative).collect::<Vec<_>>(),
        "images": [{ "name": "lease-exporter", "newTag": env!("CARGO_PKG_VERSION") }],
    });
    fs::write(here.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
    try_kustomize(here.path())
}

fn kinds(objects: &[Object]) -> BTreeSet<&str> {
    objects.iter().map(Object::kind).collect()
}

#[test]
fn every_example_keeps_the_rules() {
    let examples = of_kind("Kustomization", &folder("examples"));
    assert!(examples.len() >= 4, "{examples:?}");
    let mut rules = Rules::new();
    for example in examples {
        rules.hold(example.to_str().unwrap(), &kustomize(&example));
    }
}

#[test]
fn every_component_is_part_of_an_example_or_of_the_next_test() {
    let kustomizations = of_kind("Kustomization", &folder(""));
    let read = |path: &PathBuf| fs::read_to_string(path.join("kustomization.yaml")).unwrap();
    let used = kustomizations.iter().map(read).collect::<String>();
    let unused = |path: &PathBuf| !used.contains(path.strip_prefix(folder("")).unwrap().to_str().unwrap());
    let components = of_kind("Component", &folder(""));
    assert!(components.len() >= 6, "{components:?}");
    assert_eq!(components.into_iter().filter(unused).collect::<Vec<_>>(), [folder("components/lease-reader")]);
}

#[test]
fn the_right_to_read_leases_is_no_more_than_that() {
    let objects = overlay(&["examples/standalone"], &["components/lease-reader"], &[]);
    Rules::new().hold("the example with it", &objects);
    let of_kind = |kind| objects.iter().find(|object| object.kind() == kind).unwrap();
    let rule =
        json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "watch"] });
    assert_eq!(of_kind("Role").at("/rules"), &json!([rule]));
    let binding = of_kind("RoleBinding");
    assert_eq!(binding.at("/roleRef/name"), of_kind("Role").at("/metadata/name"));
    assert_eq!(binding.at("/subjects/0/name"), of_kind("ServiceAccount").at("/metadata/name"));
    assert_eq!(binding.at("/subjects/0/name"), of_kind("Deployment").at("/spec/template/spec/serviceAccountName"));
}

/// Something of a kind that makes pods, with a container `main` in them.
fn workload(kind: &str, name: &str, labels: Value) -> Value {
    let version = if kind.ends_with("Job") { "batch/v1" } else { "apps/v1" };
    let pods = json!({
        "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "main", "image": "main:1" }] },
    });
    let spec = if kind == "CronJob" {
        json!({ "schedule": "@daily", "jobTemplate": { "spec": { "template": pods } } })
    } else {
        json!({ "template": pods })
    };
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "labels": labels }, "spec": spec })
}

const ASKS: &str = "lease-exporter/sidecar";

#[test]
fn a_sidecar_goes_into_what_asks_for_it_and_nothing_else() {
    let native =
        ["Deployment", "StatefulSet", "DaemonSet", "Job"].map(|kind| ("sidecar/native", "initContainers", kind));
    let plain = ["Deployment", "StatefulSet", "DaemonSet"].map(|kind| ("sidecar/plain", "containers", kind));
    for (component, list, kind) in native.into_iter().chain(plain) {
        let asks = workload(kind, "asks", json!({ ASKS: "true" }));
        let silent = workload(kind, "silent", json!({ "app": "silent" }));
        let objects = overlay(&[], &[component], &[("asks.json", &asks), ("silent.json", &silent)]);
        let of = |name| objects.iter().find(|object| object.text("/metadata/name") == name).unwrap();
        assert_eq!(of("silent").0, silent);
        let pod = of("asks").pod().unwrap();
        assert_eq!(pod.spec[list][0]["name"], "lease-exporter", "{component} {kind}");
        assert!(pod.spec["containers"].as_array().unwrap().iter().any(|container| container["name"] == "main"));
        assert_eq!(pod.metadata["labels"], json!({ "app": "asks", "lease-exporter/scrape": "true" }));
    }
}

#[test]
fn impossible_sidecar_request_is_refused_with_a_reason() {
    let refused = [
        ("sidecar/native", "CronJob", "no sidecar goes into this kind"),
        ("sidecar/native", "ReplicaSet", "no sidecar goes into this kind"),
        ("sidecar/plain", "Job", "no second container goes into this kind"),
        ("sidecar/plain", "CronJob", "no second container goes into this kind"),
    ];
    for (component, kind, reason) in refused {
        let asks = workload(kind, "asks", json!({ ASKS: "true" }));
        let said = try_overlay(&[], &[component], &[("asks.json", &asks)]).expect_err(kind);
        assert!(said.contains(reason) && said.contains("standalone"), "{component} {kind}: {said}");
        let silent = workload(kind, "silent", json!({}));
        assert_eq!(overlay(&[], &[component], &[("silent.json", &silent)])[0].at("/spec"), &silent["spec"]);
    }
}

#[test]
fn a_stand_alone_exporter_beside_sidecars_is_the_one_that_it_is_alone() {
    let scheduler = workload("Deployment", "scheduler", json!({ ASKS: "true" }));
    for component in ["sidecar/native", "sidecar/plain"] {
        let both = overlay(&["standalone"], &[component], &[("scheduler.json", &scheduler)]);
        let of = |name| both.iter().find(|object| object.id() == format!("Deployment/{name}")).unwrap().pod().unwrap();
        let names = |pod: Pod<'_>| pod.containers().map(|container| container["name"].clone()).collect::<Vec<_>>();
        assert_eq!(names(of("lease-exporter")), ["lease-exporter"], "{component}");
        assert_eq!(names(of("scheduler")), ["lease-exporter", "main"], "{component}");
    }
}

/// What is under `/run/secrets/` in a text: the Secrets' names and their keys.
fn secrets_named(text: &str) -> BTreeSet<(String, String)> {
    let named = text.split("/run/secrets/").skip(1).filter_map(|rest| {
        let is_of_a_path = |letter: char| letter.is_alphanumeric() || "-./".contains(letter);
        let (secret, key) = rest.split(|letter| !is_of_a_path(letter)).next()?.split_once('/')?;
        Some((secret.to_owned(), key.to_owned()))
    });
    named.collect()
}

#[test]
fn an_example_asks_for_every_secret_that_it_names_and_the_readme_makes_it() {
    let readme = fs::read_to_string(folder("README.md")).unwrap();
    let made: BTreeSet<_> = readme
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("$ kubectl create secret generic "))
        .flat_map(|line| {
            let (name, files) = line.split_once(' ').unwrap();
            let keys = files.split("--from-file=").skip(1).map(|file| file.split('=').next().unwrap());
            keys.map(|key| (name.to_owned(), key.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let mut named_at_all = BTreeSet::new();
    for example in of_kind("Kustomization", &folder("examples")) {
        let objects = kustomize(&example);
        let named = secrets_named(&objects.iter().map(|object| object.0.to_string()).collect::<String>());
        assert!(named.is_subset(&made), "{}: {named:?}; the README makes {made:?}", example.display());
        let pod = objects.iter().find_map(Object::pod).unwrap();
        let volumes = pod.spec["volumes"].as_array().unwrap();
        let secret = volumes
            .iter()
            .find_map(|volume| volume.get("secret").filter(|_| volume["name"] == "lease-exporter-secrets"));
        let secret = secret.unwrap();
        let items = secret["items"].as_array().into_iter().flatten();
        let asked: BTreeSet<_> =
            items.map(|item| ("lease-exporter".to_owned(), item["key"].as_str().unwrap().to_owned())).collect();
        let of_exporter: BTreeSet<_> = named.iter().filter(|(name, _)| name == "lease-exporter").cloned().collect();
        assert_eq!(asked, of_exporter, "{}", example.display());
        // Whoever needs none is not held up for it.
        assert_eq!(secret["optional"], asked.is_empty(), "{}", example.display());
        named_at_all.extend(named);
    }
    assert_eq!(named_at_all, made, "and none that nobody names");
}

#[test]
fn alerts_and_rights_are_off_by_default() {
    for example in of_kind("Kustomization", &folder("")) {
        let objects = kustomize(&example);
        let asks = example.ends_with("examples/alerts");
        assert_eq!(kinds(&objects).contains("PrometheusRule"), asks, "{}", example.display());
        for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
            assert!(!kinds(&objects).contains(kind), "{} has a {kind}", example.display());
        }
    }
}

#[test]
fn a_sidecar_differs_from_a_second_container_in_its_place_alone() {
    let native = kustomize(&folder("examples/native-sidecar"));
    let plain = kustomize(&folder("examples/plain-sidecar"));
    let pod = |objects: &[Object]| objects.iter().find_map(|object| Some(object.pod()?.spec.clone())).unwrap();
    let (native, plain) = (pod(&native), pod(&plain));
    assert_eq!(at(&native, "/initContainers/0/restartPolicy"), "Always");
    let (mut sidecar, mut second) = (native["initContainers"][0].clone(), plain["containers"][0].clone());
    sidecar.as_object_mut().unwrap().remove("restartPolicy");
    // The example's own volume.
    let mounts = second["volumeMounts"].as_array_mut().unwrap();
    mounts.retain(|mount| mount["name"] != "data");
    assert_eq!(sidecar, second);
    let volumes = |pod: &Value| -> Vec<Value> {
        let all = pod["volumes"].as_array().unwrap().iter();
        let of_exporter = all.filter(|volume| volume["name"].as_str().unwrap().starts_with("lease-exporter"));
        let mut volumes: Vec<_> = of_exporter.cloned().map(without_hash).map(without_keys).collect();
        // A patch moves what it touches to the front.
        volumes.sort_by_key(|volume| volume["name"].to_string());
        volumes
    };
    assert_eq!(volumes(&native), volumes(&plain));
}

/// A generated ConfigMap's name ends with a hash of what it holds.
fn without_hash(mut volume: Value) -> Value {
    if let Some(name) = volume.pointer_mut("/configMap/name") {
        let text = name.as_str().unwrap();
        *name = text[..text.rfind('-').unwrap()].into();
    }
    volume
}

/// Which keys of the Secret there must be is the example's own.
fn without_keys(mut volume: Value) -> Value {
    if let Some(secret) = volume.pointer_mut("/secret").and_then(Value::as_object_mut) {
        secret.retain(|key, _| key != "items" && key != "optional");
    }
    volume
}

#[test]
fn another_configuration_rolls_the_pods() {
    let name = |example| {
        let objects = kustomize(&folder(example));
        let pod = objects.iter().find_map(Object::pod).unwrap();
        let volumes = pod.spec["volumes"].as_array().unwrap().clone();
        volumes.iter().find_map(|volume| volume.pointer("/configMap/name").cloned()).unwrap()
    };
    assert_ne!(name("examples/native-sidecar"), name("examples/alerts"));
}
