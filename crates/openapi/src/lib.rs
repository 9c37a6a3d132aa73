//! The types of the built-in Kubernetes kinds: their fields, which of them must be there, what they hold, and how their lists
//! merge.
//!
//! The table is generated from the `OpenAPI` document of one version of Kubernetes (`scripts/schemas`) and compiled in. It is
//! read once, on first use. Beside it stand the formats and patterns that schemas name.
//!
//! ```
//! use lanai_openapi::{Merge, Shape, built_in};
//!
//! let table = built_in();
//! let deployment = table.kind("apps", "v1", "Deployment").expect("it is built in");
//! let Some(Shape::Type(spec)) = deployment.field("spec") else { unreachable!() };
//! assert_eq!(table.get(*spec).required(), ["selector", "template"]);
//! let Some(Shape::Type(conditions)) = deployment.field("status") else { unreachable!() };
//! let Some(Shape::List(list)) = table.get(*conditions).field("conditions") else { unreachable!() };
//! assert_eq!(list.merge, Merge::Keys(vec!["type"]));
//! ```

pub mod format;
pub mod pattern;

mod read;
mod table;

pub use table::{Kind, List, Merge, Shape, Table, Type, TypeId, Version, Whole, built_in};
