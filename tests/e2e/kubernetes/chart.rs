//! `deploy/helm/lease-exporter/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::objects::{Object, parse};
use super::rules::Rules;
use super::tools::{helm, kustomize};
use crate::harness::exporter::configure;
use crate::harness::repository;
use crate::harness::run;

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
fn helm_lint_reports_nothing() {
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
fn default_values_render_a_deployment() {
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
    assert_eq!(kinds, ["ConfigMap", "PodMonitor", "Pod"]);
    // The one pod is a test's: `helm test` sees that the exporter takes what would otherwise hold up schedulers.
    let test = one(&objects, "Pod");
    assert_eq!(test.text("/metadata/annotations/helm.sh~1hook"), "test");
    let check = json!(["check", "--config.file=/etc/lease-exporter/exporter.yml"]);
    assert_eq!(test.at("/spec/containers"), &json!([test.at("/spec/containers/0")]));
    assert_eq!(test.at("/spec/containers/0/args"), &check);

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
fn a_releases_monitor_finds_its_own_sidecars_alone() {
    let sidecar = flag(&repository("deploy/helm/lease-exporter/ci/sidecar-values.yaml"));
    let selected = |release: &str| {
        let objects = parse(&helm(&["template", release, &chart(), &sidecar]).unwrap());
        one(&objects, "PodMonitor").text("/spec/selector/matchLabels/lease-exporter~1scrape").to_owned()
    };
    assert_ne!(selected("one"), selected("two"));
    let notes = helm(&["install", "one", &chart(), "--dry-run=client", &sidecar]).unwrap();
    assert!(notes.contains(&format!("to their labels  lease-exporter/scrape: {}\n", selected("one"))), "{notes}");
}

#[test]
fn a_sidecar_waits_for_the_secret_only_if_it_cannot_start_without() {
    let sidecar = flag(&repository("deploy/helm/lease-exporter/ci/sidecar-values.yaml"));
    let optional = |flags: &[&str]| {
        let objects = rendered(&[&[sidecar.as_str()], flags].concat());
        one(&objects, "Pod").at("/spec/volumes/1/secret/optional").clone()
    };
    assert_eq!(optional(&[]), Value::Null);
    assert_eq!(optional(&["--set=config.token_key_file=null"]), true);
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
fn rules_that_tell_namespaces_apart_are_those_of_the_mixin() {
    for labels in [&["namespace"][..], &["cluster", "namespace"]] {
        let mixin = repository("alerts/mixin/mixin.libsonnet");
        let expression = format!(
            "local mixin = (import '{}') + {{ _config+:: {{ groupLabels: {labels:?} }} }};
            mixin.prometheusRules.groups + mixin.prometheusAlerts.groups",
            mixin.display()
        );
        let output = Command::new("jsonnet").args(["--exec", &expression]).output().expect("jsonnet: run `make tools`");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected: Value = serde_json::from_slice(&output.stdout).unwrap();
        let chosen = format!("--set=alerts.enabled=true,alerts.groupLabels={{{}}}", labels.join(","));
        let objects = rendered(&[&chosen]);
        let groups = one(&objects, "PrometheusRule").at("/spec/groups");
        let rules = |groups: &Value| {
            let of_group = |group: &Value| group["rules"].as_array().unwrap().clone();
            groups.as_array().unwrap().iter().flat_map(of_group).collect::<Vec<_>>()
        };
        for (rule, expected) in rules(groups).iter().zip(rules(&expected)) {
            assert_eq!(rule, &expected);
        }
        assert_eq!(groups, &expected);
        Rules::new().hold(&chosen, &objects);
    }
}

#[test]
fn copy_without_the_rules_reports_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("cp").args(["-r", &chart()]).arg(folder.path()).status().unwrap().success());
    let copy = folder.path().join("lease-exporter");
    fs::remove_dir_all(copy.join("files")).unwrap();
    let said = helm(&["template", "main", copy.to_str().unwrap(), "--set=alerts.enabled=true"]).unwrap_err();
    assert!(said.contains("alerts.enabled: this copy of the chart has no files/lease.rules.yaml"), "{said}");
}

#[test]
fn an_image_is_named_by_its_digest_where_there_is_one() {
    let digest = format!("sha256:{}", "0f".repeat(32));
    let image = |flags: &[&str]| {
        let objects = rendered(flags);
        one(&objects, "Deployment").text("/spec/template/spec/containers/0/image").to_owned()
    };
    assert_eq!(image(&[&format!("--set=image.digest={digest}")]), format!("lease-exporter@{digest}"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(image(&["--set=image.repository=a.example:5000/b/c"]), format!("a.example:5000/b/c:{version}"));
}

#[test]
fn object_names_are_valid_for_any_release_name() {
    for (release, expected) in [
        ("main", "main-lease-exporter"),
        ("my.release", "my-release-lease-exporter"),
        ("1st", "lease-exporter-1st"),
        ("lease-exporter", "lease-exporter"),
        ("1.lease-exporter", "lease-exporter-1-lease-exporter"),
    ] {
        let objects = parse(&helm(&["template", release, &chart()]).unwrap());
        assert_eq!(one(&objects, "Service").text("/metadata/name"), expected);
    }
}

#[test]
fn the_configurations_keys_are_those_that_the_exporter_knows() {
    let schema = parse(&fs::read_to_string(format!("{}/values.schema.json", chart())).unwrap()).remove(0);
    let folder = tempfile::tempdir().unwrap();
    for (pointer, unknown) in [
        ("/properties/config/properties", "planted: 1"),
        ("/definitions/source/properties", "sources: [{ planted: 1 }]"),
        ("/definitions/source/properties/tls/properties", "sources: [{ tls: { planted: 1 } }]"),
        ("/properties/config/properties/defaults/properties", "defaults: { planted: 1 }"),
        ("/definitions/lease/properties", "leases: [{ planted: 1 }]"),
        ("/definitions/lease/properties/match/properties", "leases: [{ match: { planted: 1 } }]"),
        ("/properties/config/properties/metrics/properties", "metrics: { planted: 1 }"),
    ] {
        let file = configure(folder.path(), unknown);
        let said = run(&["check", &format!("--config.file={}", file.display())]).stderr;
        let line = said.split_once("the keys here are ").unwrap_or_else(|| panic!("{unknown}: {said}")).1;
        let exporters: BTreeSet<_> = line.lines().next().unwrap().split(", ").collect();
        // The chart itself says where these belong.
        let known = schema.at(pointer).as_object().unwrap().keys().map(String::as_str);
        let known: BTreeSet<_> = known.filter(|key| !["password", "token_key"].contains(key)).collect();
        assert_eq!(known, exporters, "{pointer}");
    }
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
    assert!(later.contains("1. Done") && later.contains("2. Done"), "{later}");
    assert!(later.contains("3. Done: config.leases names LeaseNoLeader, LeaseWorkStalled, which fire"), "{later}");
    assert!(!later.contains("nothing does"), "{later}");
    let named_alone = notes(&[&sources, "--set=alerts.enabled=false"]);
    assert!(named_alone.contains("2. Load the rules") && !named_alone.contains("nothing does"), "{named_alone}");
    let loaded = notes(&["--set=alerts.enabled=true"]);
    assert!(loaded.contains("nothing does") && loaded.contains("3. Once that is quiet"), "{loaded}");
    // One name for two sources.
    let warning = "either hides the other's outage";
    assert!(loaded.contains("a \"jobs\" that is not the same store") && loaded.contains(warning), "{loaded}");
    let apart = notes(&["--set=alerts.enabled=true,alerts.groupLabels={namespace}"]);
    assert!(!apart.contains(warning) && apart.contains("apart by namespace"), "{apart}");
    assert!(!first.contains(warning), "without rules nothing is hidden: {first}");
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
    let addresses = [
        "postgres://u:planted/w@h/d",
        "postgres://u:planted?@h/d",
        "postgres://u@h/d?password=planted",
        "redis://:planted@h",
        "sqlite://u:planted@h/d",
        "host=h password=planted",
        "u:planted@h/d",
    ];
    for address in addresses {
        let said = refusal(&[&format!("{store}={address}")]);
        let reason = "config.sources: the password of source a belongs into the Secret";
        assert!(said.contains(reason) && !said.contains("planted"), "{address}: {said}");
    }
    for address in ["redis+sentinel://me@a:1\\,[::1]:2/main/7", "sqlite:///a:b@c.db", "postgres://u%40v@[::1]:5432/d"] {
        assert!(!rendered(&[&format!("{store}={address}")]).is_empty());
    }
    for interval in ["1m30s", "1d", "500ms"] {
        let objects = rendered(&["--set=monitor.kind=PodMonitor", &format!("--set=monitor.interval={interval}")]);
        assert_eq!(one(&objects, "PodMonitor").text("/spec/podMetricsEndpoints/0/interval"), interval);
    }
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
        (&["--set=config.secrets.x=planted"], "at '/config': additional properties 'secrets' not allowed"),
        (&["--set=config.sources[0].Password=planted"], "additional properties 'Password' not allowed"),
        (&["--set=config.sources[0].tls.password=planted"], "additional properties 'password' not allowed"),
        (&["--set=image.repository=a@sha256:0"], "at '/image/repository': 'a@sha256:0' does not match pattern"),
        (&["--set=image.repository=a.example/b:1"], "at '/image/repository'"),
        (&["--set=image.tag=sha256:0"], "at '/image/tag': 'sha256:0' does not match pattern"),
        (&["--set=image.digest=sha256:0"], "at '/image/digest'"),
        (&[r"--set=podLabels.app\.kubernetes\.io/name=a"], "podLabels: app.kubernetes.io/name is the chart's own"),
        (&["--set=podAnnotations.checksum/config=a"], "podAnnotations: checksum/config is the chart's own"),
        (
            &["--set=monitor.kind=PodMonitor", r"--set=monitor.labels.helm\.sh/chart=a"],
            "monitor.labels: helm.sh/chart is the chart's own",
        ),
        (
            &["--set=alerts.enabled=true", r"--set=alerts.labels.helm\.sh/chart=a"],
            "alerts.labels: helm.sh/chart is the chart's own",
        ),
        (&["--set=extraArgs={--web.listen-address=:9999}"], "extraArgs: --web.listen-address=:9999 is the chart's own"),
        (&["--set=alerts.groupLabels={a-b}"], "at '/alerts/groupLabels/0'"),
        (
            &["--set=alerts.enabled=true,alerts.groupLabels={source}"],
            "alerts.groupLabels: source is a label that the rules",
        ),
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
