//! Why something was not a hit.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::{Inputs, Trace};

/// Why there was no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// This function was never asked for on this package.
    First,
    /// Something is not as it was the last time.
    Differs(Difference),
    /// Everything is as it was the last time, but what came out then was not kept, or was evicted.
    NotKept,
    /// There was a result, and its content is missing or is not what was written. It is made anew.
    Damaged,
    /// The catalog cannot be used, for this reason.
    Unusable(String),
}

/// The first input that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub input: String,
    /// What is different about it.
    pub change: Change,
}

/// What is different about an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is another one.
    Changed,
    /// It was not there.
    New,
    /// It is not there any more.
    Gone,
    /// It stands at another place among the inputs.
    Moved,
}

/// Compares inputs with those of the last time. None if they are the same.
pub(crate) fn difference(now: &Inputs, last: &Trace) -> Option<Difference> {
    let trace = now.trace();
    if trace == *last {
        return None;
    }
    let (now, before) = (counted(&trace), counted(last));
    let was: HashMap<(&str, usize), &str> = before.iter().copied().collect();
    let found = |input: &str, change| Some(Difference { input: input.to_owned(), change });
    for (input, digest) in &now {
        match was.get(input) {
            None => return found(input.0, Change::New),
            Some(before) if before != digest => return found(input.0, Change::Changed),
            Some(_) => {}
        }
    }
    let is: HashSet<(&str, usize)> = now.iter().map(|(input, _)| *input).collect();
    if let Some((gone, _)) = before.iter().find(|(input, _)| !is.contains(input)) {
        return found(gone.0, Change::Gone);
    }
    let moved = trace.lines().zip(last.lines()).find(|(now, before)| now != before);
    moved.and_then(|((name, _), _)| found(name, Change::Moved))
}

/// Names with their number among those of the same name, and digests.
fn counted(trace: &Trace) -> Vec<((&str, usize), &str)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let count = |(name, digest)| {
        let count = counts.entry(name).or_default();
        *count += 1;
        ((name, *count), digest)
    };
    trace.lines().map(count).collect()
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("it never ran on this package"),
            Self::Differs(difference) => difference.fmt(f),
            Self::NotKept => f.write_str("nothing changed, but the last result is not there any more"),
            Self::Damaged => f.write_str("the result that was kept is missing or damaged, and is made anew"),
            Self::Unusable(cause) => f.write_str(cause),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.change {
            Change::Changed => "changed",
            Change::New => "is new",
            Change::Gone => "is gone",
            Change::Moved => "has moved",
        };
        write!(f, "{} {verb}", self.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_input_that_differs_is_named() {
        let inputs = |list: &[(&str, &str)]| {
            let mut inputs = Inputs::default();
            for (name, content) in list {
                inputs.add(*name, content.as_bytes());
            }
            inputs
        };
        let last = inputs(&[("function", "1"), ("a", "2"), ("b", "3")]).trace();
        let check = |list: &[(&str, &str)], expected: &str| {
            let text = difference(&inputs(list), &last).map(|difference| difference.to_string());
            assert_eq!(text.unwrap_or_default(), expected);
        };
        check(&[("function", "1"), ("a", "2"), ("b", "3")], "");
        check(&[("function", "x"), ("a", "y"), ("b", "3")], "function changed");
        check(&[("function", "1"), ("a", "2"), ("b", "4")], "b changed");
        check(&[("function", "1"), ("c", "2"), ("b", "3")], "c is new");
        check(&[("function", "1"), ("b", "3")], "a is gone");
        check(&[("function", "1"), ("b", "3"), ("a", "2")], "b has moved");
        check(&[("function", "1"), ("a", "2"), ("a", "2"), ("b", "3")], "a is new");
    }
}
