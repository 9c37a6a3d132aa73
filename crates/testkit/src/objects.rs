//! What clients of an API of objects asked and heard, and whether a server that keeps its promises can have answered so.
//!
//! A server gives every write of every object a number of one counter. Watchers hear all writes, so that what one of them heard is the log. Then
//! every call must fit into it at a moment between its beginning and its end: writes at their own number, behind the version that they
//! named; reads and lists at a number at which the objects were so; refusals at one at which they were right. That is linearizability, for each
//! object and for all of them together.
//!
//! The judge knows nothing of the server but this, so that it can be shown to catch what is wrong: see the tests.

mod judge;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

pub use judge::{Summary, check};

/// An object at a version: everything of it but the version.
pub type State = Value;

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// To make an object; `mark` is found in it and in nothing else.
    Create {
        /// Which.
        object: String,
        /// The mark.
        mark: String,
    },
    /// To change one that is at a version.
    Change {
        /// Which.
        object: String,
        /// The version that the client knows.
        base: u64,
        /// The mark, where the change leaves one.
        mark: Option<String>,
    },
    /// To delete one.
    Delete {
        /// Which.
        object: String,
    },
    /// To see one.
    Read {
        /// Which.
        object: String,
    },
    /// To see all.
    List,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// It is done; the version, and the object where the answer has it.
    Done {
        /// The version.
        version: u64,
        /// The object.
        state: Option<State>,
    },
    /// It is gone.
    Gone,
    /// It is so.
    Seen {
        /// The version.
        version: u64,
        /// The object.
        state: State,
    },
    /// All that there is.
    Listed {
        /// The version of the list.
        version: u64,
        /// Objects by name, with their versions.
        items: BTreeMap<String, (u64, State)>,
    },
    /// There is none.
    Missing,
    /// There is one already.
    Exists,
    /// It is at another version.
    Modified,
    /// It was refused for another reason, and nothing happened.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// It is new.
    Added,
    /// It is another one.
    Modified,
    /// It is gone.
    Deleted,
}

/// What a watcher heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The number of the write.
    pub version: u64,
    /// The object.
    pub object: String,
    /// What became of it.
    pub became: Became,
    /// How it is, or was last.
    pub state: State,
    /// The mark in it.
    pub mark: Option<String>,
}

/// A call from its beginning to its end, by a counter that all clients share.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// When it began.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// What was asked.
    pub asked: Asked,
    /// What was answered.
    pub answered: Answered,
}

/// All that happened.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The calls, in no order.
    pub calls: Vec<Call>,
    /// What each watcher heard, in its order. All watch from before the first call to behind the last.
    pub watchers: Vec<Vec<Event>>,
}

/// Notes calls, from any thread.
#[derive(Debug, Default)]
pub struct Recorder {
    clock: AtomicU64,
    calls: Mutex<Vec<Call>>,
}

impl Recorder {
    /// A call is about to begin.
    pub fn begin(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A call ended.
    pub fn end(&self, began: u64, asked: Asked, answered: Answered) {
        let ended = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(Call { began, ended, asked, answered });
    }

    /// All calls.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
