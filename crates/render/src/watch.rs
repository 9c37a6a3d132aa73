//! What happens during a render, for whoever wants to see it.

use lanai_evaluate::FunctionRef;
use lanai_krm::ResultItem;

/// Sees what happens, as it happens.
pub trait Watch: Send {
    /// Something happened.
    fn see(&mut self, event: Event<'_>);
}

/// Nobody looks.
impl Watch for () {
    fn see(&mut self, _: Event<'_>) {}
}

/// Something that happened during a render.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The turn of a package has come.
    Package {
        /// The names of the packages from the root down, joined by slashes.
        name: &'a str,
    },
    /// A function begins.
    Running(Running<'a>),
    /// A function did not run, because its condition is false.
    Skipped {
        /// The function.
        function: &'a FunctionRef,
        /// The condition.
        when: &'a str,
    },
    /// A function ended well.
    Passed {
        /// The function.
        function: &'a FunctionRef,
        /// What it reported.
        results: &'a [ResultItem],
        /// What it said.
        stderr: &'a str,
    },
    /// A function failed, or what it did cannot be accepted.
    Failed {
        /// The function.
        function: &'a FunctionRef,
        /// What it reported.
        results: &'a [ResultItem],
        /// What it said.
        stderr: &'a str,
        /// The code that it ended with, when it ran and failed by itself.
        exit_code: Option<i32>,
        /// What went wrong, in words.
        error: &'a str,
    },
    /// A package whose pipeline is not empty is done.
    PackageDone,
}

/// A function that begins.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    /// The function.
    pub function: &'a FunctionRef,
    /// How many resources it sees, when these are not all.
    pub selected: Option<usize>,
    /// The package, as [`Event::Package`] names it; none when there is no pipeline.
    pub package: Option<&'a str>,
}
