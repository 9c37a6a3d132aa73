//! Checks resources against the schemas of their kinds: those of a current Kubernetes, which are built in, and those that the
//! custom resource definitions of a package bring.
//!
//! | module | what it knows |
//! |---|---|
//! | `kubeconform`, `settings` | the function and its configuration |
//! | `schemas`, `of_value` | which schema a resource has; schemas of other values |
//! | `definitions`, `schema` | schemas of custom resources: reading them, what they say |
//! | `built_in`, `custom`, `unique` | walking over a resource along its schema |
//! | `walk`, `limits` | where a walk is, what it found, when it ends |
//! | `value`, `message` | values of a document, how findings are worded |
//!
//! The schemas of Kubernetes use a small part of what JSON schemas can say. It is checked here on the nodes of the document as
//! it is written: aliases, merge keys and duplicate keys keep their meaning, findings name their field, nothing is copied into
//! another kind of tree, and hostile definitions meet limits.
//!
//! ```
//! use lanai_krm::Resource;
//! use lanai_schema::{Limits, Schemas, UnknownFields};
//!
//! let web = Resource::parse("apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: two, selector: {}}\n")?;
//! let schemas = Schemas::of(&[], &Limits::default());
//! let checked = schemas.check(web.root(), UnknownFields::Accepted, &Limits::default());
//! let found: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
//! assert_eq!(found, ["spec: missing property 'template'", "spec.replicas: got string, want null or integer"]);
//! # Ok::<(), lanai_krm::resource::Error>(())
//! ```

mod built_in;
mod custom;
mod definitions;
mod kubeconform;
mod limits;
mod message;
mod of_value;
mod schema;
mod schemas;
mod settings;
mod unique;
mod value;
mod walk;

pub use kubeconform::function;
pub use limits::Limits;
pub use of_value::ValueSchema;
pub use schemas::{Checked, MissingSchema, Schemas, Warning};
pub use walk::{Finding, UnknownFields};
