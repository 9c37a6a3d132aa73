//! Remembering what functions made of lists.

use std::fmt::{self, Write as _};

use async_trait::async_trait;
use lanai_types::Sha256Digest;
use ring::digest::{Context, SHA256};

use crate::Evaluator;

/// Remembers what steps made: a step is one function on a list, or several in a row.
///
/// What is remembered is bytes; what they mean is the business of whoever asks. See [`record`](crate::record) for those of steps.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Who runs functions of which nothing is remembered. It remembers nothing itself.
    fn evaluator(&self) -> &dyn Evaluator;

    /// What came out of a step, or the right to make it. Waits while somebody else makes it.
    async fn recall(&self, step: &Step) -> Recall;

    /// A step is not remembered, for this reason. For whoever explains later what happened.
    fn pass_over(&self, step: &Step, why: &str);
}

/// What is remembered of a step.
pub enum Recall {
    /// What was kept.
    Known(Vec<u8>),
    /// Nothing; whoever asked is the one who makes it.
    Unknown(Box<dyn Permit>),
}

/// The right to make what a step makes. Dropping it gives it up.
#[async_trait]
pub trait Permit: Send {
    /// Keeps what came out.
    async fn keep(self: Box<Self>, content: Vec<u8>);

    /// Gives it up, and returns when the next one can have it.
    async fn give_up(self: Box<Self>);
}

/// What goes into a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The function or functions, for people.
    pub functions: String,
    /// The package, for people. It is no input.
    pub package: String,
    /// Everything that could make what comes out another one: names for people, and digests.
    pub inputs: Vec<(String, Sha256Digest)>,
}

/// Computes the digest of an input from parts.
#[derive(Clone)]
pub struct InputDigest(Context);

impl InputDigest {
    /// No parts yet.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// One more part. Inputs are equal only when all their parts are.
    #[must_use]
    pub fn part(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The last part, which is written without being in memory as a whole.
    pub fn last(mut self, part: &dyn fmt::Display) -> Sha256Digest {
        // Nothing that is written to can fail here.
        let _ = write!(self, "{part}");
        self.finish()
    }

    /// The digest.
    pub fn finish(self) -> Sha256Digest {
        let digest = self.0.finish();
        Sha256Digest::from_bytes(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl Default for InputDigest {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Write for InputDigest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
