//! Packages in folders of a disk: reading them, and changing them so that a kill at any moment leaves the old files or the
//! new ones.
//!
//! | module | what it is about |
//! |---|---|
//! | `read` | a folder as a [`Package`](lanai_krm::Package) |
//! | `lock` | one writer at a time |
//! | `plan` | the journal: what is to be done, as bytes |
//! | `apply` | doing it, and finishing what a killed process began |
//! | `create` | a folder that appears as a whole |
//! | `copies` | copies of files, outside of the package |
//! | `entry` | one file on disk, and whether it is what somebody expects |
//! | `sync` | making what was written last |
//! | `steps` | the points at which a process can be killed |
//!
//! Nothing here reads the environment, a clock or the home folder.

mod apply;
mod copies;
mod create;
mod entry;
mod error;
mod lock;
mod plan;
mod read;
mod steps;
mod sync;

pub use apply::{Applied, Kept, Recovery, Replaced, apply, recover};
pub use copies::Copies;
pub use create::create;
pub use error::Error;
pub use lock::{Lock, lock};
pub use read::{Contents, Odd, OddKind, read};
pub use steps::{Step, Steps};

/// The folder in a package that holds the lock and the journal while somebody changes the package. Readers skip it.
pub const STATE_FOLDER: &str = ".lanai-change";

/// The name of a new file before it gets its own; readers skip it.
fn temporary_name(number: usize) -> String {
    format!("{STATE_FOLDER}-{number}.tmp")
}

/// Whether a file of this name is one that did not get its own name.
fn is_temporary_name(name: &str) -> bool {
    let number =
        name.strip_prefix(STATE_FOLDER).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".tmp"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
