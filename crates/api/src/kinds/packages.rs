//! The kinds of packages, which the engine keeps.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::column::{Cell, Source};
use crate::crd;
use crate::kind::{Action, KindInfo, Origin, SubResource, Verb};

/// The label of the newest published revision of a package.
const LATEST: &str = "kpt.dev/latest-revision";

/// The kinds of packages: revisions, their files, and packages.
pub fn all() -> [KindInfo; 3] {
    [revisions(), resources(), packages()]
}

fn of(text: &'static str, verbs: &[Verb]) -> KindInfo {
    let document = lanai_yaml::Document::parse(text).expect("our definitions are YAML");
    let object: Value = document.root().deserialize().expect("our definitions are objects");
    let kind = crd::kind(&object).expect("our definitions define kinds");
    KindInfo { origin: Origin::Ours, verbs: verbs.to_vec(), ..kind }
}

fn revisions() -> KindInfo {
    let verbs = [Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update, Verb::Watch];
    let mut kind = of(include_str!("packagerevision.yaml"), &verbs);
    computed(&mut kind, "Revision", &[&["spec", "revision"]], revision);
    computed(&mut kind, "Latest", &[&["metadata", "labels", LATEST]], latest);
    for version in &mut kind.versions {
        version.sub_resources = vec![SubResource::Action(Action {
            name: "approval".to_owned(),
            group: kind.group.clone(),
            version: version.name.clone(),
            kind: "PackageRevision".to_owned(),
            verbs: vec![Verb::Get, Verb::Patch, Verb::Update],
        })];
    }
    kind
}

fn resources() -> KindInfo {
    let verbs = [Verb::Get, Verb::List, Verb::Patch, Verb::Update];
    let mut kind = of(include_str!("packagerevisionresources.yaml"), &verbs);
    computed(&mut kind, "Revision", &[&["spec", "revision"]], revision);
    computed(&mut kind, "Files", &[&["spec", "resources"], &["spec", "binaryResources"]], files);
    kind
}

fn packages() -> KindInfo {
    of(include_str!("porchpackage.yaml"), &[Verb::Get, Verb::List, Verb::Watch])
}

fn computed(kind: &mut KindInfo, column: &str, reads: &'static [&'static [&'static str]], of: Cell) {
    let columns = kind.versions.iter_mut().flat_map(|version| &mut version.columns);
    for found in columns.filter(|found| found.name == column) {
        found.source = Source::Computed { of, reads };
    }
}

/// Drafts show 0.
fn revision(object: &Value, _: Timestamp) -> Value {
    json!(object["spec"]["revision"].as_i64().unwrap_or_default())
}

fn latest(object: &Value, _: Timestamp) -> Value {
    json!(object["metadata"]["labels"][LATEST] == "true")
}

fn files(object: &Value, _: Timestamp) -> Value {
    let count = |field: &str| object["spec"][field].as_object().map_or(0, serde_json::Map::len);
    json!(count("resources") + count("binaryResources"))
}
