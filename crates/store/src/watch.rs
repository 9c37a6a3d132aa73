//! Following what happens.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Error, Filter, Revision, Stored};

/// What to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// Which objects.
    pub filter: Filter,
    /// From when on.
    pub from: WatchFrom,
    /// Whether to hear of revisions that hold nothing for this watcher.
    pub bookmarks: Bookmarks,
}

impl WatchRequest {
    /// Follows what matches behind a revision, without bookmarks.
    pub const fn after(revision: Revision, filter: Filter) -> Self {
        Self { filter, from: WatchFrom::After(revision), bookmarks: Bookmarks::Never }
    }
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchFrom {
    /// Behind what is there now.
    Now,
    /// Behind this revision.
    After(Revision),
}

/// Whether and how often a watcher hears how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bookmarks {
    /// Never; [`Watch::position`] tells it to who asks.
    Never,
    /// When it has reached the newest revision, and at least so many since the last signal held nothing for it.
    Every(NonZeroU64),
}

/// What a watcher is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Something happened.
    Event(Event),
    /// All that matches up to this revision was handed out.
    Bookmark(Revision),
}

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When. One event has it, in the whole store.
    pub revision: Revision,
    /// What.
    pub change: Change,
}

/// What happened to an object, as somebody sees it who sees only what a filter admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new, or matches from now on.
    Created {
        /// The object.
        now: Arc<Stored>,
    },
    /// It was replaced.
    Updated {
        /// The object before.
        before: Arc<Stored>,
        /// The object.
        now: Arc<Stored>,
    },
    /// It is gone, or does not match any more.
    Deleted {
        /// The last version that matched; its revision is that of its own last write, not of this event.
        last: Arc<Stored>,
    },
}

impl Change {
    /// The object that the event is about: the new one, or the last one.
    pub const fn subject(&self) -> &Arc<Stored> {
        match self {
            Self::Created { now } | Self::Updated { now, .. } => now,
            Self::Deleted { last } => last,
        }
    }
}

/// What one revision did. One of the two is there, or both; or none, for somebody to whom neither matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The revision.
    pub revision: Revision,
    /// The object before.
    pub before: Option<Arc<Stored>>,
    /// The object afterwards.
    pub after: Option<Arc<Stored>>,
}

impl Record {
    /// What somebody sees of it through a filter.
    pub fn through(&self, filter: &Filter) -> Option<Event> {
        let seen = |stored: &Option<Arc<Stored>>| stored.clone().filter(|stored| filter.admits(stored));
        let change = match (seen(&self.before), seen(&self.after)) {
            (None, None) => return None,
            (None, Some(now)) => Change::Created { now },
            (Some(before), Some(now)) => Change::Updated { before, now },
            (Some(last), None) => Change::Deleted { last },
        };
        Some(Event { revision: self.revision, change })
    }
}

/// A watcher: a position in history that moves when somebody asks.
pub struct Watch(Box<dyn Tail>);

impl Watch {
    pub(crate) fn new(tail: impl Tail + 'static) -> Self {
        Self(Box::new(tail))
    }

    /// A watch that something else implements, such as a store in a test.
    pub fn from_tail(tail: Box<dyn Tail>) -> Self {
        Self(tail)
    }

    /// The next signal; waits for one. Dropping the future loses nothing.
    ///
    /// [`Error::Expired`] when the horizon overtook the position. Behind an error the watch is of no more use.
    pub async fn next(&mut self) -> Result<Signal, Error> {
        self.0.next().await
    }

    /// All that matches up to this revision was handed out. A watch that goes on behind it misses nothing and repeats nothing.
    ///
    /// Moves only while somebody waits in [`Watch::next`].
    pub fn position(&self) -> Revision {
        self.0.position()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch(at {})", self.position())
    }
}

/// What a back end does for a watcher.
#[async_trait]
pub trait Tail: Send {
    /// See [`Watch::next`].
    async fn next(&mut self) -> Result<Signal, Error>;

    /// See [`Watch::position`].
    fn position(&self) -> Revision;
}
