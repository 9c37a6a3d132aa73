//! What configures a function.

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Kind, NodeRef};

use crate::sites::{describe, text};

/// The group and version of the configurations that have a kind of their own.
pub const TYPED: &str = "fn.kpt.dev/v1alpha1";

/// The name of the configuration that orchestrators make up when there is none.
const PLACEHOLDER: &str = "function-input";

/// The configuration, unless there is none: no field, null, or an empty mapping.
pub fn given(list: &ResourceList) -> Option<Resource> {
    list.function_config.clone().filter(|config| !config.root().is_empty())
}

/// Whether a configuration is what orchestrators make up when there is none.
pub fn is_placeholder(config: &Resource) -> bool {
    is(config, "v1", "ConfigMap")
        && config.name().is_some_and(|name| name == PLACEHOLDER)
        && config.root().get("data").is_none_or(|data| data.is_null() || data.is_empty())
}

/// Whether a configuration is of that type.
pub fn is(config: &Resource, api_version: &str, kind: &str) -> bool {
    config.api_version().is_some_and(|is| is == api_version) && config.kind().is_some_and(|is| is == kind)
}

/// `apiVersion` and `kind` of a configuration; what it does not say is empty.
pub struct Type {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// The type of a configuration.
pub fn type_of(config: &Resource) -> Type {
    Type {
        api_version: config.api_version().unwrap_or_default().into_owned(),
        kind: config.kind().unwrap_or_default().into_owned(),
    }
}

/// A name and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: String,
    /// The text of the value.
    pub value: String,
}

/// Why a configuration cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The field.
    pub path: String,
    /// What it is, in words.
    pub found: &'static str,
    /// What it should be, in words.
    pub expected: &'static str,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, found, expected } = self;
        write!(f, "the field \"{path}\" of the function config is {found}, {expected} is expected")
    }
}

/// The entries of a mapping whose values are scalars, in order. Scalars of any type count as their text, null as none.
///
/// # Errors
/// When there is no mapping, or a value is a list or a mapping.
pub fn pairs(config: &Resource, field: &str) -> Result<Vec<Pair>, Wrong> {
    let Some(mapping) = mapping(config.root(), field)? else { return Ok(Vec::new()) };
    let entries = mapping.entries().filter(|(key, _)| key.target().kind() == Kind::Scalar);
    entries
        .map(|(key, value)| {
            let key = key.target().value().into_owned();
            match text(value) {
                Some(value) => Ok(Pair { key, value: value.into_owned() }),
                None if value.is_null() => Ok(Pair { key, value: String::new() }),
                None => {
                    Err(Wrong { path: format!("{field}.{key}"), found: describe(value), expected: "a text" })
                }
            }
        })
        .collect()
}

/// The mapping under a key; `None` where there is none or it is null.
///
/// # Errors
/// When it is something else.
pub fn mapping<'a>(node: NodeRef<'a>, field: &str) -> Result<Option<NodeRef<'a>>, Wrong> {
    of_kind(node, field, Kind::Mapping, "a mapping")
}

/// The list under a key; `None` where there is none or it is null.
///
/// # Errors
/// When it is something else.
pub fn list<'a>(node: NodeRef<'a>, field: &str) -> Result<Option<NodeRef<'a>>, Wrong> {
    of_kind(node, field, Kind::Sequence, "a list")
}

/// The text under a key; `None` where there is none or it is null.
///
/// # Errors
/// When it is something else than a scalar.
pub fn scalar(node: NodeRef<'_>, field: &str) -> Result<Option<String>, Wrong> {
    let found = of_kind(node, field, Kind::Scalar, "a text")?;
    Ok(found.map(|node| node.value().into_owned()))
}

fn of_kind<'a>(
    node: NodeRef<'a>,
    field: &str,
    kind: Kind,
    expected: &'static str,
) -> Result<Option<NodeRef<'a>>, Wrong> {
    let Some(value) = node.get(field).map(NodeRef::target).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    if value.kind() != kind {
        return Err(Wrong { path: field.into(), found: describe(value), expected });
    }
    Ok(Some(value))
}

/// The value of a key.
pub fn value<'a>(pairs: &'a [Pair], key: &str) -> Option<&'a str> {
    pairs.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str())
}
