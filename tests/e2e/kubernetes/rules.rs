//! The rules of the house for what is deployed. Each says what breaks it, so that a test can see that it would.

use std::fs;

use serde_json::{Value, json};

use super::objects::{Object, Pod, at, includes};
use super::schemas::{NATIVE_SIDECARS, NEW, OLDEST, Version};
use crate::harness::exporter::configure;
use crate::harness::run;

/// What objects are judged by.
pub(super) struct Rules {
    versions: [Version; 3],
}

impl Rules {
    pub(super) fn new() -> Self {
        Self { versions: [OLDEST, NATIVE_SIDECARS, NEW].map(Version::new) }
    }

    /// All that is wrong with what is applied together.
    pub(super) fn violations(&mut self, objects: &[Object]) -> Vec<String> {
        assert!(!objects.is_empty(), "there is something to look at");
        let mut found = Vec::new();
        for object in objects {
            let mut broken = match object.pod() {
                Some(pod) => unsafe_pod(pod),
                None if object.kind() == "ConfigMap" => wrong_configuration(object),
                None => wrong_reference(object, objects),
            };
            let is_too_new = |version: &Version| version.name == OLDEST && object.pod().is_some_and(has_native_sidecar);
            let versions = self.versions.iter_mut().filter(|version| !is_too_new(version));
            broken.extend(versions.filter_map(|version| version.refusal(object)));
            found.extend(broken.into_iter().map(|what| format!("{}: {what}", object.id())));
        }
        found
    }

    /// That nothing is.
    pub(super) fn hold(&mut self, of: &str, objects: &[Object]) {
        assert_eq!(self.violations(objects), Vec::<String>::new(), "{of}");
    }
}

fn has_native_sidecar(pod: Pod<'_>) -> bool {
    pod.containers().any(|container| container.get("restartPolicy").is_some())
}

fn unsafe_pod(pod: Pod<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if pod.spec["automountServiceAccountToken"] != false {
        found.push("mounts a token of the Kubernetes API".to_owned());
    }
    for container in pod.containers() {
        let mut broken = unsafe_container(container);
        if container["name"] == "lease-exporter" {
            broken.extend(wrong_exporter(container));
        }
        for mount in at(container, "/volumeMounts").as_array().into_iter().flatten() {
            let mut volumes = at(pod.spec, "/volumes").as_array().into_iter().flatten();
            if !volumes.any(|volume| volume["name"] == mount["name"]) {
                broken.push(format!("there is no volume {}", mount["name"]));
            }
        }
        found.extend(broken.into_iter().map(|what| format!("container {}: {what}", container["name"])));
    }
    found
}

fn unsafe_container(container: &Value) -> Vec<String> {
    let demanded = [
        ("/runAsNonRoot", json!(true)),
        ("/allowPrivilegeEscalation", json!(false)),
        ("/readOnlyRootFilesystem", json!(true)),
        ("/capabilities", json!({ "drop": ["ALL"] })),
        ("/seccompProfile", json!({ "type": "RuntimeDefault" })),
        ("/privileged", Value::Null),
    ];
    let security = at(container, "/securityContext");
    let mut found: Vec<_> = demanded
        .iter()
        .filter(|(pointer, value)| at(security, pointer) != value)
        .map(|(pointer, value)| format!("securityContext{pointer} is {}, not {value}", at(security, pointer)))
        .collect();
    // Without a number, Kubernetes cannot tell whether the image's user is root.
    if security["runAsUser"].as_u64().is_none_or(|user| user == 0) {
        found.push(format!("runs as user {}", security["runAsUser"]));
    }
    for pointer in ["/requests/cpu", "/requests/memory", "/limits/memory"] {
        if !at(container, "/resources").pointer(pointer).is_some_and(Value::is_string) {
            found.push(format!("resources{pointer} is not set"));
        }
    }
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    match name.split_once(':') {
        Some(("lease-exporter", version)) => {
            if version != env!("CARGO_PKG_VERSION") {
                found.push(format!("its image is of version {version}"));
            }
            found.extend(unknown_arguments(container));
        }
        None | Some((_, "" | "latest")) => found.push(format!("its image {image:?} has no version")),
        Some(_) => {}
    }
    found
}

/// What the program says of arguments that it does not have. Asked for help as well, it does nothing else.
fn unknown_arguments(container: &Value) -> Option<String> {
    let arguments = at(container, "/args").as_array().into_iter().flatten().filter_map(Value::as_str);
    let finished = run(&arguments.chain(["--help"]).collect::<Vec<_>>());
    (finished.code != Some(0)).then(|| format!("the program does not take its arguments: {}", finished.stderr))
}

fn wrong_exporter(container: &Value) -> Vec<String> {
    let port = json!("lease-exporter");
    let demanded = [
        ("/livenessProbe/httpGet", json!({ "path": "/-/healthy", "port": port })),
        ("/readinessProbe/httpGet", json!({ "path": "/-/ready", "port": port })),
        // The scheduler would wait for it.
        ("/startupProbe", Value::Null),
        ("/ports", json!([{ "name": port, "containerPort": 10987 }])),
        ("/args/0", json!("--config.file=/etc/lease-exporter/exporter.yml")),
    ];
    let differs = |(pointer, value): &&(&str, Value)| at(container, pointer) != value;
    demanded.iter().filter(differs).map(|(pointer, value)| format!("{pointer} is not {value}")).collect()
}

/// A configuration is one that the exporter takes, with every secret in a file of its own.
fn wrong_configuration(object: &Object) -> Vec<String> {
    let Some(text) = object.at("/data/exporter.yml").as_str() else {
        return vec!["has no exporter.yml".to_owned()];
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("token.key"), "0123456789abcdef").unwrap();
    let there = text.replace("/run/secrets/lease-exporter", folder.path().to_str().unwrap());
    let finished = run(&["check", &format!("--config.file={}", configure(folder.path(), &there).display())]);
    if finished.code == Some(0) { vec![] } else { vec![format!("the exporter refuses it: {}", finished.stderr)] }
}

/// What leads to pods or services finds them.
fn wrong_reference(object: &Object, objects: &[Object]) -> Vec<String> {
    let pods: Vec<_> = objects.iter().filter_map(Object::pod).collect();
    let found = match object.kind() {
        "Service" => {
            let port = object.at("/spec/ports/0/targetPort");
            pods.iter().any(|pod| pod.has(object.at("/spec/selector"), port))
        }
        // Without pods but for a test's it is for those of somebody else.
        "PodMonitor" => {
            let port = object.at("/spec/podMetricsEndpoints/0/port");
            let mut lasting =
                pods.iter().filter(|pod| at(pod.metadata, "/annotations/helm.sh~1hook").is_null()).peekable();
            lasting.peek().is_none() || lasting.any(|pod| pod.has(object.at("/spec/selector/matchLabels"), port))
        }
        "ServiceMonitor" => objects.iter().filter(|object| object.kind() == "Service").any(|service| {
            includes(service.at("/metadata/labels"), object.at("/spec/selector/matchLabels"))
                && service.at("/spec/ports/0/name") == object.at("/spec/endpoints/0/port")
        }),
        "NetworkPolicy" => {
            let port = object.at("/spec/ingress/0/ports/0/port");
            pods.iter().any(|pod| pod.has(object.at("/spec/podSelector/matchLabels"), port))
        }
        _ => true,
    };
    if found { vec![] } else { vec!["leads nowhere".to_owned()] }
}
