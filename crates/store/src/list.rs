//! Lists, whole or in pages.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::{Error, Filter, Key, Revision, Stored};

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Which objects.
    pub filter: Filter,
    /// As of when, and from where on.
    pub at: At,
    /// At most so many; all without it.
    pub limit: Option<NonZeroUsize>,
}

impl ListRequest {
    /// All that matches, now.
    pub const fn all(filter: Filter) -> Self {
        Self { filter, at: At::Latest, limit: None }
    }
}

/// The moment of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// Now: at least as new as every write that was answered before.
    Latest,
    /// At this revision.
    Revision(Revision),
    /// At the revision of an earlier page, behind it.
    Continue(Continue),
}

impl At {
    /// The revision of the list, when the newest is `head` and history is kept from `horizon` on.
    pub(crate) fn resolve(&self, head: Revision, horizon: Revision) -> Result<Revision, Error> {
        let asked = match self {
            Self::Latest => head,
            Self::Revision(revision) | Self::Continue(Continue { revision, .. }) => *revision,
        };
        within(asked, head, horizon)
    }

    /// The key behind which the page begins.
    pub(crate) const fn after(&self) -> Option<&Key> {
        match self {
            Self::Latest | Self::Revision(_) => None,
            Self::Continue(from) => Some(&from.after),
        }
    }
}

/// A revision that lies in the kept history.
pub(crate) fn within(asked: Revision, head: Revision, horizon: Revision) -> Result<Revision, Error> {
    if asked < horizon {
        return Err(Error::Expired { asked, horizon });
    }
    if asked > head {
        return Err(Error::TooNew { asked, current: head });
    }
    Ok(asked)
}

/// Where the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continue {
    /// The revision of all pages.
    pub revision: Revision,
    /// The last key of the page before.
    pub after: Key,
}

/// A list, or a page of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What was listed is what was there at this revision.
    pub revision: Revision,
    /// The objects, in the order of their keys.
    pub items: Vec<Arc<Stored>>,
    /// Where it goes on; none on the last page.
    pub next: Option<Continue>,
}

impl Page {
    /// Cuts what was found, which may be one more than the limit, into a page.
    pub(crate) fn cut(revision: Revision, mut items: Vec<Arc<Stored>>, limit: Option<NonZeroUsize>) -> Self {
        let next = limit.filter(|limit| items.len() > limit.get()).map(|limit| {
            items.truncate(limit.get());
            let last = items.last().expect("a limit is at least one");
            Continue { revision, after: last.key.clone() }
        });
        Self { revision, items, next }
    }
}
