//! Checks of objects by the schemas of Kubernetes and of the Prometheus Operator.

use std::path::Path;

use boon::{Compiler, Schemas};
use serde_json::Value;

use super::objects::Object;
use super::tools::got;
use crate::harness::repository;

/// What one version of Kubernetes takes.
pub(super) struct Version {
    pub(super) name: &'static str,
    definitions: Value,
    operator: Value,
    compiler: Compiler,
    schemas: Schemas,
}

/// The oldest that `deploy/` is for; the first with native sidecars; a new one.
pub(super) const OLDEST: &str = "v1.25";
pub(super) const NATIVE_SIDECARS: &str = "v1.29";
pub(super) const NEW: &str = "v1.37";

impl Version {
    pub(super) fn new(name: &'static str) -> Self {
        let definitions = json(&got(&format!("{name}.json")));
        let operator = json(&repository("tests/e2e/kubernetes/operator.json"));
        let mut compiler = Compiler::new();
        compiler.add_resource("file:///kubernetes.json", definitions.clone()).unwrap();
        compiler.add_resource("file:///operator.json", operator.clone()).unwrap();
        Self { name, definitions, operator, compiler, schemas: Schemas::new() }
    }

    /// Why it would refuse an object.
    pub(super) fn refusal(&mut self, object: &Object) -> Option<String> {
        let Some(location) = self.location(object) else {
            return Some(format!("{}: no schema for {} {}", self.name, object.text("/apiVersion"), object.kind()));
        };
        let schema = self.compiler.compile(&location, &mut self.schemas).unwrap();
        self.schemas.validate(&object.0, schema).err().map(|error| format!("{}: {error:#}", self.name))
    }

    /// Where the schema of an object's kind stands.
    fn location(&self, object: &Object) -> Option<String> {
        let (group, version) = object.text("/apiVersion").split_once('/').unwrap_or(("", object.text("/apiVersion")));
        if group == "monitoring.coreos.com" && version == "v1" {
            let known = self.operator["$defs"].get(object.kind()).is_some();
            return known.then(|| format!("file:///operator.json#/$defs/{}", object.kind()));
        }
        let is_of_kind = |definition: &Value| {
            definition["x-kubernetes-group-version-kind"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|of| of["group"] == group && of["version"] == version && of["kind"] == object.kind())
        };
        let definitions = self.definitions["$defs"].as_object().unwrap();
        let name = definitions.iter().find(|(_, definition)| is_of_kind(definition)).map(|(name, _)| name)?;
        Some(format!("file:///kubernetes.json#/$defs/{name}"))
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}
