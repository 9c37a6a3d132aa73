//! How much a module may take.

use std::time::Duration;

use lanai_types::{ByteSize, Limits};

/// Bounds on a module that is run as a function. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WasmLimits {
    /// How long it may run, if the deadline is not earlier.
    pub max_time: Duration,
    /// The memory that it may have.
    pub max_memory: ByteSize,
    /// What it may write to its standard output.
    pub max_output: ByteSize,
    /// How much is kept of what it writes to its standard error output. What comes after that is thrown away.
    pub max_stderr: ByteSize,
    /// How large a module may be. Compiling it cannot be ended early; this bounds how long it takes.
    pub max_module: ByteSize,
    /// How many compiled modules are kept. Those that were not used for longest go.
    pub max_modules: usize,
}

impl WasmLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_time: Duration::from_mins(5),
        max_memory: ByteSize::gib(1),
        max_output: Limits::DEFAULT.max_stream,
        max_stderr: ByteSize::mib(1),
        max_module: ByteSize::mib(64),
        max_modules: 32,
    };
}

impl Default for WasmLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
