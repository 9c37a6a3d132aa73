//! How much a script may use.

/// Bounds on a script. Every limit is inclusive: exactly as much is accepted, one more is refused.
///
/// Steps, calls, source and nesting are exact. The heap is looked at before each statement, and one operation may take more
/// before it is noticed; that is why scripts also run in a process that has a bound of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the script.
    pub max_source: usize,
    /// Operators, brackets and blocks in each other, as they are written; and branches of one `if`.
    pub max_nesting: usize,
    /// Calls of functions and turns of loops.
    pub max_steps: u64,
    /// Functions that call each other.
    pub max_calls: usize,
    /// Bytes of values, those that are no longer used included.
    pub max_heap: usize,
    /// Bytes, or items, that `*` makes at once, and numbers in one `range`.
    pub max_repeat: usize,
    /// Decimal digits of two numbers that `*` multiplies, together, when one of them has more than 64 bits.
    pub max_digits: usize,
    /// Lists and dicts in each other, in what a script hands over.
    pub max_depth: usize,
    /// Bytes that a script prints.
    pub max_print: usize,
    /// Bytes of the values that a script hands over, in `items` or to be encoded. A value that stands in several places counts
    /// in each of them.
    pub max_output: usize,
    /// Bytes of a pattern of `re`, compiled.
    pub max_pattern: usize,
    /// Bytes of a text in which a pattern of `re` is looked for.
    pub max_match: usize,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_source: 1 << 20,
        max_nesting: 500,
        max_steps: 20_000_000,
        max_calls: 200,
        max_heap: 512 << 20,
        max_repeat: 16 << 20,
        max_digits: 10_000,
        max_depth: 500,
        max_print: 1 << 20,
        max_output: 256 << 20,
        max_pattern: 1 << 20,
        max_match: 1 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
