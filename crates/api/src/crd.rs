//! Definitions of custom resources: what is wrong with one, and the kind that it defines.

mod accept;
mod check;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cause::{Cause, FieldPath};
use crate::column::{CellType, Column, Source};
use crate::jsonpath::JsonPath;
use crate::kind::{KindInfo, Names, Origin, Role, Scale, Scope, Serving, SubResource, Verb, Version};
use crate::schema::{self, Limits};

pub use accept::{Defined, accept};
pub use check::validate;

/// What can be done with what users define, in the order of discovery.
const VERBS: [Verb; 8] = [
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

/// Fills in what a definition may leave out: `singular`, `listKind`, the strategy of conversion, and the deprecation warning's absence.
pub fn fill(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    let Some(kind) =
        names.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty()).map(str::to_owned)
    else {
        return;
    };
    let is_empty = |name: &str, names: &serde_json::Map<String, Value>| {
        names.get(name).and_then(Value::as_str).unwrap_or_default().is_empty()
    };
    if is_empty("singular", names) {
        names.insert("singular".to_owned(), kind.to_lowercase().into());
    }
    if is_empty("listKind", names) {
        names.insert("listKind".to_owned(), format!("{kind}List").into());
    }
}

/// The kind that a definition defines. The definition is taken as it is: [`validate`] says what is wrong with it.
///
/// # Errors
/// When a schema cannot be read, or a column has no path.
pub fn kind(object: &Value) -> Result<KindInfo, Vec<Cause>> {
    let spec = &object["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts =
        |value: &Value| value.as_array().map(|items| items.iter().map(&text).collect()).unwrap_or_default();
    let mut versions = Vec::new();
    for (index, source) in spec["versions"].as_array().into_iter().flatten().enumerate() {
        versions.push(version(spec, index, source)?);
    }
    if versions.is_empty() {
        return Err(vec![Cause::required(&FieldPath::from("spec.versions"), "")]);
    }
    versions.sort_by_key(|version| std::cmp::Reverse(preference(&version.name)));
    Ok(KindInfo {
        group: text(&spec["group"]),
        names: Names {
            kind: text(&names["kind"]),
            list_kind: text(&names["listKind"]),
            plural: text(&names["plural"]),
            singular: text(&names["singular"]),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
        },
        scope: if spec["scope"] == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
        origin: Origin::Custom,
        verbs: VERBS.to_vec(),
        versions,
    })
}

/// Where the parts of a version stand, for causes: kube-apiserver names those of a single version as parts of the whole definition.
pub(crate) struct Places {
    pub schema: FieldPath,
    pub columns: FieldPath,
    pub sub_resources: FieldPath,
    pub selectable: FieldPath,
}

pub(crate) fn places(spec: &Value, index: usize) -> Places {
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let same = |field: &str| versions.iter().all(|version| version.get(field) == versions[0].get(field));
    let root = FieldPath::from("spec");
    let own = root.child("versions").index(index);
    let place = |field: &str, shared: &str, single: &str| {
        if same(field) { root.child(shared) } else { own.child(single) }
    };
    Places {
        schema: place("schema", "validation.openAPIV3Schema", "schema.openAPIV3Schema"),
        columns: place("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"),
        sub_resources: place("subresources", "subresources", "subresources"),
        selectable: place("selectableFields", "selectableFields", "selectableFields"),
    }
}

fn version(spec: &Value, index: usize, source: &Value) -> Result<Version, Vec<Cause>> {
    let places = places(spec, index);
    let name = source["name"].as_str().unwrap_or_default().to_owned();
    let schema_source = source["schema"]["openAPIV3Schema"].clone();
    let schema = schema::parse(&schema_source, &places.schema, &Limits::default())?;
    let deprecation = (source["deprecated"] == true).then(|| {
        let group = spec["group"].as_str().unwrap_or_default();
        let kind = spec["names"]["kind"].as_str().unwrap_or_default();
        let usual = || format!("{group}/{name} {kind} is deprecated");
        source["deprecationWarning"].as_str().map_or_else(usual, str::to_owned)
    });
    Ok(Version {
        name,
        serving: if source["served"] == true { Serving::Served } else { Serving::Hidden },
        role: if source["storage"] == true { Role::Storage } else { Role::View },
        deprecation,
        schema: Arc::new(schema),
        source: Arc::new(schema_source),
        sub_resources: sub_resources(&source["subresources"]),
        columns: columns(&source["additionalPrinterColumns"], &places.columns)?,
        selectable: source["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|field| field["jsonPath"].as_str())
            .map(|path| path.trim_start_matches('.').to_owned())
            .collect(),
    })
}

fn sub_resources(source: &Value) -> Vec<SubResource> {
    let mut found = Vec::new();
    if source.get("status").is_some_and(Value::is_object) {
        found.push(SubResource::Status);
    }
    if let Some(scale) = source.get("scale").filter(|scale| scale.is_object()) {
        let path = |name: &str| scale[name].as_str().map(str::to_owned);
        found.push(SubResource::Scale(Scale {
            spec_replicas: path("specReplicasPath").unwrap_or_default(),
            status_replicas: path("statusReplicasPath").unwrap_or_default(),
            label_selector: path("labelSelectorPath"),
        }));
    }
    found
}

/// The columns of a definition behind that of the name; an age if it says nothing of columns.
fn columns(source: &Value, at: &FieldPath) -> Result<Vec<Column>, Vec<Cause>> {
    let mut columns = vec![name_column()];
    let sources = source.as_array().map_or(&[][..], Vec::as_slice);
    if sources.is_empty() {
        let path = JsonPath::parse(".metadata.creationTimestamp").expect("it is a path");
        columns.push(Column {
            name: "Age".to_owned(),
            kind: CellType::Date,
            format: String::new(),
            description: "How long ago the object was made.".to_owned(),
            priority: 0,
            source: Source::Path(path),
        });
    }
    for (index, source) in sources.iter().enumerate() {
        let text = |name: &str| source[name].as_str().unwrap_or_default().to_owned();
        let path = JsonPath::parse(&text("jsonPath")).map_err(|error| {
            vec![Cause::invalid(&at.index(index).child("JSONPath"), text("jsonPath"), error.cause)]
        })?;
        columns.push(Column {
            name: text("name"),
            kind: CellType::named(&text("type")).unwrap_or(CellType::Text),
            format: text("format"),
            description: text("description"),
            priority: source["priority"].as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0),
            source: Source::Path(path),
        });
    }
    Ok(columns)
}

/// The column that every table begins with.
pub(crate) fn name_column() -> Column {
    Column {
        name: "Name".to_owned(),
        kind: CellType::Text,
        format: "name".to_owned(),
        description: "The name of the object; there is one of that name in a namespace.".to_owned(),
        priority: 0,
        source: Source::Name,
    }
}

/// How much clients prefer a version: released ones before betas before alphas before others, newer ones first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preference {
    stage: u8,
    major: u64,
    minor: u64,
    /// Other names, the first in the alphabet preferred.
    name: std::cmp::Reverse<String>,
}

/// How much clients prefer a version; the greatest is the preferred one.
pub fn preference(name: &str) -> Preference {
    let other = || Preference { stage: 0, major: 0, minor: 0, name: std::cmp::Reverse(name.to_owned()) };
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| !text.starts_with('0') || text.len() == 1);
    let Some(rest) = name.strip_prefix('v') else { return other() };
    let (major, stage, minor) = match (rest.split_once("alpha"), rest.split_once("beta")) {
        (Some((major, minor)), _) => (number(major), 1, number(minor)),
        (None, Some((major, minor))) => (number(major), 2, number(minor)),
        (None, None) => (number(rest), 3, Some(0)),
    };
    match (major, minor) {
        (Some(major), Some(minor)) => {
            Preference { stage, major, minor, name: std::cmp::Reverse(String::new()) }
        }
        (None, _) | (_, None) => other(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_by_stage_then_by_number() {
        let mut names =
            ["foo1", "v1alpha2", "v10", "v11beta2", "v1", "v3beta1", "v12alpha1", "v11alpha2", "v2", "foo10"];
        names.sort_by_key(|name| std::cmp::Reverse(preference(name)));
        assert_eq!(
            names,
            ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha2", "foo1", "foo10"]
        );
    }
}
