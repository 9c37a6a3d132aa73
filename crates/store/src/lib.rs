//! Objects with revisions, and watches on them.
//!
//! [`Store`] is the contract; read it first. [`MemoryStore`] is the reference: what it does is what is meant. [`SqliteStore`] is for one
//! process and a data directory, [`PostgresStore`] for several processes and a server.
//!
//! | area | modules |
//! |---|---|
//! | the contract | [`contract`], [`error`], [`limits`], [`jump`] |
//! | what is stored | [`key`], [`object`], [`transaction`], [`lease`] |
//! | how it is found | [`select`], [`list`], [`watch`] |
//! | back ends | [`memory`], [`sqlite`], [`postgres`] |
//! | what the durable ones share | `plan` (decides), `feed` (the window in memory), [`seal`] (secrets at rest) |

pub mod attributes;
pub mod contract;
pub mod error;
pub mod jump;
pub mod key;
pub mod lease;
pub mod limits;
pub mod list;
pub mod memory;
pub mod object;
pub mod postgres;
pub mod seal;
pub mod select;
pub mod sqlite;
pub mod transaction;
pub mod watch;

mod check;
mod compaction;
mod feed;
mod plan;
mod row;

/// What the API shows as `resourceVersion`: the number that a write got from the store's one counter.
pub use lanai_types::ResourceVersion as Revision;

pub use attributes::{Attribute, Attributes, Sort};
pub use contract::Store;
pub use error::Error;
pub use jump::Jump;
pub use key::{Key, Kind, Prefix};
pub use lease::{Claim, Fence, Lease, LeaseName};
pub use limits::Limits;
pub use list::{At, Continue, ListRequest, Page};
pub use memory::MemoryStore;
pub use object::{Object, Protection, Stored};
pub use postgres::PostgresStore;
pub use select::{Filter, Requirement, Selector, Subject, Test};
pub use sqlite::SqliteStore;
pub use transaction::{Blob, Committed, Condition, Presence, Transaction, Write};
pub use watch::{Bookmarks, Change, Event, Record, Signal, Watch, WatchFrom, WatchRequest};
