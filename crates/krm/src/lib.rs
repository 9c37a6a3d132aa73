//! Resources, lists of them, and packages: what Kubernetes configuration is made of.

mod adopt;
pub mod digest;
pub mod heal;
pub mod ignore;
pub mod kptfile;
pub mod mark;
pub mod merge_mark;
pub mod package;
pub mod resource;
pub mod resource_list;
pub mod result;
pub mod select;

pub use adopt::adopt;
pub use ignore::IgnoreRules;
pub use kptfile::Kptfile;
pub use package::Package;
pub use resource::{Resource, ResourceId};
pub use resource_list::ResourceList;
pub use result::ResultItem;
pub use select::Selector;
