//! Why a program did not do its work.

use std::io;
use std::time::Duration;

use lanai_types::ByteSize;
use lanai_types::quote::Quoted;

/// Why a program could not be started, or was stopped. What a program says by its exit status is not an error here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such program in the folders of `PATH`.
    #[error("cannot start {}: not found", Quoted(.program))]
    NotFound {
        /// The program, as it was named.
        program: String,
    },
    /// The system refuses to start it.
    #[error("cannot start {}: {cause}", Quoted(.program))]
    Start {
        /// The program, as it was named.
        program: String,
        /// Why.
        cause: io::Error,
    },
    /// It was not started, because what was promised about it cannot be held here.
    #[error("cannot cage {}: {why}", Quoted(.program))]
    Cage {
        /// The program, as it was named.
        program: String,
        /// Why.
        why: String,
    },
    /// `Limits::max_time`.
    #[error("{} was stopped: it ran for more than the {} seconds that are allowed", Quoted(.program), .limit.as_secs_f64())]
    TooLong {
        /// The program, as it was named.
        program: String,
        /// What is allowed.
        limit: Duration,
        /// What it had written to its standard error output.
        messages: String,
    },
    /// `Limits::max_output`.
    #[error("{} was stopped: it wrote more than the {limit} that are allowed", Quoted(.program))]
    TooMuch {
        /// The program, as it was named.
        program: String,
        /// What is allowed.
        limit: ByteSize,
        /// What it had written to its standard error output.
        messages: String,
    },
    /// `CageLimits::max_memory`.
    #[error("{} was stopped: it took more than the {limit} of memory that are allowed", Quoted(.program))]
    TooLarge {
        /// The program, as it was named.
        program: String,
        /// What is allowed.
        limit: ByteSize,
        /// What it had written to its standard error output.
        messages: String,
    },
    /// The system lost it.
    #[error("cannot talk to {}: {cause}", Quoted(.program))]
    Lost {
        /// The program, as it was named.
        program: String,
        /// Why.
        cause: io::Error,
    },
}
