//! How much a program may take.

use std::time::Duration;

use lanai_types::{ByteSize, Limits};

/// Bounds on a program that is run as a function. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecLimits {
    /// How long it may run, if the deadline is not earlier.
    pub max_time: Duration,
    /// The memory that it may have with all that it started, what is shared counted once; see
    /// [`CageLimits::max_memory`](lanai_process::CageLimits::max_memory). A program that is not caged is not limited.
    pub max_memory: ByteSize,
    /// What it may write to its standard output.
    pub max_output: ByteSize,
    /// How much is kept of what it writes to its standard error output. What comes after that is thrown away.
    pub max_stderr: ByteSize,
    /// The processes and threads that it may have at a time, itself included.
    pub max_processes: u32,
    /// The descriptors that each of its processes may have open.
    pub max_open_files: u32,
    /// All that it keeps in its folder, and each file that it writes elsewhere.
    pub max_files: ByteSize,
}

impl ExecLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_time: Duration::from_mins(5),
        max_memory: ByteSize::gib(1),
        max_output: Limits::DEFAULT.max_stream,
        max_stderr: ByteSize::mib(1),
        max_processes: 256,
        max_open_files: 1024,
        max_files: ByteSize::mib(256),
    };
}

impl Default for ExecLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
