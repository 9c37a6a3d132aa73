//! How much a policy may use.

use std::time::Duration;

/// Bounds on a policy. Sizes are inclusive: exactly as much is accepted, one more is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text of Rego.
    pub max_source: usize,
    /// Brackets in each other.
    pub max_nesting: usize,
    /// Operators in one expression.
    pub max_operators: usize,
    /// How long one policy may look at one resource. Looked at between the steps of the engine; what a single step takes is
    /// bounded by the process around it.
    pub max_time: Duration,
    /// Bytes of all messages of all policies.
    pub max_output: usize,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_source: 1 << 20,
        max_nesting: 12,
        max_operators: 500,
        max_time: Duration::from_secs(5),
        max_output: 16 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
