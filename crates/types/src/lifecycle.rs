//! The life of a package revision: which step leads where, by which route.
//!
//! ```text
//!  create ──► Draft ──propose──► Proposed ──approve──► Published ──propose deletion──► DeletionProposed
//!               ▲                   │                      ▲                                 │
//!               └──────reject───────┘                      └──────────reject deletion────────┘
//! ```
//!
//! [`step`] decides and changes nothing; the caller stores what it decided. Drafts, proposed or not, and revisions that
//! are proposed for deletion can be deleted.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use refused::{BadValue, FieldError, Refused};

use crate::quote::Quoted;

mod refused;

/// Where a package revision is in its life. The names are those of `spec.lifecycle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lifecycle {
    /// Being worked on.
    Draft,
    /// Waiting for somebody to approve or reject it.
    Proposed,
    /// Final: content and spec never change again.
    Published,
    /// Published, and waiting for somebody to delete it or to keep it.
    DeletionProposed,
}

impl Lifecycle {
    /// Every state, in the order of life.
    pub const ALL: [Self; 4] = [Self::Draft, Self::Proposed, Self::Published, Self::DeletionProposed];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Proposed => "Proposed",
            Self::Published => "Published",
            Self::DeletionProposed => "DeletionProposed",
        }
    }

    /// True once there is a revision number, a tag, and no way to change the content.
    pub const fn is_published(self) -> bool {
        match self {
            Self::Draft | Self::Proposed => false,
            Self::Published | Self::DeletionProposed => true,
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the name of a [`Lifecycle`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lifecycle {} is unknown: it is one of Draft, Proposed, Published, DeletionProposed", Quoted(.raw))]
pub struct UnknownLifecycle {
    /// The text.
    pub raw: String,
}

impl FromStr for Lifecycle {
    type Err = UnknownLifecycle;

    fn from_str(raw: &str) -> Result<Self, UnknownLifecycle> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == raw);
        found.ok_or_else(|| UnknownLifecycle { raw: raw.to_owned() })
    }
}

/// `spec.lifecycle` as a client sent it.
///
/// Any text is one of these; whether it is acceptable depends on the state and the route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestedLifecycle {
    /// Absent or empty.
    Unset,
    /// One of ours.
    Known(Lifecycle),
    /// Anything else.
    Unknown(String),
}

impl RequestedLifecycle {
    /// Reads the field; absent and empty are the same.
    pub fn parse(raw: &str) -> Self {
        if raw.is_empty() {
            return Self::Unset;
        }
        match raw.parse() {
            Ok(known) => Self::Known(known),
            Err(UnknownLifecycle { raw }) => Self::Unknown(raw),
        }
    }

    /// The text of the field.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unset => "",
            Self::Known(known) => known.as_str(),
            Self::Unknown(raw) => raw,
        }
    }
}

impl From<Lifecycle> for RequestedLifecycle {
    fn from(known: Lifecycle) -> Self {
        Self::Known(known)
    }
}

/// The resource that a request came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// `packagerevisions` (and `packagerevisionresources` for content).
    Main,
    /// `packagerevisions/approval`, which takes a permission of its own.
    Approval,
}

/// Whether an update asks for another spec, the lifecycle left aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestOfSpec {
    /// Everything else means the same as before.
    Same,
    /// Something else differs.
    Differs,
}

/// What somebody wants to happen to a package revision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// An update of the object, with this lifecycle in it.
    Update {
        /// `spec.lifecycle`.
        lifecycle: RequestedLifecycle,
        /// All other fields of the spec.
        rest: RestOfSpec,
    },
    /// An update of the files.
    EditContent,
    /// A deletion.
    Delete,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// The state stays; only what may change in it is changed.
    Stay(Lifecycle),
    /// Draft to Proposed.
    Propose,
    /// Proposed back to Draft.
    Reject,
    /// Proposed to Published: give it a number and make it final. [`step`] returns this for the route
    /// [`Route::Approval`] only.
    Publish,
    /// Published to `DeletionProposed`.
    ProposeDeletion,
    /// `DeletionProposed` back to Published.
    RejectDeletion,
    /// Gone.
    Delete,
}

impl Next {
    /// The state afterwards; `None` when the revision is gone.
    pub const fn state(self) -> Option<Lifecycle> {
        match self {
            Self::Stay(state) => Some(state),
            Self::Reject => Some(Lifecycle::Draft),
            Self::Propose => Some(Lifecycle::Proposed),
            Self::Publish | Self::RejectDeletion => Some(Lifecycle::Published),
            Self::ProposeDeletion => Some(Lifecycle::DeletionProposed),
            Self::Delete => None,
        }
    }
}

/// The state of a revision that is created with this lifecycle: a draft, or nothing.
pub fn create(requested: &RequestedLifecycle) -> Result<Lifecycle, Refused> {
    match requested {
        RequestedLifecycle::Unset | RequestedLifecycle::Known(Lifecycle::Draft) => Ok(Lifecycle::Draft),
        RequestedLifecycle::Known(
            Lifecycle::Proposed | Lifecycle::Published | Lifecycle::DeletionProposed,
        )
        | RequestedLifecycle::Unknown(_) => Err(Refused::invalid([FieldError::created_otherwise(requested)])),
    }
}

