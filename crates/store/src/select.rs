//! Which objects are meant.

use std::collections::BTreeSet;

use crate::{Attributes, Prefix, Stored};

/// A prefix of keys, and what objects must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Where they are.
    pub prefix: Prefix,
    /// What they are like.
    pub selector: Selector,
}

impl Filter {
    /// Everything.
    pub const fn everything() -> Self {
        Self { prefix: Prefix::everything(), selector: Selector { requirements: Vec::new() } }
    }

    /// Everything below a prefix.
    pub const fn under(prefix: Prefix) -> Self {
        Self { prefix, selector: Selector { requirements: Vec::new() } }
    }

    /// True for objects that are meant.
    pub fn admits(&self, stored: &Stored) -> bool {
        self.prefix.admits(&stored.key) && self.selector.admits(&stored.object.attributes)
    }
}

/// Requirements that must all be met. Without any, everything is selected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    /// The requirements.
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// True if all requirements are met.
    pub fn admits(&self, attributes: &Attributes) -> bool {
        self.requirements.iter().all(|requirement| requirement.admits(attributes))
    }
}

/// One thing that an object must have, or must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Of what.
    pub subject: Subject,
    /// What about it.
    pub test: Test,
}

impl Requirement {
    /// True if this requirement is met.
    pub fn admits(&self, attributes: &Attributes) -> bool {
        let found = match &self.subject {
            Subject::Label(name) => attributes.label(name),
            Subject::Field(name) => attributes.field(name),
        };
        match &self.test {
            Test::Equals(value) => found.as_deref() == Some(value),
            Test::In(values) => found.is_some_and(|found| values.contains(&*found)),
            Test::NotIn(values) => found.is_none_or(|found| !values.contains(&*found)),
            Test::Exists => found.is_some(),
            Test::Absent => found.is_none(),
        }
    }
}

/// What a requirement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A label.
    Label(String),
    /// A chosen field.
    Field(String),
}

/// What a requirement says about its subject. As in Kubernetes, something that is not there is not in any set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is there and has this value.
    Equals(String),
    /// It is there and has one of these values.
    In(BTreeSet<String>),
    /// It is not there, or has none of these values.
    NotIn(BTreeSet<String>),
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
}
