//! What the schema of a custom resource says.

use std::collections::BTreeMap;

use crate::message::Types;
use lanai_openapi::format::Format;
use lanai_openapi::pattern::Pattern;

/// The schema of a value. What it does not say is not checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// The types that the value may have; none for any.
    pub types: Types,
    /// Whether null is taken for a value.
    pub null: Null,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// All other fields of an object.
    pub others: Others,
    /// The fields that must be there.
    pub required: Vec<String>,
    /// Whether an object is a resource itself.
    pub embedded: Embedded,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// Which items of a list may not be the same.
    pub unique: Unique,
    /// The values that are allowed; none for all.
    pub choices: Vec<Choice>,
    /// What a text looks like.
    pub pattern: Option<Pattern>,
    /// What a text looks like, by name.
    pub format: Option<Format>,
    /// How many bits an integer has.
    pub bits: Option<Bits>,
    /// The least number.
    pub minimum: Option<Bound>,
    /// The greatest number.
    pub maximum: Option<Bound>,
    /// A number is a multiple of this.
    pub multiple_of: Option<f64>,
    /// How long a text is, in characters.
    pub length: Count,
    /// How many items a list has.
    pub item_count: Count,
    /// How many fields an object has.
    pub field_count: Count,
    /// All of these hold.
    pub all_of: Vec<Schema>,
    /// One of these holds at least.
    pub any_of: Vec<Schema>,
    /// Exactly one of these holds.
    pub one_of: Vec<Schema>,
    /// This does not hold.
    pub not: Option<Box<Schema>>,
}

/// Whether null is taken for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Null {
    /// It is not.
    #[default]
    Refused,
    /// It is a value like others.
    Allowed,
    /// The server drops it, because the field has a default.
    Dropped,
}

/// Fields that are not among the properties.
#[derive(Clone, Debug, Default)]
pub(crate) enum Others {
    /// Nothing is said: the server drops them.
    #[default]
    Unknown,
    /// They are kept, whatever they are.
    Kept,
    /// They are refused.
    Refused,
    /// They are like this.
    Like(Box<Schema>),
}

/// Whether an object is a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Embedded {
    /// It is not.
    #[default]
    No,
    /// It has a type and metadata.
    Resource,
}

/// Which items of a list may not be the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unique {
    /// All may.
    #[default]
    No,
    /// Those that are equal.
    Items,
    /// Those that have the same values in these fields.
    Keys(Vec<String>),
}

/// A value that is allowed.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Null.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list or an object: not compared.
    Compound,
}

/// How many bits an integer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    /// 32.
    Int32,
    /// 64.
    Int64,
}

/// The end of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Where it ends.
    pub at: f64,
    /// Whether the end belongs to it.
    pub end: End,
}

/// Whether the end of a range belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It does.
    Inside,
    /// It does not.
    Outside,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// At least.
    pub min: Option<u64>,
    /// At most.
    pub max: Option<u64>,
}
