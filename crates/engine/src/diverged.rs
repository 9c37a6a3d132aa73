//! Drafts that went one way here and another on the remote.

use lanai_types::CommitId;
use serde_json::{Value, json};

/// The type of the condition of such drafts.
pub const DIVERGED: &str = "Diverged";

/// The condition, for the commit that the remote is at.
pub fn condition(commit: CommitId) -> Value {
    let message = format!(
        "the branch on the remote is at {commit}, which is not what was pushed from here; neither was overwritten"
    );
    json!({"type": DIVERGED, "status": "True", "reason": "BothChanged", "message": message})
}

/// Whether an object says so.
pub fn is_shown(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|list| list.iter().any(|one| one["type"] == DIVERGED))
}

/// Shows where the remote went, or that both are the same way again.
pub fn show(object: &mut Value, commit: Option<CommitId>) {
    let status = &mut object["status"];
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|one| one["type"] != DIVERGED);
    conditions.extend(commit.map(condition));
    if conditions.is_empty() {
        status.as_object_mut().map(|status| status.shift_remove("conditions"));
    } else {
        status["conditions"] = json!(conditions);
    }
}
