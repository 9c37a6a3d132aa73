//! Rules in CEL (`x-kubernetes-validations`).

/// A rule of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The expression, over `self` and, for a change, `oldSelf`.
    pub rule: String,
    /// What is said when it does not hold; may be empty.
    pub message: String,
    /// An expression that gives what is said; may be empty.
    pub message_expression: String,
    /// The kind of cause.
    pub reason: crate::cause::Reason,
    /// The field below the value that is named, such as `.spec.name`; may be empty.
    pub field_path: String,
    /// Whether `oldSelf` is there as an optional value on creation as well.
    pub old_self: OldSelf,
}

/// When a rule that names `oldSelf` is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldSelf {
    /// Only when there is an old value.
    Required,
    /// Always; it is an optional value.
    Optional,
}

use super::Additional;
use super::Schema;

/// Whether there is a rule anywhere in a schema.
pub fn any(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || schema.properties.values().any(any)
        || schema.items.as_deref().is_some_and(any)
        || matches!(&schema.additional, Some(Additional::Like(values)) if any(values))
}
