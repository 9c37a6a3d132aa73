//! The annotations that readers and writers of packages agree on.

/// The file of a resource: a path with slashes, relative to its package.
pub const PATH: &str = "internal.config.kubernetes.io/path";
/// The place of a resource in its file, from 0.
pub const INDEX: &str = "internal.config.kubernetes.io/index";
/// Older name of [`PATH`].
pub const LEGACY_PATH: &str = "config.kubernetes.io/path";
/// Older name of [`INDEX`].
pub const LEGACY_INDEX: &str = "config.kubernetes.io/index";
/// The package that a resource belongs to.
pub const PACKAGE_PATH: &str = "internal.config.kubernetes.io/package-path";
/// How the dashes of lists are indented in a resource: `wide` or `compact`.
pub const SEQUENCE_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// A serial that follows a resource through a function, from 1.
pub const ID: &str = "internal.config.kubernetes.io/id";
/// Older name of [`ID`].
pub const LEGACY_ID: &str = "config.k8s.io/id";
/// A serial that follows a resource while annotations with two names are reconciled, from 0.
pub const MIGRATION_ID: &str = "internal.config.kubernetes.io/annotations-migration-resource-id";
/// The place of a resource among all from which some were selected, from 0.
pub const SELECTION_ID: &str = "internal.config.kubernetes.io/kpt-resource-id";
/// Marks what is read by tools only and never applied to a cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
