//! Why a step is refused, in the words that clients know.

use std::fmt;

use super::{Lifecycle, RequestedLifecycle};
use crate::quote::Quoted;

/// Why a step is refused.
///
/// `Display` is what the answer says after the object's name, `… is invalid: ` or `… is forbidden: `. Where a refusal
/// shows the whole new spec, use [`message`](Self::message), which takes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// 422 Invalid: fields that cannot be as they were sent, at least one.
    #[error("{}", joined(.0.iter().map(FieldError::to_string)))]
    Invalid(Vec<FieldError>),
    /// 403 Forbidden: what is published cannot be deleted at once.
    #[error(
        "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior \
         to deletion"
    )]
    DeletePublished,
    /// The content of anything but a draft is fixed.
    #[error("cannot update a package revision with lifecycle value \"{0}\"; package must be Draft")]
    NotDraft(Lifecycle),
    /// 405: the approval sub-resource takes nothing but updates.
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
}

impl Refused {
    pub(super) fn invalid(errors: impl IntoIterator<Item = FieldError>) -> Self {
        Self::Invalid(errors.into_iter().collect())
    }

    /// What the answer says; `new_spec` is the spec that was sent, as JSON.
    pub fn message(&self, new_spec: &str) -> String {
        match self {
            Self::Invalid(errors) => joined(errors.iter().map(|error| error.message_with(new_spec))),
            Self::DeletePublished | Self::NotDraft(_) | Self::MethodNotAllowed => self.to_string(),
        }
    }
}

/// One error stands alone, several stand in brackets.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<_> = texts.collect();
    match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A field that cannot be as it was sent: one entry of `details.causes`.
///
/// `Display` shows `<new spec>` where the value is the whole spec; [`message_with`](Self::message_with) shows the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `spec.lifecycle`.
    pub field: &'static str,
    /// The value that the message shows. It is not always the one that was sent: some texts show the old one.
    pub value: BadValue,
    /// What is wrong.
    pub detail: String,
}

/// The value that a [`FieldError`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadValue {
    /// A lifecycle, in quotes.
    Lifecycle(String),
    /// The spec that was sent, as JSON; the caller has it.
    NewSpec,
}

impl FieldError {
    /// The text of the error with the spec that was sent, as JSON, in its place.
    pub fn message_with(&self, new_spec: &str) -> String {
        format!("{}: {}", self.field, self.body_with(new_spec))
    }

    /// The text without the field, as `details.causes` has it in `message`.
    pub fn body_with(&self, new_spec: &str) -> String {
        match &self.value {
            BadValue::Lifecycle(value) => format!("Invalid value: {}: {}", Quoted(value), self.detail),
            BadValue::NewSpec => format!("Invalid value: {new_spec}: {}", self.detail),
        }
    }

    pub(super) fn created_otherwise(requested: &RequestedLifecycle) -> Self {
        Self::lifecycle(requested.as_str(), "value can be only created as Draft")
    }

    pub(super) fn unknown(requested: &RequestedLifecycle) -> Self {
        let detail = "value can be only updated to Draft,Proposed,Published,DeletionProposed";
        Self::lifecycle(requested.as_str(), detail)
    }

    pub(super) fn must_stay_unpublished(state: Lifecycle) -> Self {
        Self::lifecycle(state.as_str(), "value can be only updated to Draft,Proposed")
    }

    pub(super) fn spec_is_final() -> Self {
        let detail = "spec can only update package with lifecycle value one of Draft,Proposed".to_owned();
        Self { field: "spec", value: BadValue::NewSpec, detail }
    }

    pub(super) fn only_proposed_is_approved(state: Lifecycle) -> Self {
        let detail = format!(
            "cannot approve package with {state} lifecycle value; only Proposed packages can be approved"
        );
        Self::lifecycle(state.as_str(), detail)
    }

    /// The state has another name; clients match on this one.
    pub(super) fn published_can_only_propose_deletion() -> Self {
        let detail = "package with Published lifecycle value can only be updated to 'ProposeDeletion'";
        Self::lifecycle(Lifecycle::Published.as_str(), detail)
    }

    pub(super) fn deletion_can_only_be_rejected() -> Self {
        let detail = "package with DeletionProposed lifecycle value can only be updated to 'Published'";
        Self::lifecycle(Lifecycle::DeletionProposed.as_str(), detail)
    }

    pub(super) fn deletion_needs_published() -> Self {
        let detail =
            "cannot update lifecycle DeletionProposed; only Published packages require approval for deletion";
        Self::lifecycle(Lifecycle::DeletionProposed.as_str(), detail)
    }

    pub(super) fn not_an_approval(requested: &RequestedLifecycle) -> Self {
        Self::lifecycle(requested.as_str(), "value for approval can be only one of Draft,Published")
    }

    fn lifecycle(value: &str, detail: impl Into<String>) -> Self {
        Self { field: "spec.lifecycle", value: BadValue::Lifecycle(value.to_owned()), detail: detail.into() }
    }
}

impl std::error::Error for FieldError {}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message_with("<new spec>"))
    }
}
