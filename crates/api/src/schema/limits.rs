//! Limits.

/// What schemas and checks may cost. Beyond a limit there is a cause that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep a schema may be.
    pub max_schema_depth: usize,
    /// How many schemas may stand in a schema.
    pub max_schema_nodes: usize,
    /// How many bytes a compiled pattern may take.
    pub max_pattern_bytes: usize,
    /// How deep values may stand in an object.
    pub max_depth: usize,
    /// How many causes a check reports.
    pub max_causes: usize,
    /// How many bytes a rule may have.
    pub max_rule_bytes: usize,
    /// How many steps one rule may take on one value.
    pub max_rule_steps: u64,
    /// How many steps all rules may take on one object.
    pub max_object_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_schema_depth: 64,
            max_schema_nodes: 100_000,
            max_pattern_bytes: 1 << 20,
            max_depth: 200,
            max_causes: 1_000,
            max_rule_bytes: 10 << 10,
            max_rule_steps: 1_000_000,
            max_object_steps: 10_000_000,
        }
    }
}
