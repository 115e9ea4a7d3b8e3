//! The output follows the schema, and the schema accepts nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::*;
use crate::expose::testing::{golden, snapshots};
use crate::lease::{Alert, Anomaly, Authority, AuthorityEvidence, Epoch, LeaseKind, ProgressState, Reason, State};

/// The schema, ready to validate.
struct Schema(Schemas, SchemaIndex);

impl Schema {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("file:///leases.schema.json", serde_json::from_str(SCHEMA).unwrap()).unwrap();
        let index = compiler.compile("file:///leases.schema.json", &mut schemas).unwrap();
        Self(schemas, index)
    }

    fn validate(&self, what: &str, json: &str) {
        let value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.0.validate(&value, self.1).unwrap_or_else(|error| panic!("{what}: {error:#}"));
    }

    fn refuses(&self, value: &Value) -> bool {
        self.0.validate(value, self.1).is_err()
    }
}

/// The document as one value, with which the chunks are compared.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    sources: Vec<Source<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(flatten)]
    source: SourceHealth<'a>,
    leases: Vec<Lease<'a>>,
}

impl<'a> Document<'a> {
    fn of(snapshots: &'a [Arc<SourceSnapshot>]) -> Self {
        let leases = |snapshot: &'a SourceSnapshot| snapshot.leases.iter().map(Lease::of).collect();
        let source =
            |snapshot: &'a Arc<SourceSnapshot>| Source { source: SourceHealth::of(snapshot), leases: leases(snapshot) };
        Self { version: VERSION, sources: snapshots.iter().map(source).collect() }
    }
}

fn snapshots() -> Vec<Arc<SourceSnapshot>> {
    snapshots::all().into_iter().map(Arc::new).collect()
}

fn to_vec(snapshots: &[Arc<SourceSnapshot>]) -> Vec<u8> {
    document_chunks(snapshots.to_vec()).collect::<Vec<_>>().concat()
}

#[test]
fn the_json_of_every_state() {
    let json = serde_json::to_string_pretty(&Document::of(&snapshots())).unwrap();
    Schema::new().validate("all", &json);
    golden::assert_matches("leases.json", &(json + "\n"));
}

#[test]
fn the_chunks_of_any_sources_make_the_whole_document() {
    let lengths = [0, 1, LEASES_PER_CHUNK - 1, LEASES_PER_CHUNK, LEASES_PER_CHUNK + 1, 3 * LEASES_PER_CHUNK];
    let many: Vec<_> = lengths.into_iter().map(|leases| Arc::new(snapshots::many(leases))).collect();
    for sources in [&[][..], &snapshots()[..], &many[..], &many[..1], &many[4..5]] {
        let whole = serde_json::to_string(&Document::of(sources)).unwrap() + "\n";
        assert!(String::from_utf8(to_vec(sources)).unwrap() == whole, "{} sources", sources.len());
        let chunks: Vec<_> = document_chunks(sources.to_vec()).collect();
        assert!(chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() < 256 * 1024));
    }
}

#[test]
fn the_json_of_one_lease() {
    let snapshots = snapshots::all();
    let json = serde_json::to_string_pretty(&LeaseDocument::of(&snapshots[0], "retention").unwrap()).unwrap();
    golden::assert_matches("lease.json", &(json + "\n"));
    assert!(lease_to_vec(&snapshots[0], "tags").is_none(), "of another source");
    let schema = Schema::new();
    for snapshot in &snapshots {
        for status in &snapshot.leases {
            let json = String::from_utf8(lease_to_vec(snapshot, &status.lease).unwrap().unwrap()).unwrap();
            schema.validate(&status.lease, &json);
        }
    }
}

#[test]
fn the_documented_example_is_of_this_schema() {
    let document = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/http.md")).unwrap();
    let schema = Schema::new();
    for block in document.split("\n```json\n").skip(1) {
        schema.validate("docs/http.md", block.split("\n```").next().unwrap());
    }
}

#[test]
fn the_schema_refuses_missing_and_unknown_members_and_other_versions() {
    let snapshots = snapshots();
    let one: Value = serde_json::to_value(LeaseDocument::of(&snapshots[0], "retention").unwrap()).unwrap();
    let all: Value = serde_json::to_value(Document::of(&snapshots)).unwrap();
    let schema = Schema::new();
    let changed = |document: &Value, change: &dyn Fn(&mut Value)| {
        let mut document = document.clone();
        change(&mut document);
        schema.refuses(&document)
    };
    assert!(!changed(&one, &|_| {}) && !changed(&all, &|_| {}));
    let members: Vec<String> = one.as_object().unwrap().keys().cloned().collect();
    for member in &members {
        let without = |document: &mut Value| drop(document.as_object_mut().unwrap().remove(member));
        assert!(changed(&one, &without), "without {member}");
    }
    for at in ["", "/lease", "/lease/authority", "/lease/progress", "/lease/limits", "/lease/due"] {
        let more = |document: &mut Value| document.pointer_mut(at).unwrap()["another"] = 1.into();
        assert!(changed(&one, &more), "{at}");
    }
    assert!(changed(&all, &|document| document["version"] = 2.into()));
    assert!(changed(&all, &|document| document["sources"][0]["another"] = 1.into()));
    assert!(changed(&all, &|document| document["sources"][0]["leases"][0]["state"] = "fine".into()));
    assert!(changed(&one, &|document| document["lease"]["authority"]["epoch"] = 17.into()));
}

#[test]
fn the_schema_lists_exactly_the_existing_labels() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let listed = |at: &str| -> BTreeSet<String> {
        let labels = schema.pointer(&format!("/$defs/{at}/enum")).unwrap_or_else(|| panic!("{at}")).as_array().unwrap();
        labels.iter().map(|label| label.as_str().unwrap().to_owned()).collect()
    };
    let lease = |member: &str| format!("lease/properties/{member}");
    assert_eq!(listed(&lease("state")), strings(&State::ALL));
    assert_eq!(listed(&lease("reason")), strings(&Reason::ALL));
    assert_eq!(listed(&lease("alerts_enabled/items")), strings(&Alert::ALL));
    assert_eq!(listed(&lease("anomalies_total/propertyNames")), strings(&Anomaly::ALL));
    assert_eq!(listed("authority/properties/state"), strings(&Authority::ALL));
    assert_eq!(listed("progress/properties/state"), strings(&ProgressState::ALL));
    assert_eq!(listed("health/properties/kind"), strings(&LeaseKind::ALL));
    assert_eq!(listed("readFailure"), strings(&ReadFailure::ALL));
    assert_eq!(listed("health/properties/rows_rejected_total/propertyNames"), strings(&RecordFault::ALL));
}

fn strings(labels: &[impl ToString]) -> BTreeSet<String> {
    labels.iter().map(ToString::to_string).collect()
}

#[test]
fn no_holder_name_is_in_the_output() {
    let json = String::from_utf8(to_vec(&snapshots())).unwrap();
    for holder in ["worker-a", "worker-b", "host-1", "host-2", "host-3", "app-2"] {
        assert!(!json.contains(holder), "{holder}");
    }
}

#[test]
fn an_epoch_beyond_the_precision_of_a_double_is_exact() {
    let mut snapshot = snapshots::many(1);
    let Ok(evidence) = &mut snapshot.leases[0].observation else { panic!("not seen") };
    let AuthorityEvidence::Holder(holder) = &mut evidence.authority else { panic!("not held") };
    holder.epoch = Some(Epoch(u64::MAX));
    let json = String::from_utf8(to_vec(&[Arc::new(snapshot)])).unwrap();
    assert!(json.contains(r#""epoch":"18446744073709551615""#), "{json}");
}
