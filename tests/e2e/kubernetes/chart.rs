//! `deploy/helm/lease-exporter/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::objects::{Object, parse};
use super::rules::Rules;
use super::tools::{helm, kustomize, repository};

fn chart() -> String {
    repository("deploy/helm/lease-exporter").to_str().unwrap().to_owned()
}

/// The files of values that the chart is tried with.
fn values() -> Vec<PathBuf> {
    let folder = repository("deploy/helm/lease-exporter/ci");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    files
}

fn flag(file: &Path) -> String {
    format!("--values={}", file.display())
}

/// What Helm would apply with these flags, by a release of the name `main`.
fn rendered(flags: &[&str]) -> Vec<Object> {
    let chart = chart();
    let yaml = helm(&[&["template", "main", &chart], flags].concat());
    parse(&yaml.unwrap_or_else(|error| panic!("{flags:?}: {error}")))
}

/// What Helm says of these flags, which it has to refuse.
fn refusal(flags: &[&str]) -> String {
    let chart = chart();
    helm(&[&["template", "main", &chart], flags].concat()).expect_err(&format!("{flags:?}"))
}

fn one<'a>(objects: &'a [Object], kind: &str) -> &'a Object {
    let mut of_kind = objects.iter().filter(|object| object.kind() == kind);
    let one = of_kind.next().unwrap_or_else(|| panic!("there is no {kind}"));
    assert!(of_kind.next().is_none(), "there is more than one {kind}");
    one
}

#[test]
fn helm_finds_nothing_to_say_of_the_chart() {
    helm(&["lint", "--strict", &chart()]).unwrap();
    for file in values() {
        helm(&["lint", "--strict", &chart(), &flag(&file)]).unwrap();
    }
}

#[test]
fn every_rendering_keeps_the_rules() {
    let mut rules = Rules::new();
    rules.hold("the chart as it is", &rendered(&[]));
    for file in values() {
        rules.hold(&flag(&file), &rendered(&[&flag(&file)]));
    }
}

#[test]
fn the_chart_is_of_the_programs_version() {
    let about = &parse(&helm(&["show", "chart", &chart()]).unwrap())[0];
    assert_eq!(about.text("/appVersion"), env!("CARGO_PKG_VERSION"));
    assert_eq!(about.text("/version"), env!("CARGO_PKG_VERSION"));
}

#[test]
fn without_values_it_is_a_deployment_and_what_that_needs() {
    let objects = rendered(&[]);
    let mut kinds: Vec<_> = objects.iter().map(Object::kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["ConfigMap", "Deployment", "Pod", "Service", "ServiceAccount"]);
    assert_eq!(one(&objects, "Pod").text("/metadata/annotations/helm.sh~1hook"), "test");
}

#[test]
fn in_sidecar_mode_there_is_no_pod_and_the_notes_print_the_container() {
    let sidecar = flag(&repository("deploy/helm/lease-exporter/ci/sidecar-values.yaml"));
    let objects = rendered(&[&sidecar]);
    let kinds: Vec<_> = objects.iter().map(Object::kind).collect();
    assert_eq!(kinds, ["ConfigMap", "PodMonitor"]);

    let said = helm(&["install", "main", &chart(), "--dry-run=client", &sidecar]).unwrap();
    let at = said.find("\ninitContainers:").unwrap();
    let (pod, _) = said[at..].split_once("\n\n").unwrap();
    let printed = &parse(pod)[0];
    // It is the one that kustomize adds, whose pod keeps the rules; only Helm's objects have the release's name.
    let objects = kustomize(&repository("deploy/kubernetes/examples/native-sidecar"));
    let mut added = objects.iter().find_map(Object::pod).unwrap().spec["initContainers"].clone();
    added[0]["imagePullPolicy"] = json!("IfNotPresent");
    assert_eq!(printed.at("/initContainers"), &added);
    let config = printed.at("/volumes/0/configMap/name");
    assert_eq!(config, rendered(&[&sidecar])[0].at("/metadata/name"));
}

#[test]
fn a_deployments_container_is_the_kustomizations() {
    let charts = rendered(&["--set=secretName=lease-exporter"]);
    let kustomization = kustomize(&repository("deploy/kubernetes/examples/standalone"));
    let container = |objects: &[Object]| one(objects, "Deployment").at("/spec/template/spec/containers/0").clone();
    let mut kustomizations = container(&kustomization);
    kustomizations["imagePullPolicy"] = json!("IfNotPresent");
    assert_eq!(container(&charts), kustomizations);
}

