//! What goes into a piece of work.

use std::fmt;

use lanai_types::Sha256Digest;

use crate::digester::{Digester, digest_of};

/// Everything that could make the result of a piece of work another one, in order. The names are for people, and count as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs(Vec<Input>);

/// One thing that goes into a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What it is, for people.
    pub name: String,
    /// The digest of its content.
    pub digest: Sha256Digest,
}

/// The digest of all inputs: equal keys are equal work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Sha256Digest);

/// What a piece of work is about, for people: a miss is compared with the last time that the same function ran on the same package. It
/// is not part of the key, so that packages share what they have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The function, or functions.
    pub function: String,
    /// The package.
    pub package: String,
}

/// The names of inputs and the beginnings of their digests, as they are kept to explain the next miss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(String);

/// How many digits of a digest a trace has.
const DIGITS: usize = 16;

impl Inputs {
    /// Adds an input by its content.
    pub fn add(&mut self, name: impl Into<String>, content: &[u8]) {
        self.add_digest(name, digest_of(content));
    }

    /// Adds an input by its digest.
    pub fn add_digest(&mut self, name: impl Into<String>, digest: Sha256Digest) {
        self.0.push(Input { name: name.into(), digest });
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Input> {
        self.0.iter()
    }

    /// The key.
    pub fn key(&self) -> Key {
        let mut digester = Digester::new();
        for Input { name, digest } in &self.0 {
            digester.part(name.as_bytes());
            digester.update(digest.as_bytes());
        }
        Key(digester.finish())
    }

    /// What is kept of them to explain the next miss.
    pub fn trace(&self) -> Trace {
        let mut text = String::new();
        for Input { name, digest } in &self.0 {
            text.push_str(&digest.to_hex()[..DIGITS]);
            text.push(' ');
            // A line is an input.
            text.extend(name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
            text.push('\n');
        }
        Trace(text)
    }
}

impl Trace {
    /// A trace that was kept.
    pub fn from_text(text: String) -> Self {
        Self(text)
    }

    /// As it is kept.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Names and the beginnings of digests.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().filter_map(|line| line.split_once(' ')).map(|(digest, name)| (name, digest))
    }
}

impl Key {
    /// A key that was kept.
    pub const fn new(digest: Sha256Digest) -> Self {
        Self(digest)
    }

    /// The digest of all inputs.
    pub const fn digest(&self) -> &Sha256Digest {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, package } = self;
        if package.is_empty() { f.write_str(function) } else { write!(f, "{function} on {package}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(list: &[(&str, &str)]) -> Inputs {
        let mut inputs = Inputs::default();
        for (name, content) in list {
            inputs.add(*name, content.as_bytes());
        }
        inputs
    }

    #[test]
    fn every_part_of_every_input_is_in_the_key() {
        let key = |list| inputs(list).key();
        let one = key(&[("a", "1"), ("b", "2")]);
        assert_eq!(one, key(&[("a", "1"), ("b", "2")]));
        for other in [
            &[("a", "1")][..],
            &[("b", "2"), ("a", "1")],
            &[("a", "1"), ("b", "3")],
            &[("a", "1"), ("c", "2")],
            &[("a", "1"), ("b", "2"), ("", "")],
        ] {
            assert_ne!(one, key(other), "{other:?}");
        }
    }

    #[test]
    fn a_trace_has_a_line_for_each_input() {
        let trace = inputs(&[("a\nb", "1"), ("c d", "2")]).trace();
        let names: Vec<&str> = trace.lines().map(|(name, _)| name).collect();
        assert_eq!(names, ["a b", "c d"]);
    }
}
