//! The kinds of the API: what they are called, what their objects look like, and what clients are told of them.
//!
//! Everything here is a value or a function of values. Objects are [`serde_json::Value`]s, as they travel.
//!
//! | area | modules |
//! |---|---|
//! | kinds | [`kind`], [`kinds`] (those that are always there), [`crd`] (those that users define) |
//! | what objects look like | [`schema`] |
//! | tables | [`column`], [`cells`], [`leaves`], [`jsonpath`], [`age`] |
//! | what schemas cannot say | [`meta`], [`core`] (Kubernetes's own kinds), [`decode`], [`protobuf`] (reading) |
//! | documents for clients | [`openapi`] |
//! | what is wrong | [`cause`], [`names`] |

pub mod age;
pub mod cause;
pub mod cells;
pub mod column;
pub mod core;
pub mod crd;
pub mod decode;
pub mod jsonpath;
pub mod kind;
pub mod kinds;
pub mod leaves;
pub mod meta;
pub mod names;
pub mod openapi;
pub mod protobuf;
pub mod schema;
pub mod time;

pub use cause::{Cause, FieldPath, Reason};
pub use cells::Cells;
pub use column::Column;
pub use jsonpath::JsonPath;
pub use kind::{KindInfo, Names, Origin, Role, Scope, Serving, SubResource, Verb, Version};
pub use schema::Schema;
