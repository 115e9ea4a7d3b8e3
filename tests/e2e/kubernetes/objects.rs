//! Rendered Kubernetes objects.

use serde_json::Value;

/// One object.
#[derive(Clone, Debug)]
pub(super) struct Object(pub(super) Value);

/// The pod that an object is or makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

/// The documents of a YAML text, read as Kubernetes reads them.
pub(super) fn parse(yaml: &str) -> Vec<Object> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(yaml, options)
        .unwrap_or_else(|error| panic!("no YAML: {error}\n{yaml}"));
    documents.into_iter().filter(|document| !document.is_null()).map(Object).collect()
}

impl Object {
    pub(super) fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// `Kind/name`.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.kind(), self.text("/metadata/name"))
    }

    /// What stands at a JSON pointer; null if nothing does.
    pub(super) fn at(&self, pointer: &str) -> &Value {
        at(&self.0, pointer)
    }

    pub(super) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    pub(super) fn pod(&self) -> Option<Pod<'_>> {
        let path = match self.kind() {
            "Pod" => "",
            "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => "/spec/template",
            _ => return None,
        };
        let within = |part| self.at(&format!("{path}/{part}"));
        Some(Pod { metadata: within("metadata"), spec: within("spec") })
    }
}

impl<'a> Pod<'a> {
    /// All its containers: those that start first, sidecars among them, too.
    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let of = move |list| at(self.spec, list).as_array().into_iter().flatten();
        of("/initContainers").chain(of("/containers"))
    }

    /// Whether a selector picks it and one of its containers has a port of this name.
    pub(super) fn has(self, selector: &Value, port: &Value) -> bool {
        let mut ports =
            self.containers().flat_map(|container| at(container, "/ports").as_array().into_iter().flatten());
        includes(at(self.metadata, "/labels"), selector) && ports.any(|there| there["name"] == *port)
    }
}

/// What stands at a JSON pointer; null if nothing does.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Whether labels include all of others, of which there is at least one.
pub(super) fn includes(labels: &Value, others: &Value) -> bool {
    others
        .as_object()
        .is_some_and(|others| !others.is_empty() && others.iter().all(|(name, value)| labels.get(name) == Some(value)))
}
