//! Package revisions: made as drafts, changed, proposed, published to Git, deleted.
//!
//! [`Engine`] has the verbs. A draft is a value until one transaction of the store makes it visible; what is published is decided by the
//! remote. `docs/design/2026-11-18-engine.md` says who remembers what, and what a kill leaves.
//!
//! | area | modules |
//! |---|---|
//! | the verbs | [`engine`], `create`, `update`, `save`, `publish`, `delete`, `read` |
//! | what a new revision is made of | [`tasks`], [`fetch`], [`kptfile`], [`files`], [`context`], [`rendering`], `readiness` |
//! | what is remembered | [`object`], [`state`], [`rows`], `packages`, [`content`] |
//! | the remote | [`repositories`], [`overlap`], [`credentials`], `outbox`, `sync`, `asked`, `unregister`, `journal`, [`doubt`], [`diverged`] |
//! | who waits for whom | `locks` |

mod asked;
pub mod bounds;
pub mod content;
pub mod context;
mod create;
pub mod credentials;
mod delete;
mod diff;
pub mod diverged;
pub mod doubt;
pub mod engine;
pub mod error;
pub mod fetch;
pub mod files;
mod journal;
pub mod kptfile;
mod locks;
pub mod object;
pub mod outbox;
pub mod overlap;
mod packages;
mod publish;
mod read;
mod readiness;
pub mod rendering;
pub mod repositories;
pub mod rows;
mod save;
pub mod state;
pub mod sync;
pub mod tasks;
mod unregister;
mod update;

pub use engine::{Answer, Caller, Clock, DryRun, Engine, Options};
pub use error::{Error, Reason};
pub use outbox::OutboxReport;
pub use readiness::Readiness;
pub use rendering::{Runtime, Runtimes};
pub use sync::SyncReport;
pub use unregister::OnlyHere;
pub use update::Route;
