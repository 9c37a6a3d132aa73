//! Packages in folders of a disk: reading them, and changing them so that a kill at any moment leaves the old files or the
//! new ones.
//!
//! | module | what it is about |
//! |---|---|
//! | `read` | a folder as a [`Package`](lanai_krm::Package) |
//! | `view` | the same as it is when a change that was interrupted is finished |
//! | `lock` | one writer at a time |
//! | `state` | the folder of the lock and the journal, and whose word counts in it |
//! | `plan` | the journal: what is to be done, as bytes |
//! | `apply` | changing a folder, and finishing what a killed process began |
//! | `run` | making the change of a journal, from wherever it was left |
//! | `back` | taking back what was begun of a change that failed |
//! | `create` | a folder that appears as a whole |
//! | `copies` | copies of files, outside of the package |
//! | `entry` | one file on disk, and whether it is what somebody expects |
//! | `sync` | making what was written last |
//! | `steps` | the points at which a process can be killed |
//!
//! Nothing here reads the environment, a clock or the home folder.

mod apply;
mod back;
mod copies;
mod create;
mod entry;
mod error;
mod lock;
mod plan;
mod read;
mod run;
mod state;
mod steps;
mod sync;
mod view;

pub use apply::{Applied, Kept, Recovery, Replaced, apply, recover};
pub use copies::Copies;
pub use create::create;
pub use error::Error;
pub use lock::{Lock, lock};
pub use read::{Contents, Odd, OddKind, read};
pub use steps::{Step, Steps};
pub use view::{Unfinished, View, change_around, view};

/// The folder in a package that holds the lock and the journal while somebody changes the package. Readers skip it.
pub const STATE_FOLDER: &str = ".lanai-change";
