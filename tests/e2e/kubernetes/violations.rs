//! The deployment rules detect violations: valid objects are broken in one way at a time.

use serde_json::{Value, json};

use super::objects::{Object, parse};
use super::rules::Rules;
use super::tools::helm;
use crate::harness::repository;

fn sound() -> Vec<Object> {
    let chart = repository("deploy/helm/lease-exporter");
    let flags = ["--set=alerts.enabled=true", "--set=monitor.kind=PodMonitor"];
    parse(&helm(&[&["template", "main", chart.to_str().unwrap()], &flags[..]].concat()).unwrap())
}

/// Puts a value where a JSON pointer leads, or takes away what is there.
fn put(object: &mut Value, pointer: &str, value: Option<Value>) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    match (object.pointer_mut(parent).unwrap(), value) {
        (Value::Array(list), Some(value)) => match list.get_mut(key.parse::<usize>().unwrap()) {
            Some(there) => *there = value,
            None => list.push(value),
        },
        (Value::Array(list), None) => _ = list.remove(key.parse().unwrap()),
        (map, Some(value)) => map[key] = value,
        (map, None) => _ = map.as_object_mut().unwrap().remove(&key).unwrap(),
    }
}

#[test]
fn every_way_to_break_an_object_is_noticed() {
    const CONTAINER: &str = "/spec/template/spec/containers/0";
    let container = |rest: &str| format!("{CONTAINER}{rest}");
    let config = |text: &str| Some(json!(text));
    let breaks: Vec<(&str, String, Option<Value>, &str)> = vec![
        // What Kubernetes would refuse.
        ("Deployment", "/spec/replica".into(), Some(json!(1)), "replica"),
        ("Deployment", "/spec/replicas".into(), Some(json!("one")), "replicas"),
        ("Deployment", "/apiVersion".into(), Some(json!("apps/v2")), "no schema for apps/v2 Deployment"),
        ("Deployment", container("/name"), None, "name"),
        ("Deployment", container("/securityContext/runAsNonroot"), Some(json!(true)), "runAsNonroot"),
        ("Deployment", container("/livenessProbe/httpGet/port"), Some(json!([])), "port"),
        ("Service", "/spec/ports/0/port".into(), Some(json!("10987/TCP")), "port"),
        ("PodMonitor", "/spec/endpoints".into(), Some(json!([])), "endpoints"),
        ("PodMonitor", "/spec/podMetricsEndpoints/0/interval".into(), Some(json!("soon")), "interval"),
        ("PrometheusRule", "/spec/groups/0/rules/0/expression".into(), Some(json!("up")), "expression"),
        ("PrometheusRule", "/spec/groups/0/rules/0/expr".into(), None, "expr"),
        ("PrometheusRule", "/spec/groups/1/rules/0/labels/severity".into(), Some(json!(1)), "severity"),
        // What it would take, and should not be.
        ("Deployment", "/spec/template/spec/automountServiceAccountToken".into(), None, "mounts a token"),
        ("Deployment", container("/securityContext"), None, "runAsNonRoot is null"),
        ("Deployment", container("/securityContext/runAsUser"), Some(json!(0)), "runs as user 0"),
        ("Deployment", container("/securityContext/runAsUser"), None, "runs as user null"),
        (
            "Deployment",
            container("/securityContext/readOnlyRootFilesystem"),
            Some(json!(false)),
            "readOnlyRootFilesystem",
        ),
        ("Deployment", container("/securityContext/allowPrivilegeEscalation"), None, "allowPrivilegeEscalation"),
        ("Deployment", container("/securityContext/privileged"), Some(json!(true)), "privileged"),
        ("Deployment", container("/securityContext/capabilities/add"), Some(json!(["NET_RAW"])), "capabilities"),
        ("Deployment", container("/securityContext/seccompProfile"), None, "seccompProfile"),
        ("Deployment", container("/resources/limits/memory"), None, "limits/memory"),
        ("Deployment", container("/image"), Some(json!("lease-exporter:9.9.9")), "of version 9.9.9"),
        ("Deployment", container("/image"), Some(json!("a.example:5000/lease-exporter")), "has no version"),
        ("Deployment", container("/args/1"), Some(json!("--log.formt=json")), "does not take its arguments"),
        ("Deployment", container("/livenessProbe/httpGet/path"), Some(json!("/")), "livenessProbe"),
        ("Deployment", container("/readinessProbe"), None, "readinessProbe"),
        ("Deployment", container("/volumeMounts/0/name"), Some(json!("other")), "there is no volume"),
        ("Pod", "/spec/containers/1/securityContext/runAsNonRoot".into(), None, "runAsNonRoot"),
        ("Service", "/spec/selector/a".into(), Some(json!("b")), "leads nowhere"),
        ("Service", "/spec/ports/0/targetPort".into(), Some(json!("http")), "leads nowhere"),
        ("PodMonitor", "/spec/selector/matchLabels/a".into(), Some(json!("b")), "leads nowhere"),
        ("PodMonitor", "/spec/podMetricsEndpoints/0/port".into(), Some(json!("http")), "leads nowhere"),
        ("ConfigMap", "/data/exporter.yml".into(), config("sources: []"), "the exporter refuses it"),
        (
            "ConfigMap",
            "/data/exporter.yml".into(),
            config("sources: [{ name: a, store: \"postgres://h/d\", preset: reference, password: planted }]"),
            "a password does not belong here",
        ),
        ("ConfigMap", "/data/exporter.yml".into(), None, "has no exporter.yml"),
    ];
    let sound = sound();
    let mut rules = Rules::new();
    rules.hold("before anything is broken", &sound);
    for (kind, pointer, value, word) in breaks {
        let mut broken = sound.clone();
        let object = broken.iter_mut().find(|object| object.kind() == kind).unwrap();
        put(&mut object.0, &pointer, value);
        let found = rules.violations(&broken);
        let named = |what: &String| what.starts_with(kind) && what.contains(word);
        assert!(found.iter().any(named), "{kind}{pointer} was broken; found: {found:#?}");
    }
}

#[test]
fn a_native_sidecar_is_refused_where_kubernetes_knows_none() {
    use super::schemas::{NATIVE_SIDECARS, OLDEST, Version};
    let objects = super::tools::kustomize(&repository("deploy/kubernetes/examples/native-sidecar"));
    let scheduler = objects.iter().find(|object| object.kind() == "Deployment").unwrap();
    assert_eq!(Version::new(NATIVE_SIDECARS).refusal(scheduler), None);
    let refusal = Version::new(OLDEST).refusal(scheduler).unwrap();
    assert!(refusal.contains("restartPolicy"), "{refusal}");
}
