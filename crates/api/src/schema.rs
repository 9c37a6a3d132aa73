//! Structural schemas: what the objects of a kind look like.
//!
//! | module | what it does |
//! |---|---|
//! | [`parse`] | reads a schema from `OpenAPI` v3 in JSON, and checks the rules for structural schemas |
//! | [`default`](mod@default) | fills in what is missing |
//! | [`prune`] | removes what is not described |
//! | [`validate`] | checks values |
//! | [`rules`] | the rules in CEL |
//! | [`built_in`] | the schemas of the kinds of Kubernetes, from its table |

pub mod built_in;
pub mod default;
pub mod limits;
pub mod parse;
pub mod prune;
pub mod rules;
pub mod validate;

use std::collections::BTreeMap;

use lanai_openapi::TypeId;
use lanai_openapi::format::Format;
use lanai_openapi::pattern::Pattern;
use serde_json::Value;

pub use default::fill;
pub use limits::Limits;
pub use parse::parse;
pub use prune::{Pruned, prune};
pub use rules::Rule;
pub use validate::validate;

/// What a value looks like. What a schema does not say is not checked.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Where the schema stands, if it is one of the types of Kubernetes: use [`Schema::resolved`] to read it.
    pub reference: Option<TypeId>,
    /// The type.
    pub kind: Type,
    /// Whether null is a value.
    pub null: Null,
    /// Whether fields that are not described are kept.
    pub unknown: Unknown,
    /// Whether an object is a resource itself, with `apiVersion`, `kind` and `metadata`.
    pub embedded: Embedded,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub additional: Option<Additional>,
    /// The fields that must be there, in their order.
    pub required: Vec<String>,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// What stands there when nothing does.
    pub default: Option<Value>,
    /// How a list merges, if it is said.
    pub list: Option<ListKind>,
    /// How an object or a map merges, if it is said.
    pub map: Option<MapKind>,
    /// How strategic merge patches treat the value.
    pub patch: Patch,
    /// What is checked of values.
    pub checks: Checks,
    /// Rules in CEL.
    pub rules: Vec<Rule>,
}

impl Schema {
    /// The schema itself, or the one that it stands for.
    pub fn resolved(&self) -> &Self {
        match self.reference {
            Some(id) => built_in::of_type(id),
            None => self,
        }
    }

    /// What a field of an object looks like: one of the properties, or else what all values of the map look like.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let here = self.resolved();
        here.properties.get(name).or(match &here.additional {
            Some(Additional::Like(schema)) => Some(schema),
            Some(Additional::Anything | Additional::Nothing) | None => None,
        })
    }

    /// How a list merges.
    pub fn list_kind(&self) -> &ListKind {
        self.resolved().list.as_ref().unwrap_or(&ListKind::Atomic)
    }

    /// How an object or a map merges.
    pub fn map_kind(&self) -> MapKind {
        // What is said beside a reference counts more than what it leads to.
        self.map.or(self.resolved().map).unwrap_or(MapKind::Granular)
    }

    /// Whether the values of an object have names that the schema does not know.
    pub fn is_map(&self) -> bool {
        let here = self.resolved();
        here.properties.is_empty() && here.additional.is_some()
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Anything.
    #[default]
    Any,
    /// An object or a map.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number, or text.
    IntOrString,
    /// An amount such as `500m`: text or a number.
    Quantity,
}

impl Type {
    /// By the name that schemas use.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The name that schemas use; empty for those that have none.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Any | Self::IntOrString | Self::Quantity => "",
        }
    }
}

/// Whether null is a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Null {
    /// It is not.
    #[default]
    Refused,
    /// It is.
    Allowed,
}

/// Whether fields that are not described are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// They are removed.
    #[default]
    Pruned,
    /// They are kept.
    Kept,
}

/// Whether an object is a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Embedded {
    /// It is not.
    #[default]
    No,
    /// It is.
    Resource,
}

/// What the values of a map look like.
#[derive(Clone, Debug)]
pub enum Additional {
    /// There may be any.
    Anything,
    /// There may be none: only in conditions such as `anyOf`.
    Nothing,
    /// Like this.
    Like(Box<Schema>),
}

/// How a list merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// As a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// Items with the same values under these keys are the same.
    Map(Vec<String>),
}

/// How an object merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Field by field.
    Granular,
    /// As a whole.
    Atomic,
}

/// How strategic merge patches treat a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// How a list merges.
    pub list: PatchList,
    /// Whether an object has the fields of one variant only, so that others go when a patch says which it retains.
    pub keys: PatchKeys,
}

/// How strategic merge patches treat a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PatchList {
    /// It is replaced.
    #[default]
    Replaced,
    /// Scalars are added.
    Set,
    /// Items with the same value under this key are the same.
    Key(String),
}

/// Whether patches name the fields that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchKeys {
    /// All stay.
    #[default]
    Merged,
    /// Those that the patch retains.
    Retained,
}

/// What is checked of values.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// What a text looks like, by name.
    pub format: Option<Format>,
    /// The name of the format, whether it is known or not.
    pub format_name: Option<String>,
    /// What a text looks like.
    pub pattern: Option<Pattern>,
    /// The values that are allowed; all if there is none.
    pub choices: Vec<Value>,
    /// The least number.
    pub minimum: Option<Bound>,
    /// The greatest number.
    pub maximum: Option<Bound>,
    /// A number is a multiple of this.
    pub multiple_of: Option<f64>,
    /// How many characters a text has.
    pub length: Range,
    /// How many items a list has.
    pub items: Range,
    /// How many fields an object has.
    pub fields: Range,
    /// All of these hold.
    pub all_of: Vec<Schema>,
    /// At least one of these holds.
    pub any_of: Vec<Schema>,
    /// Exactly one of these holds.
    pub one_of: Vec<Schema>,
    /// This does not hold.
    pub not: Option<Box<Schema>>,
}

/// The end of a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Where it ends.
    pub at: f64,
    /// Whether the end belongs to it.
    pub end: End,
}

/// Whether the end of a range belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It does.
    Inside,
    /// It does not.
    Outside,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// At least.
    pub min: Option<u64>,
    /// At most.
    pub max: Option<u64>,
}
