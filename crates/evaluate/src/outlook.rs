//! What can be said about a function before it runs.

/// What an evaluator says about a function before it is asked to run it. It is no promise: programs go, and registries too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing speaks against it.
    Runs,
    /// This evaluator does not know it.
    Unknown,
    /// It is known and cannot run, for this reason.
    Cannot(String),
}