#[test]
fn alerts_turned_on_are_the_rules_of_the_project_as_they_stand_there() {
    let groups = |path: &str| {
        let rules = parse(&fs::read_to_string(repository(path)).unwrap()).remove(0);
        rules.at("/groups").as_array().unwrap().clone()
    };
    let projects = [groups("alerts/lease.rules.yaml"), groups("alerts/lease.alerts.yaml")].concat();
    let objects = rendered(&["--set=alerts.enabled=true", "--set=alerts.labels.role=rules"]);
    let rule = one(&objects, "PrometheusRule");
    assert_eq!(rule.at("/spec/groups"), &Value::from(projects.clone()));
    assert!(rule.0.to_string().contains("{{"), "what Prometheus fills in later");
    assert_eq!(rule.text("/metadata/labels/role"), "rules");
    // The chart as people get it is a packed one.
    let folder = tempfile::tempdir().unwrap();
    helm(&["package", &chart(), "--destination", folder.path().to_str().unwrap()]).unwrap();
    let packed = folder.path().join(format!("lease-exporter-{}.tgz", env!("CARGO_PKG_VERSION")));
    let yaml = helm(&["template", "main", packed.to_str().unwrap(), "--set=alerts.enabled=true"]).unwrap();
    assert_eq!(one(&parse(&yaml), "PrometheusRule").at("/spec/groups"), &Value::from(projects));

    let kustomizations = kustomize(&repository("deploy/kubernetes/examples/alerts"));
    assert_eq!(one(&kustomizations, "PrometheusRule").at("/spec/groups"), rule.at("/spec/groups"));
}

#[test]
fn another_configuration_rolls_the_pods() {
    let checksum = |flags: &[&str]| {
        let objects = rendered(flags);
        one(&objects, "Deployment").text("/spec/template/metadata/annotations/checksum~1config").to_owned()
    };
    assert_eq!(checksum(&[]).len(), 64);
    assert_eq!(checksum(&[]), checksum(&["--set=replicas=2"]));
    assert_ne!(checksum(&[]), checksum(&["--set=config.defaults.stall_after=7m"]));
}

#[test]
fn whole_numbers_of_the_configuration_stay_whole() {
    let objects = rendered(&["--set=config.sources[0].name=a", "--set=config.sources[0].max_leases=1000000"]);
    assert!(one(&objects, "ConfigMap").text("/data/exporter.yml").contains("max_leases: 1000000\n"));
}

#[test]
fn the_notes_say_what_to_do_next() {
    let notes = |flags: &[&str]| {
        let chart = chart();
        let said = helm(&[&["install", "main", &chart, "--dry-run=client"], flags].concat()).unwrap();
        said.split_once("\nNOTES:\n").unwrap().1.to_owned()
    };
    let first = notes(&[]);
    assert!(first.contains("Source jobs is the example"), "{first}");
    assert!(first.contains("2. Load the rules: alerts.enabled=true"), "{first}");
    let sources = flag(&repository("deploy/helm/lease-exporter/ci/alerts-values.yaml"));
    let later = notes(&[&sources]);
    assert!(!later.contains("example"), "{later}");
    assert!(later.contains("1. Done") && later.contains("2. Done") && later.contains("3. Once"), "{later}");
}

#[test]
fn every_value_is_in_the_schema_and_is_tried() {
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let read = |file: &str| parse(&fs::read_to_string(format!("{}/{file}", chart())).unwrap()).remove(0).0;
    let values = read("values.yaml");
    let mut known = keys(&read("values.schema.json")["properties"]);
    assert!(known.remove("global"), "Helm's own");
    assert_eq!(keys(&values), known);
    let everything = read("ci/everything-values.yaml");
    for (key, value) in values.as_object().unwrap().iter().filter(|(key, _)| *key != "mode") {
        assert!(everything.get(key).is_some_and(|tried| tried != value), "{key}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused_with_the_reason() {
    let store = "--set=config.sources[0].name=a,config.sources[0].preset=reference,config.sources[0].store";
    let password = format!("{store}=postgres://u:planted@h/d");
    let key = format!("{store}=postgres://h/d,config.sources[0].password=planted");
    let refused: &[(&[&str], &str)] = &[
        (&["--set=alert.enabled=true"], "additional properties 'alert' not allowed"),
        (&["--set=alerts.enable=true"], "at '/alerts': additional properties 'enable' not allowed"),
        (&["--set=alerts.enabled=yes"], "at '/alerts/enabled': got string, want boolean"),
        (&["--set=image.name=a"], "at '/image': additional properties 'name' not allowed"),
        (&["--set=image.repository="], "at '/image/repository': minLength"),
        (&["--set=mode=daemonset"], "at '/mode': value must be one of 'deployment', 'sidecar'"),
        (
            &["--set=monitor.kind=Probe"],
            "at '/monitor/kind': value must be one of 'none', 'PodMonitor', 'ServiceMonitor'",
        ),
        (
            &["--set=mode=sidecar,monitor.kind=ServiceMonitor"],
            "at '/monitor/kind': value must be one of 'none', 'PodMonitor'",
        ),
        (&["--set=monitor.interval=soon"], "at '/monitor/interval': 'soon' does not match pattern"),
        (&["--set=replicas=two"], "at '/replicas': got string, want integer"),
        (&["--set-json=config={\"sources\":null}"], "at '/config': missing property 'sources'"),
        (&["--set-json=config.sources=[]"], "at '/config/sources': minItems"),
        (&["--set=podLabels.a=true"], "at '/podLabels/a': got boolean, want string"),
        (&["--set=config.token_key=planted"], "config.token_key: the key belongs into the Secret"),
        (&[&password], "config.sources: the password of source a belongs into the Secret"),
        (&[&key], "config.sources: the password of source a belongs into the Secret"),
    ];
    for (flags, reason) in refused {
        let said = refusal(flags);
        assert!(said.contains(reason), "{flags:?}: {said}");
        assert!(!said.contains("planted"), "{flags:?}: {said}");
    }
}
