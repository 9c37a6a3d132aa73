//! Which program a function is.

use lanai_types::Sha256Digest;

/// What an evaluator says about the program that it would run for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// This evaluator does not know the function.
    Unknown,
    /// Its answers are not kept, for this reason.
    Volatile(String),
    /// It is this program, whatever its name, and equal lists give equal answers.
    Fixed(Sha256Digest),
}
