//! What patches and server-side apply make of an object, and who owns its fields.
//!
//! | module | what it knows |
//! |---|---|
//! | [`owners`] | server-side apply, and who owns what after any write |
//! | [`fields`], [`managed`], [`conflict`] | sets of fields, the entries of managed fields, conflicts |
//! | `shape`, `typed` | how values merge, and values along that |
//! | [`merge`] | merge patches |
//! | [`json`] | JSON patches |
//! | [`strategic`] | strategic merge patches |

pub mod conflict;
pub mod fields;
pub mod json;
pub mod managed;
pub mod merge;
pub mod owners;
pub mod strategic;

mod shape;
mod typed;

pub use conflict::Conflict;
pub use owners::{Error, Force, Writer, apply, update};
