//! Which resources a function sees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::resource::Resource;

/// What a resource must say to be selected. Fields that are empty ask for nothing.
///
/// Texts are compared as they are, without patterns; labels and annotations must be there with these values, others may be
/// there as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selector {
    /// Group and version, as one text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Selector {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the resource says all that is asked for. A selector that asks for nothing matches everything.
    pub fn matches(&self, resource: &Resource) -> bool {
        let says = |asked: &str, said: Option<_>| {
            asked.is_empty() || said.is_some_and(|said: std::borrow::Cow<'_, str>| said == asked)
        };
        says(&self.api_version, resource.api_version())
            && says(&self.kind, resource.kind())
            && says(&self.name, resource.name())
            && says(&self.namespace, resource.namespace())
            && self.labels.iter().all(|(key, value)| resource.label(key).is_some_and(|is| is == *value))
            && self
                .annotations
                .iter()
                .all(|(key, value)| resource.annotation(key).is_some_and(|is| is == *value))
    }
}

/// The indexes of the resources that are selected, ascending, each once.
///
/// A resource is selected when any of `selectors` matches it, or there is none, and no selector of `exclude` that asks for
/// something matches it.
pub fn selected(resources: &[Resource], selectors: &[Selector], exclude: &[Selector]) -> Vec<usize> {
    let is_selected = |resource: &Resource| {
        let included = selectors.is_empty() || selectors.iter().any(|selector| selector.matches(resource));
        let excluded = || exclude.iter().any(|selector| !selector.is_empty() && selector.matches(resource));
        included && !excluded()
    };
    let chosen = resources.iter().enumerate().filter(|(_, resource)| is_selected(resource));
    chosen.map(|(index, _)| index).collect()
}
