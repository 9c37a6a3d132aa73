//! The functions that come with the binary: they change or look at a list of resources, in place.
//!
//! | module | what it knows |
//! |---|---|
//! | `function` | what a function is, and how it says that it failed |
//! | `catalog` | which functions there are, and which images they stand for |
//! | `wire` | running one on the text that functions exchange |
//! | `document` | the page about them, made from what they say of themselves |
//! | `config`, `report` | reading what configures a function, writing what it reports |
//! | `plan`, `sites`, `field_spec` | changes to be made to a resource, and where |
//! | `setter`, `scope`, `pods`, `go` | comments that name setters, which kinds have a namespace or pods, how Go spells things |
//!
//! Each other module is one function.
//!
//! ```
//! use lanai_functions::catalog;
//! use lanai_krm::{Resource, ResourceList};
//!
//! let web = Resource::parse("kind: Service\napiVersion: v1 # core\nmetadata:\n  name: web\n")?;
//! let config = Resource::parse("apiVersion: v1\nkind: ConfigMap\ndata: {namespace: prod}\n")?;
//! let mut list = ResourceList { items: vec![web], function_config: Some(config), ..ResourceList::default() };
//!
//! let function = catalog::find("gcr.io/kpt-fn/set-namespace:v0.4.5").expect("it is in the catalog");
//! function.run(&mut list)?;
//! assert_eq!(
//!     list.items[0].to_string(),
//!     "kind: Service\napiVersion: v1 # core\nmetadata:\n  name: web\n  namespace: prod\n"
//! );
//! assert_eq!(list.results[0].message, "namespace [default] updated to \"prod\", 1 value(s) changed");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod catalog;
pub mod config;
pub mod document;
pub mod function;
pub mod report;
pub mod wire;

mod field_spec;
mod go;
mod plan;
mod pods;
mod scope;
mod setter;
mod sites;

mod apply_replacements;
mod apply_setters;
mod create_setters;
mod delete_annotations;
mod drop_comments;
mod ensure_name_substring;
mod format;
mod gen_pkg_context;
mod list_setters;
mod no_op;
mod remove_local_config_resources;
mod search_replace;
mod set_annotations;
mod set_enforcement_action;
mod set_image;
mod set_labels;
mod set_namespace;
mod set_project_id;
mod upsert_resource;

pub use catalog::catalog;
pub use function::{Code, Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
pub use wire::{Answer, run_on_wire, run_this_on_wire};