/// What happens when `event` reaches a revision in this state by this route.
///
/// Says nothing about who may do it, about readiness, about finalizers, or about other revisions that refer to this one;
/// those are further reasons to refuse.
pub fn step(state: Lifecycle, event: &Event, route: Route) -> Result<Next, Refused> {
    match (event, route) {
        (Event::Update { lifecycle, rest }, Route::Main) => update(state, lifecycle, *rest),
        (Event::Update { lifecycle, rest: _ }, Route::Approval) => approve(state, lifecycle),
        (Event::EditContent, Route::Main) => edit_content(state),
        (Event::Delete, Route::Main) => delete(state),
        (Event::EditContent | Event::Delete, Route::Approval) => Err(Refused::MethodNotAllowed),
    }
}

fn update(state: Lifecycle, requested: &RequestedLifecycle, rest: RestOfSpec) -> Result<Next, Refused> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    use RequestedLifecycle::{Known, Unknown, Unset};

    let next = match (state, requested) {
        (Draft, Unset | Known(Draft)) => return Ok(Next::Stay(Draft)),
        (Draft, Known(Proposed)) => return Ok(Next::Propose),
        (Proposed, Unset | Known(Draft)) => return Ok(Next::Reject),
        (Proposed, Known(Proposed)) => return Ok(Next::Stay(Proposed)),

        (Published, Known(Published)) => Next::Stay(Published),
        (Published, Known(DeletionProposed)) => Next::ProposeDeletion,
        (DeletionProposed, Known(Published)) => Next::RejectDeletion,
        (DeletionProposed, Known(DeletionProposed)) => Next::Stay(DeletionProposed),

        (Draft | Proposed, Known(Published | DeletionProposed)) => {
            return Err(Refused::invalid([FieldError::must_stay_unpublished(state)]));
        }
        (Draft | Proposed, Unknown(_)) => {
            let errors = [FieldError::unknown(requested), FieldError::must_stay_unpublished(state)];
            return Err(Refused::invalid(errors));
        }
        (Published | DeletionProposed, Unset | Known(Draft | Proposed)) => {
            return Err(Refused::invalid([FieldError::spec_is_final()]));
        }
        (Published | DeletionProposed, Unknown(_)) => {
            return Err(Refused::invalid([FieldError::unknown(requested), FieldError::spec_is_final()]));
        }
    };
    match rest {
        RestOfSpec::Same => Ok(next),
        RestOfSpec::Differs => Err(Refused::invalid([FieldError::spec_is_final()])),
    }
}

fn approve(state: Lifecycle, requested: &RequestedLifecycle) -> Result<Next, Refused> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    use RequestedLifecycle::{Known, Unknown, Unset};

    let errors = match (state, requested) {
        (Proposed, Known(Draft)) => return Ok(Next::Reject),
        (Proposed, Known(Published)) => return Ok(Next::Publish),
        (Published, Known(DeletionProposed)) => return Ok(Next::ProposeDeletion),
        (DeletionProposed, Known(Published)) => return Ok(Next::RejectDeletion),

        (Draft, Known(Draft | Published)) => vec![FieldError::only_proposed_is_approved(state)],
        (Draft, Known(DeletionProposed)) => {
            vec![FieldError::only_proposed_is_approved(state), FieldError::deletion_needs_published()]
        }
        (Draft, Unset | Known(Proposed) | Unknown(_)) => {
            vec![FieldError::only_proposed_is_approved(state), FieldError::not_an_approval(requested)]
        }
        (Proposed, Known(DeletionProposed)) => vec![FieldError::deletion_needs_published()],
        (Proposed, Unset | Known(Proposed) | Unknown(_)) => vec![FieldError::not_an_approval(requested)],
        (Published, Known(Draft | Published)) => vec![FieldError::published_can_only_propose_deletion()],
        (Published, Unset | Known(Proposed) | Unknown(_)) => {
            vec![FieldError::published_can_only_propose_deletion(), FieldError::not_an_approval(requested)]
        }
        (DeletionProposed, Known(Draft)) => vec![FieldError::deletion_can_only_be_rejected()],
        (DeletionProposed, Known(DeletionProposed)) => {
            vec![FieldError::deletion_can_only_be_rejected(), FieldError::deletion_needs_published()]
        }
        (DeletionProposed, Unset | Known(Proposed) | Unknown(_)) => {
            vec![FieldError::deletion_can_only_be_rejected(), FieldError::not_an_approval(requested)]
        }
    };
    Err(Refused::invalid(errors))
}

fn edit_content(state: Lifecycle) -> Result<Next, Refused> {
    match state {
        Lifecycle::Draft => Ok(Next::Stay(Lifecycle::Draft)),
        Lifecycle::Proposed | Lifecycle::Published | Lifecycle::DeletionProposed => {
            Err(Refused::NotDraft(state))
        }
    }
}

fn delete(state: Lifecycle) -> Result<Next, Refused> {
    match state {
        Lifecycle::Draft | Lifecycle::Proposed | Lifecycle::DeletionProposed => Ok(Next::Delete),
        Lifecycle::Published => Err(Refused::DeletePublished),
    }
}
