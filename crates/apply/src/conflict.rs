//! Conflicts: fields that somebody else owns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

/// A field that is applied with another value than its owner gave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// Who owns it, as messages say it: `"ann"`, with the sub-resource, and with the version for those who did not apply.
    pub owner: String,
    /// The field, as messages write it.
    pub field: String,
}

impl Conflict {
    /// As an entry of `details.causes`.
    pub fn cause(&self) -> Value {
        json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", self.owner), "field": self.field})
    }
}

/// What the message of the answer says of conflicts.
pub fn message(conflicts: &[Conflict]) -> String {
    let mut by_owner: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for conflict in conflicts {
        by_owner.entry(&conflict.owner).or_default().push(&conflict.field);
    }
    let parts = by_owner.into_iter().map(|(owner, fields)| match fields.as_slice() {
        [only] => format!("conflict with {owner}: {only}"),
        several => {
            let mut text = format!("conflicts with {owner}:");
            for field in several {
                let _ = write!(text, "\n- {field}");
            }
            text
        }
    });
    let parts: Vec<String> = parts.collect();
    let count = conflicts.len();
    let word = if count == 1 { "conflict" } else { "conflicts" };
    format!("Apply failed with {count} {word}: {}", parts.join("\n"))
}
