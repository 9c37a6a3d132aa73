//! Do we say of a repository what Porch says of it?

use std::collections::BTreeMap;
use std::path::Path;

use lanai_repository::packages::{Found, KptfileFacts, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::repository::git;

/// What Porch says of one package revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) package: String,
    pub(super) workspace: String,
    pub(super) revision: i64,
    pub(super) lifecycle: String,
    #[serde(rename = "ref")]
    pub(super) ref_name: String,
    pub(super) commit: String,
    author: String,
    time: i64,
    tasks: Option<Vec<Value>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    gates: Vec<Value>,
    #[serde(default)]
    conditions: Vec<Value>,
    files: BTreeMap<String, String>,
}

/// Where we and Porch do not say the same, a line each: the package, the ref and the field.
///
/// Two things differ by rule, and it is the rule that is checked:
/// - Porch has a placeholder at the head of its branch. We have it at the commit that published its content, so that a revision
///   does not change because another one was published. Both must lead to the same files.
/// - Porch keeps of the tasks the first one that made content. We keep all. That one must be the first of its kind among ours.
pub(super) fn differences(snapshot: &Snapshot, listed: &[Listed], folder: &Path) -> Vec<String> {
    let mut theirs: BTreeMap<_, _> =
        listed.iter().map(|listed| ((listed.package.clone(), listed.ref_name.clone()), listed)).collect();
    assert_eq!(theirs.len(), listed.len(), "Porch lists a revision twice");
    let mut lines = Vec::new();
    for found in &snapshot.revisions {
        let name = found.ref_name.branch_name().or_else(|| found.ref_name.tag_name()).expect("one of both");
        let key = (found.package.to_string(), name.to_owned());
        let Some(listed) = theirs.remove(&key) else {
            lines.push(format!("{} {name}: only ours", found.package));
            continue;
        };
        lines.extend(fields(found, listed, folder).iter().map(|field| format!("{} {name}: {field}", key.0)));
    }
    lines.extend(theirs.keys().map(|(package, name)| format!("{package} {name}: only Porch's")));
    lines.sort();
    lines
}

fn fields(found: &Found, listed: &Listed, folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |field: &str, ours: Value, theirs: Value| {
        if ours != theirs {
            lines.push(format!("{field} {ours}, Porch {theirs}"));
        }
    };
    compare("workspace", json!(found.workspace.as_str()), json!(listed.workspace));
    compare("revision", json!(found.revision.get()), json!(listed.revision));
    compare("lifecycle", json!(found.lifecycle.to_string()), json!(listed.lifecycle));
    compare("author", json!(found.author.email()), json!(listed.author));
    let is_placeholder = listed.revision == -1 && found.ref_name.branch_name().is_some();
    if is_placeholder {
        let head = git(folder, &["rev-parse", found.ref_name.as_str()], b"");
        compare("commit of the branch", json!(head), json!(listed.commit));
        let between = git(folder, &["rev-list", "--count", &format!("{head}..{}", found.commit)], b"");
        compare("commits that the branch does not have", json!(between), json!("0"));
    } else {
        compare("commit", json!(found.commit.to_string()), json!(listed.commit));
    }
    let kinds = ["init", "clone", "edit", "upgrade"].map(Value::from);
    let first = found.tasks.iter().find(|task| kinds.contains(&task["type"]));
    compare(
        "tasks",
        json!(first.into_iter().collect::<Vec<_>>()),
        json!(listed.tasks.as_deref().unwrap_or_default()),
    );
    compare("files", json!(files(folder, &found.tree.to_string())), json!(listed.files));
    if let KptfileFacts::Read(kptfile) = &*found.kptfile {
        compare("labels", json!(kptfile.metadata.labels), json!(listed.labels));
        let gates = kptfile.info.iter().flat_map(|info| &info.readiness_gates);
        compare("gates", json!(gates.collect::<Vec<_>>()), json!(listed.gates));
        let conditions = kptfile.status.iter().flat_map(|status| &status.conditions);
        compare("conditions", json!(conditions.collect::<Vec<_>>()), json!(listed.conditions));
    } else {
        compare("Kptfile", json!("unreadable"), json!(listed.labels));
    }
    // The times themselves are others each time.
    if found.time != listed.time {
        lines.push("time".to_owned());
    }
    lines
}

/// The ids of the files of a folder, by path.
fn files(folder: &Path, tree: &str) -> BTreeMap<String, String> {
    let listed = git(folder, &["ls-tree", "-r", "--format=%(objectname) %(path)", tree], b"");
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(id, path)| (path.to_owned(), id.to_owned())).collect()
}
