//! What clients of a store asked and heard, and whether a store that keeps its promises can have answered so.
//!
//! A history is a list of entries in the order in which they happened: a [`Entry::Call`] is noted before the store is asked, a
//! [`Entry::Return`] after it has answered. [`check`] finds what no correct store can have done. It knows nothing of the store but this
//! list, and its words are its own, so that one judge serves all back ends, in one process or several.
//!
//! How it judges: revisions say in which order a store claims to have written. From acknowledged writes and from what unfiltered watchers
//! heard comes one log; it must be whole, explained by calls, and meet the conditions of every write. Then everything that anybody read, listed or
//! heard is compared with that log, at a moment between call and return that is not before what was known at the call. Writes whose
//! outcome is unknown count if somebody saw them, and as a whole.

mod check;
mod log;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use check::{Summary, Violation, check};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// Somebody is about to ask.
    Call {
        /// Of the call.
        id: u64,
        /// What.
        call: Call,
    },
    /// Somebody was answered.
    Return {
        /// Of the call.
        id: u64,
        /// What.
        reply: Reply,
    },
    /// A watch was opened.
    Open {
        /// Of the watch.
        watch: u64,
        /// The revision behind which it hears.
        after: u64,
        /// What it hears.
        filter: View,
    },
    /// A watch was told something.
    Heard {
        /// Of the watch.
        watch: u64,
        /// What.
        signal: Heard,
    },
    /// A watch was waited for until it must have told everything, in vain.
    Stalled {
        /// Of the watch.
        watch: u64,
    },
    /// Something happens from here on because of which the store may fail, such as a server that is away; it must not answer wrongly.
    Trouble,
    /// The process of the store was killed: calls without an answer stay without, and watches are gone.
    Killed,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Writes that succeed together or not at all. Every value is written once in a history.
    Commit(Vec<Put>),
    /// What is under a key.
    Get(String),
    /// What there is.
    List {
        /// Which objects.
        filter: View,
        /// At which revision; now if none.
        at: Option<u64>,
        /// Behind which key.
        after: Option<String>,
    },
    /// The newest revision.
    Current,
    /// Forget history up to a revision.
    Compact(u64),
    /// How many objects there are.
    Count(View),
    /// Hear what happens behind a revision.
    Watch {
        /// The revision; what is there now if none.
        after: Option<u64>,
    },
}

/// One conditional write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// The object.
    pub key: String,
    /// Its revision before; none if it is expected not to exist.
    pub expected: Option<u64>,
    /// What it becomes; none if it is deleted.
    pub content: Option<Content>,
}

/// What an object holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Unlike any other value.
    pub value: String,
    /// By which it is selected.
    pub label: String,
}

/// An object as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its key.
    pub key: String,
    /// The revision that created it.
    pub created: u64,
    /// The revision of its last write.
    pub revision: u64,
    /// What it holds.
    pub content: Content,
}

/// Which objects somebody sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Keys that begin so.
    pub prefix: String,
    /// Objects with this label; all if none.
    pub label: Option<String>,
}

impl View {
    /// Everything.
    pub fn everything() -> Self {
        Self { prefix: String::new(), label: None }
    }

    fn sees(&self, item: &Item) -> bool {
        item.key.starts_with(&self.prefix)
            && self.label.as_ref().is_none_or(|label| *label == item.content.label)
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The revision of each write.
    Committed(Vec<u64>),
    /// An object was not as expected.
    Conflict {
        /// The object.
        key: String,
        /// Its revision, if it exists.
        found: Option<u64>,
    },
    /// What is under the key.
    Found(Option<Item>),
    /// A list.
    Listed {
        /// Its revision.
        revision: u64,
        /// The objects.
        items: Vec<Item>,
        /// Whether that is all.
        rest: Rest,
    },
    /// The newest revision.
    Current(u64),
    /// The horizon.
    Compacted(u64),
    /// So many objects.
    Counted(u64),
    /// The watch is open.
    Watching {
        /// The revision behind which it hears.
        after: u64,
    },
    /// What was asked for is not there yet.
    TooNew {
        /// The newest revision.
        current: u64,
    },
    /// What was asked for is below the horizon.
    Expired {
        /// The horizon.
        horizon: u64,
    },
    /// Nothing happened, for another reason that lies in what was asked.
    Refused,
    /// Nothing happened, because the store could not.
    Failed(String),
    /// Nobody knows.
    Unknown,
}

/// Whether a list goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rest {
    /// That was all.
    Nothing,
    /// There is another page.
    More,
}

