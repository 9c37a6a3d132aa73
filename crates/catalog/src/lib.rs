//! Results that were computed before, found by what went into them.
//!
//! A [`Catalog`] keeps what pieces of work made. A piece of work is known by its [`Inputs`], which are named digests; their digest
//! is its [`Key`]. [`Catalog::begin`] answers with the result, or with a [`Ticket`], which is the right to do the work: nobody else
//! who asks gets one meanwhile, in this process or another one; they wait, and get the result.
//!
//! | module | what it knows |
//! |---|---|
//! | `inputs`, `digester` | what goes into a piece of work, and its key |
//! | `entry` | what is written down about a result |
//! | `records` | the trait of metadata and leases, and its promises |
//! | `memory`, `sqlite` | records in memory, the reference, and in a file that processes share |
//! | `blobs` | contents by their digest |
//! | `catalog`, `ticket` | both together |
//! | `presence` | which processes are gone |
//! | `why` | why something was not a hit |
//! | `upkeep` | listing, eviction, verification |

mod blobs;
mod catalog;
mod digester;
mod entry;
mod inputs;
mod memory;
mod presence;
mod records;
mod sqlite;
mod ticket;
mod upkeep;
mod why;

pub use blobs::{Blobs, Damage};
pub use catalog::{Begun, Catalog, Clock, Hit, Options};
pub use digester::{Digester, digest_of};
pub use entry::{Entry, Moment, Outcome};
pub use inputs::{Input, Inputs, Key, Subject, Trace};
pub use memory::MemoryRecords;
pub use records::{Claim, Committed, Error, Records, Reserved, Total};
pub use sqlite::SqliteRecords;
pub use ticket::{Kept, Ticket};
pub use upkeep::{Finding, Pruned, Verified};
pub use why::{Change, Difference, Miss};
