//! What configures the function.

use lanai_functions::config::{self, Wrong};
use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Kind, NodeRef};

use crate::message::quote;
use crate::walk::UnknownFields;

/// The fields of the configuration.
pub(crate) const STRICT: &str = "strict";
pub(crate) const SKIP_KINDS: &str = "skip_kinds";
pub(crate) const IGNORE_MISSING: &str = "ignore_missing_schemas";
pub(crate) const LOCATION: &str = "schema_location";
pub(crate) const LOCATIONS: &str = "additional_schema_locations";

/// The word for the schemas that are built in.
const BUILT_IN: &str = "default";

/// What configures the function.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// What to do with fields that a schema does not know.
    pub unknown: UnknownFields,
    /// The kinds that are passed over: a kind, or group, version and kind with slashes.
    pub skip: Vec<String>,
    /// What to do with resources that have no schema.
    pub missing: Missing,
}

/// What to do with resources that have no schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Missing {
    /// They are passed over.
    #[default]
    PassedOver,
    /// They are errors.
    Reported,
}

impl Settings {
    /// Reads the configuration of a list.
    ///
    /// # Errors
    /// In words, when a field is not what it should be, or names a place that cannot be read.
    pub fn read(list: &ResourceList) -> Result<Self, String> {
        let Some(config) = config::given(list) else { return Ok(Self::default()) };
        let root = config.root();
        let strict = switch(root, STRICT)?;
        let ignored = switch(root, IGNORE_MISSING)?;
        for field in [LOCATION, LOCATIONS] {
            for location in texts(root, field)? {
                may_read(field, &location, &list.items)?;
            }
        }
        Ok(Self {
            unknown: if strict == Some(true) { UnknownFields::Refused } else { UnknownFields::Accepted },
            skip: texts(root, SKIP_KINDS)?,
            missing: if ignored == Some(false) { Missing::Reported } else { Missing::PassedOver },
        })
    }

    /// Whether resources of this type are passed over.
    pub fn skips(&self, resource: &Resource) -> bool {
        let kind = resource.kind().unwrap_or_default();
        let api_version = resource.api_version().unwrap_or_default();
        self.skip.iter().any(|skipped| match skipped.rsplit_once('/') {
            Some((version, name)) => version == api_version && name == kind,
            None => *skipped == kind,
        })
    }
}

/// A field of the configuration: its own, else that of its data.
fn field<'a>(root: NodeRef<'a>, name: &str) -> Option<NodeRef<'a>> {
    let is_given = |node: &NodeRef<'a>| !node.is_null();
    let own = root.get(name).filter(is_given);
    own.or_else(|| root.get("data")?.get(name).filter(is_given)).map(NodeRef::target)
}

/// A field that is true or false, as such or as text.
fn switch(root: NodeRef<'_>, name: &str) -> Result<Option<bool>, String> {
    let Some(node) = field(root, name) else { return Ok(None) };
    let expected = "true or false";
    let wrong = |found: &'static str| Wrong { path: name.into(), found, expected }.to_string();
    match node.kind() {
        Kind::Mapping => Err(wrong("a mapping")),
        Kind::Sequence => Err(wrong("a list")),
        Kind::Scalar | Kind::Alias => match node.value().to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            "" => Ok(None),
            _ => Err(format!(
                "the field \"{name}\" of the function config is {}, {expected} is expected",
                quote(&node.value())
            )),
        },
    }
}

/// The texts of a field: a list, or one text with commas.
fn texts(root: NodeRef<'_>, name: &str) -> Result<Vec<String>, String> {
    let Some(node) = field(root, name) else { return Ok(Vec::new()) };
    let wrong = |found: &'static str, expected: &'static str| {
        Wrong { path: name.into(), found, expected }.to_string()
    };
    let all: Vec<String> = match node.kind() {
        Kind::Mapping => return Err(wrong("a mapping", "a text with commas")),
        Kind::Sequence if node.items().any(|item| item.target().kind() != Kind::Scalar) => {
            return Err(wrong("a list of other things", "a list of texts"));
        }
        Kind::Sequence => node.items().map(|item| item.target().value().into_owned()).collect(),
        Kind::Scalar | Kind::Alias => node.value().split(',').map(Into::into).collect(),
    };
    let all = all.into_iter().map(|text| text.trim().to_owned());
    Ok(all.filter(|text| !text.is_empty()).collect())
}

/// Whether the schemas at a place are known already.
///
/// # Errors
/// In words, when they are not: a function sees its list, and nothing else.
fn may_read(field: &str, location: &str, items: &[Resource]) -> Result<(), String> {
    let is_file = |item: &Resource| item.path().is_some_and(|path| path == location);
    if location == BUILT_IN || items.iter().any(is_file) {
        return Ok(());
    }
    Err(format!(
        "the field \"{field}\" of the function config names {}, which a function cannot read: it sees the resources of its package \
         only; put the CustomResourceDefinition into the package and remove the field",
        quote(location)
    ))
}
