//! The values of a document, as JSON has them.

use std::borrow::Cow;
use std::collections::HashSet;

use lanai_yaml::{Kind, NodeRef, Resolved};

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// A number without a fraction, however it is written.
    Integer(i128),
    /// Any other number.
    Number(f64),
    /// Text; dates and times are text as well.
    Text(Cow<'a, str>),
    /// A list.
    List(NodeRef<'a>),
    /// An object.
    Object(NodeRef<'a>),
}

/// Numbers up to here have all their digits.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl<'a> Value<'a> {
    /// The value of a node. An alias is what it stands for.
    pub fn of(node: NodeRef<'a>) -> Self {
        let node = node.target();
        match node.kind() {
            Kind::Mapping => Self::Object(node),
            Kind::Sequence => Self::List(node),
            Kind::Alias => Self::Null,
            Kind::Scalar => match node.resolved() {
                Resolved::Null => Self::Null,
                Resolved::Bool(is) => Self::Boolean(is),
                Resolved::Int(number) => Self::Integer(number),
                Resolved::Float(number) => whole(number).map_or(Self::Number(number), Self::Integer),
                Resolved::Str | Resolved::Timestamp | Resolved::Merge => Self::Text(node.value()),
            },
        }
    }

    /// The type that messages name.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) | Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the number has no fraction and is in range")]
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i128)
}

/// A field of an object.
pub(crate) struct Entry<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it holds.
    pub value: NodeRef<'a>,
}

/// The fields of an object, in order: its own, then those that merge keys bring. Of a key that stands twice, the first.
pub(crate) fn fields(object: NodeRef<'_>) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut done: HashSet<Option<std::ops::Range<usize>>> = HashSet::new();
    let mut work = vec![object.target()];
    while let Some(source) = work.pop() {
        for (key, value) in source.entries() {
            let name = key.target();
            if name.kind() != Kind::Scalar || key.resolved() == Resolved::Merge {
                continue;
            }
            let name = name.value();
            if seen.insert(name.clone()) {
                found.push(Entry { name, value });
            }
        }
        let merged = source.merged();
        if !merged.is_empty() && done.insert(source.source_range()) {
            work.extend(merged.into_iter().rev());
        }
    }
    found
}
