//! Packages in Git: facts are read from refs, and refs are moved by compare-and-swap.

mod bring;
mod facts;
mod history;
mod in_use;
mod intent;
mod layout;
mod message;
mod nodes;
mod objects;
mod operation;
mod own;
mod pack;
mod person;
mod push;
mod pusher;
mod queue;
mod refs;
mod remote;
mod repositories;
mod retry;
mod staging;
mod verdict;

pub use bring::{Bring, Version, Versions};
pub use facts::{Found, KptfileFacts, Problem, Snapshot};
pub use intent::{Intent, Journal, NoJournal, Outcome, PushLimits, WriteError};
pub use layout::{Branch, BranchError, Layout, Meaning};
pub use message::{Annotation, Annotations, Event, annotations};
pub use operation::{
    Conflict, Done, Mark, Move, NewContent, Operation, Place, Publish, Request, Save, Source, Stage,
};
pub use own::create_at as create_own;
pub use person::Person;
pub use push::Command;
pub use refs::Refs;
pub use repositories::{Repositories, Repository, Settings, Spec};
pub use retry::{BackOff, Class};
