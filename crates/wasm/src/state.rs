//! What a running module has.

use std::time::Instant;

use lanai_evaluate::Variable;
use lanai_types::ByteSize;
use ring::rand::SystemRandom;
use wasmtime::ResourceLimiter;

use crate::control::Control;
use crate::{Program, WasmLimits};

/// How many entries its tables may have together.
const MAX_TABLES: usize = 1_000_000;

/// What a running module has.
pub(crate) struct State {
    pub control: Control,
    pub limiter: Limiter,
    pub input: Input,
    pub output: Output,
    pub messages: Output,
    /// Which of the three streams it has not closed.
    pub open: [bool; 3],
    pub arguments: Vec<String>,
    pub variables: Vec<String>,
    pub begun: Instant,
    pub random: SystemRandom,
}

/// What it reads.
pub(crate) struct Input {
    text: String,
    at: usize,
}

/// What it writes, up to a limit.
pub(crate) struct Output {
    pub bytes: Vec<u8>,
    limit: usize,
}

/// Holds the limit on memory, and remembers when it was hit.
pub(crate) struct Limiter {
    max_memory: usize,
    tables: usize,
    pub exceeded: bool,
}

impl State {
    pub(crate) fn new(
        control: Control,
        input: String,
        program: Program,
        variables: &[Variable],
        limits: &WasmLimits,
    ) -> Self {
        // Where it is on this machine is none of its business.
        let name = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let variables = variables.iter().map(|Variable { name, value }| format!("{name}={value}"));
        Self {
            control,
            limiter: Limiter { max_memory: whole(limits.max_memory), tables: 0, exceeded: false },
            input: Input { text: input, at: 0 },
            output: Output::new(limits.max_output),
            messages: Output::new(limits.max_stderr),
            open: [true; 3],
            arguments: std::iter::once(name).chain(program.arguments).collect(),
            variables: variables.collect(),
            begun: Instant::now(),
            random: SystemRandom::new(),
        }
    }
}

impl Input {
    /// The next bytes, so many as there are and as are wanted.
    pub(crate) fn take(&mut self, wanted: usize) -> &[u8] {
        let rest = &self.text.as_bytes()[self.at..];
        let taken = &rest[..rest.len().min(wanted)];
        self.at += taken.len();
        taken
    }
}

impl Output {
    fn new(limit: ByteSize) -> Self {
        Self { bytes: Vec::new(), limit: whole(limit) }
    }

    /// Keeps what there is room for. Answers whether that was all.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> bool {
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.len() <= room
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.exceeded |= desired > self.max_memory;
        Ok(desired <= self.max_memory)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let together = self.tables.saturating_add(desired.saturating_sub(current));
        let fits = together <= MAX_TABLES;
        if fits {
            self.tables = together;
        }
        Ok(fits)
    }
}

fn whole(size: ByteSize) -> usize {
    usize::try_from(size.get()).unwrap_or(usize::MAX)
}
