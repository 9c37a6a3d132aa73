//! Sets of fields, and how managed fields write them (`fieldsV1`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// A step of the path of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// A field of an object.
    Field(String),
    /// An item of a list, by the values of its keys: the text of a JSON object.
    Key(String),
    /// An item of a set: the text of a JSON value.
    Value(String),
    /// An item of a list, by its place.
    Index(i64),
}

/// Fields: paths that are in the set, as a tree. A path can be in it without those below it, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, FieldSet>,
}

/// Why a text is no set of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a set of fields cannot have {0:?}")]
pub struct Error(pub String);

impl Element {
    /// The item of a keyed list.
    pub fn key(fields: &Map<String, Value>) -> Self {
        Self::Key(canonical(&Value::Object(fields.clone())).to_string())
    }

    /// The item of a set.
    pub fn value(value: &Value) -> Self {
        Self::Value(canonical(value).to_string())
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let error = || Error(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(error)?;
        let json = || serde_json::from_str::<Value>(rest).map_err(|_| error());
        match kind {
            "f" => Ok(Self::Field(rest.to_owned())),
            "k" => json()?.as_object().map(Self::key).ok_or_else(error),
            "v" => Ok(Self::value(&json()?)),
            "i" => rest.parse().map(Self::Index).map_err(|_| error()),
            _ => Err(error()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(key) => format!("k:{key}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(at) => format!("i:{at}"),
        }
    }
}

/// As messages write it: `.name`, `[key="value"]`, `[="value"]`, `[3]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(at) => write!(f, "[{at}]"),
            Self::Key(key) => {
                let fields: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
                let parts: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", parts.join(","))
            }
        }
    }
}

impl FieldSet {
    /// Reads `fieldsV1`.
    ///
    /// # Errors
    /// When it is no set of fields.
    pub fn read(fields: &Value) -> Result<Self, Error> {
        let Value::Object(fields) = fields else { return Err(Error(fields.to_string())) };
        let mut set = Self::default();
        for (name, below) in fields {
            // A dot here says that the set above has this path itself.
            if name == "." {
                continue;
            }
            let element = Element::parse(name)?;
            let Value::Object(inside) = below else { return Err(Error(below.to_string())) };
            if inside.is_empty() || inside.contains_key(".") {
                set.members.insert(element.clone());
            }
            let child = Self::read(below)?;
            if !child.is_empty() {
                set.children.insert(element, child);
            }
        }
        Ok(set)
    }

    /// Writes `fieldsV1`.
    pub fn write(&self) -> Value {
        let mut fields = Map::new();
        let elements: BTreeSet<&Element> = self.members.iter().chain(self.children.keys()).collect();
        for element in elements {
            let below = match self.children.get(element) {
                None => Value::Object(Map::new()),
                Some(child) => match child.write() {
                    Value::Object(inside) if self.members.contains(element) => {
                        let dot = std::iter::once((".".to_owned(), Value::Object(Map::new())));
                        Value::Object(dot.chain(inside).collect())
                    }
                    inside => inside,
                },
            };
            fields.insert(element.text(), below);
        }
        Value::Object(fields)
    }

    /// Whether there is no path in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Whether a path of one step is in it.
    pub fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// The paths below a step.
    pub fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element)
    }

    /// The steps that have paths below them.
    pub fn children(&self) -> impl Iterator<Item = (&Element, &Self)> {
        self.children.iter()
    }

    /// Adds a path. The empty one is not a field.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Adds a path of one step.
    pub(crate) fn add(&mut self, element: Element) {
        self.members.insert(element);
    }

    /// Replaces what is below a step.
    pub(crate) fn put(&mut self, element: Element, below: Self) {
        if !below.is_empty() {
            self.children.insert(element, below);
        }
    }

    /// All paths: those of an object before those of the objects in it.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, at: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for element in &self.members {
            paths.push(at.iter().chain([element]).cloned().collect());
        }
        for (element, child) in &self.children {
            at.push(element.clone());
            child.collect(at, paths);
            at.pop();
        }
    }

    /// The paths of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.members.extend(other.members.iter().cloned());
        for (element, child) in &other.children {
            let merged = set.children.get(element).map_or_else(|| child.clone(), |mine| mine.union(child));
            set.children.insert(element.clone(), merged);
        }
        set
    }

    /// The paths that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let mut set = Self { members, children: BTreeMap::new() };
        for (element, child) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                set.put(element.clone(), child.intersection(theirs));
            }
        }
        set
    }

    /// The paths that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let mut set = Self { members, children: BTreeMap::new() };
        for (element, child) in &self.children {
            let left =
                other.children.get(element).map_or_else(|| child.clone(), |theirs| child.difference(theirs));
            set.put(element.clone(), left);
        }
        set
    }

    /// The paths that neither are in the other nor stand below one that is.
    #[must_use]
    pub fn outside(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let mut set = Self { members, children: BTreeMap::new() };
        for (element, child) in &self.children {
            if other.members.contains(element) {
                continue;
            }
            let left =
                other.children.get(element).map_or_else(|| child.clone(), |theirs| child.outside(theirs));
            set.put(element.clone(), left);
        }
        set
    }
}

/// A path as messages write it.
pub fn path_text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// A value whose fields stand in the order of their names.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), canonical(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sets_are_written_as_they_were_read() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a.b/c": {}}, "f:finalizers": {".": {}, "v:\"x\"": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}, "f:list": {"i:0": {}}},
        });
        let set = FieldSet::read(&fields).unwrap();
        assert_eq!(set.write(), fields);
        let paths: Vec<String> = set.paths().iter().map(|path| path_text(path)).collect();
        assert_eq!(
            paths,
            [
                ".metadata.finalizers",
                ".metadata.labels",
                r#".metadata.finalizers[="x"]"#,
                ".metadata.labels.a.b/c",
                ".spec.list[0]",
                r#".spec.ports[port=80,protocol="TCP"]"#,
                r#".spec.ports[port=80,protocol="TCP"].port"#,
            ]
        );
        let unordered = FieldSet::read(&json!({"f:x": {"k:{\"b\":1,\"a\":2}": {}}})).unwrap();
        assert_eq!(unordered.write(), json!({"f:x": {"k:{\"a\":2,\"b\":1}": {}}}));
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for bad in [
            json!([]),
            json!({"x:a": {}}),
            json!({"f:a": 1}),
            json!({"k:[]": {}}),
            json!({"i:x": {}}),
            json!({"fa": {}}),
        ] {
            assert!(FieldSet::read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sets_are_joined_cut_and_taken_apart() {
        let set = |value: Value| FieldSet::read(&value).unwrap();
        let one = set(json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}}));
        let other = set(json!({"f:a": {"f:b": {}}, "f:e": {}}));
        assert_eq!(
            one.union(&other).write(),
            json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}, "f:e": {}})
        );
        assert_eq!(one.intersection(&other).write(), json!({"f:a": {"f:b": {}}}));
        assert_eq!(one.difference(&other).write(), json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}));
        assert_eq!(
            one.difference(&set(json!({"f:a": {}}))).write(),
            json!({"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}})
        );
        assert_eq!(one.outside(&set(json!({"f:a": {}}))).write(), json!({"f:d": {}}));
    }
}
