//! Bounds on what others send.

use crate::ByteSize;

/// How much of anything that comes from outside is taken.
///
/// Every limit is inclusive: exactly as much is accepted, one more is refused. The values are defaults for people who
/// configure nothing; who enforces a limit takes it as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One file of a package that holds resources.
    pub max_document: ByteSize,
    /// One other file of a package: it is carried along, and not looked into.
    pub max_opaque: ByteSize,
    /// All files of a package together, and every stream of resources between us and a function.
    pub max_stream: ByteSize,
    /// The body of a request to the API. Porch's default, and what its clients expect.
    pub max_request_body: ByteSize,
    /// Files in one package.
    pub max_files: usize,
    /// Paths inside packages.
    pub path: PathLimits,
    /// YAML, before it is trusted.
    pub yaml: YamlLimits,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_document: ByteSize::mib(10),
        max_opaque: ByteSize::gib(1),
        max_stream: ByteSize::mib(256),
        max_request_body: ByteSize::mib(6),
        max_files: 100_000,
        path: PathLimits::DEFAULT,
        yaml: YamlLimits::DEFAULT,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bounds on a [`SafePath`](crate::SafePath), which enforces the default itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    /// The whole path.
    pub max_bytes: usize,
    /// Segments between slashes, the file name included.
    pub max_depth: usize,
    /// One segment. File systems hold no more than 255 bytes.
    pub max_segment_bytes: usize,
}

impl PathLimits {
    /// The most that any path may have.
    pub const DEFAULT: Self = Self { max_bytes: 1024, max_depth: 64, max_segment_bytes: 255 };
}

impl Default for PathLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bounds on YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YamlLimits {
    /// Bytes of the whole stream.
    pub max_bytes: usize,
    /// Collections inside collections.
    pub max_depth: usize,
    /// Nodes (scalars, collections, aliases) as they are written.
    pub max_nodes: usize,
    /// Nodes after every alias is replaced by what it stands for; this is what stops a small file that unfolds into
    /// billions.
    pub max_expanded_nodes: usize,
    /// Documents in one stream.
    pub max_documents: usize,
}

impl YamlLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_bytes: 256 << 20,
        max_depth: 1_000,
        max_nodes: 20_000_000,
        max_expanded_nodes: 10_000_000,
        max_documents: 1_000_000,
    };
}

impl Default for YamlLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