/// What a watch was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Heard {
    /// An object is new to the watcher.
    Created {
        /// When.
        revision: u64,
        /// The object.
        now: Item,
    },
    /// An object was replaced.
    Updated {
        /// When.
        revision: u64,
        /// The object before.
        before: Item,
        /// The object.
        now: Item,
    },
    /// An object is gone for the watcher.
    Deleted {
        /// When.
        revision: u64,
        /// The object before.
        last: Item,
    },
    /// All up to here was told.
    Bookmark(u64),
    /// The watch was cut off.
    Expired {
        /// The horizon.
        horizon: u64,
    },
    /// The watch ended for another reason.
    Failed(String),
}

impl Heard {
    /// The revision of an event.
    fn revision(&self) -> Option<u64> {
        match self {
            Self::Created { revision, .. }
            | Self::Updated { revision, .. }
            | Self::Deleted { revision, .. } => Some(*revision),
            Self::Bookmark(_) | Self::Expired { .. } | Self::Failed(_) => None,
        }
    }
}

/// A history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

impl History {
    /// Reads what a recorder wrote, a line an entry; a last line that is not whole is left out.
    pub fn read(lines: &str) -> Result<Self, serde_json::Error> {
        let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
        let entries = whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Goes on with what happened after the process of the store was killed.
    #[must_use]
    pub fn then_killed(mut self, next: Self) -> Self {
        self.entries.push(Entry::Killed);
        self.entries.extend(next.entries);
        self
    }
}

/// Notes what happens, from any thread.
#[derive(Debug)]
pub struct Recorder {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    entries: Vec<Entry>,
    next: u64,
    sink: Sink,
}

/// Where entries go besides the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// Nowhere.
    Memory,
    /// To the standard output, a line each, so that they outlive the process.
    Output,
}

impl Recorder {
    /// An empty recorder; ids begin at a number, so that those of several recorders differ.
    pub fn new(first_id: u64, sink: Sink) -> Self {
        Self { state: Mutex::new(State { entries: Vec::new(), next: first_id, sink }) }
    }

    /// Notes that somebody is about to ask; returns the id for [`Recorder::returned`].
    pub fn call(&self, call: Call) -> u64 {
        let mut state = self.state();
        let id = state.fresh();
        state.note(Entry::Call { id, call });
        id
    }

    /// Notes an answer.
    pub fn returned(&self, id: u64, reply: Reply) {
        self.state().note(Entry::Return { id, reply });
    }

    /// Notes a watch that was opened; returns its id.
    pub fn opened(&self, after: u64, filter: View) -> u64 {
        let mut state = self.state();
        let watch = state.fresh();
        state.note(Entry::Open { watch, after, filter });
        watch
    }

    /// Notes what a watch was told.
    pub fn heard(&self, watch: u64, signal: Heard) {
        self.state().note(Entry::Heard { watch, signal });
    }

    /// Notes that a watch did not tell what it must have told by now.
    pub fn stalled(&self, watch: u64) {
        self.state().note(Entry::Stalled { watch });
    }

    /// Notes that the store may fail from here on.
    pub fn trouble(&self) {
        self.state().note(Entry::Trouble);
    }

    /// All that was noted.
    pub fn history(&self) -> History {
        History { entries: self.state().entries.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn note(&mut self, entry: Entry) {
        if self.sink == Sink::Output {
            let mut line = serde_json::to_string(&entry).expect("entries can be written as JSON");
            line.push('\n');
            let mut output = std::io::stdout().lock();
            let done = output.write_all(line.as_bytes()).and_then(|()| output.flush());
            done.expect("somebody reads the history");
        }
        self.entries.push(entry);
    }
}

/// The state of all objects at one revision.
type Objects = BTreeMap<String, Item>;
