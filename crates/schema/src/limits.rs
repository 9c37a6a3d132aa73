//! Limits.

/// What a check may cost. Beyond a limit a finding says that the rest was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep values may stand in a resource.
    pub max_depth: usize,
    /// How many findings a resource gets.
    pub max_findings: usize,
    /// How many values are looked at in a resource, those that stand there through aliases included; a value counts once for
    /// each schema that it is compared with.
    pub max_visits: usize,
    /// How deep the schema of a custom resource may be.
    pub max_schema_depth: usize,
    /// How many schemas may stand in the schema of a custom resource.
    pub max_schema_nodes: usize,
    /// How many bytes a compiled pattern of a custom resource may take.
    pub max_pattern_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 100,
            max_findings: 100,
            max_visits: 1_000_000,
            max_schema_depth: 64,
            max_schema_nodes: 100_000,
            max_pattern_bytes: 1 << 20,
        }
    }
}
