//! What patches and server-side apply make of an object, and who owns its fields.
//!
//! | module | what it knows |
//! |---|---|
//! | [`merge`] | merge patches |
//! | [`json`] | JSON patches |

pub mod json;
pub mod merge;
