//! Ids, digests, safe names, the lifecycle table and limits.
//!
//! Everything here is a value: nothing reads a file, a clock or the network. A type of this crate is a proof. Whoever
//! holds a [`SafePath`] holds a path that was checked, and nobody has to check it again.
//!
//! | area | modules |
//! |---|---|
//! | names that people choose | [`namespace`], [`repository_name`], [`package_name`], [`workspace_name`] |
//! | names that are made of them | [`object_name`], [`uid`] |
//! | names inside Git | [`safe_path`], [`ref_name`], [`git_id`] |
//! | contents | [`digest`] |
//! | numbers with a meaning | [`resource_version`], [`revision_number`], [`lease`], [`byte_size`] |
//! | decisions | [`lifecycle`] |
//! | bounds | [`limits`] |
//! | words | [`dns`] (Kubernetes's naming rules and their texts), [`quote`] (values inside messages) |

pub mod byte_size;
pub mod digest;
pub mod dns;
pub mod git_id;
pub mod lease;
pub mod lifecycle;
pub mod limits;
pub mod namespace;
pub mod object_name;
pub mod package_name;
pub mod quote;
pub mod ref_name;
pub mod repository_name;
pub mod resource_version;
pub mod revision_number;
pub mod safe_path;
pub mod uid;
pub mod workspace_name;

mod dot_git;
mod hex;
mod text;

pub use byte_size::ByteSize;
pub use digest::Sha256Digest;
pub use git_id::{BlobId, CommitId, GitObjectId, TreeId};
pub use lease::{FencingNumber, LeaseId};
pub use lifecycle::{Lifecycle, RequestedLifecycle};
pub use limits::{Limits, PathLimits, YamlLimits};
pub use namespace::Namespace;
pub use object_name::{ObjectName, PackageObjectName};
pub use package_name::PackageName;
pub use ref_name::RefName;
pub use repository_name::RepositoryName;
pub use resource_version::ResourceVersion;
pub use revision_number::RevisionNumber;
pub use safe_path::SafePath;
pub use uid::Uid;
pub use workspace_name::WorkspaceName;
