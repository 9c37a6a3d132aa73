//! The rows of the engine in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use lanai_store::{
    Attributes, Filter, Key, Kind, ListRequest, Object, Prefix, Requirement, Revision, Selector, Store,
    Stored, Subject, Test,
};
use lanai_types::{Namespace, ObjectName, PackageName, PackageObjectName, RepositoryName};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::object::{self, Spec};
use crate::state::{self, State};

/// What package revisions are called as rows.
pub const REVISIONS: &str = "packagerevisions.porch.kpt.dev";
/// What packages are called as rows.
pub const PACKAGES: &str = "packages.porch.kpt.dev";
/// What repositories are called as rows.
pub const REPOSITORIES: &str = "repositories.config.porch.kpt.dev";
/// The field of package revisions by which those are found that came from another one.
pub const UPSTREAM: &str = "upstream";
/// The field of guards of revisions that are being deleted.
pub const DELETING: &str = "deleting";
/// The field of package revisions with the last part of the package's name.
pub const LEAF: &str = "leaf";

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub static $name: LazyLock<Kind> =
            LazyLock::new(|| Kind::new($text).expect("it is made of letters and dots"));)*
    };
}

kinds! {
    /// Package revisions.
    REVISION = REVISIONS;
    /// Packages.
    PACKAGE = PACKAGES;
    /// Repositories.
    REPOSITORY = REPOSITORIES;
    /// Secrets.
    SECRET = "secrets";
    /// What the engine remembers of revisions.
    STATE = "states.engine.lanai";
    /// The highest numbers.
    NUMBER = "numbers.engine.lanai";
    /// What moves when somebody refers to something.
    GUARD = "guards.engine.lanai";
    /// Pushes on their way.
    PUSH = "pushes.engine.lanai";
}

/// The row of a revision.
pub fn revision_key(namespace: &Namespace, name: &ObjectName) -> Key {
    key(&REVISION, namespace, name.as_str())
}

/// What is remembered of a revision.
pub fn state_key(namespace: &Namespace, name: &ObjectName) -> Key {
    key(&STATE, namespace, name.as_str())
}

/// The row of a package.
pub fn package_key(namespace: &Namespace, name: &PackageObjectName) -> Key {
    key(&PACKAGE, namespace, name.as_str())
}

/// The highest number of a package.
pub fn number_key(namespace: &Namespace, name: &PackageObjectName) -> Key {
    key(&NUMBER, namespace, name.as_str())
}

/// What moves when somebody refers to a revision, or makes a package in a repository.
pub fn guard_key(namespace: &Namespace, name: &str) -> Key {
    key(&GUARD, namespace, name)
}

/// The guard of a revision that is being deleted: nobody may begin to refer to it.
pub fn being_deleted() -> Object {
    let fields = BTreeMap::from([(DELETING.to_owned(), "true".to_owned())]);
    Object { attributes: Attributes::of_fields(&fields), ..Object::plain(Vec::new()) }
}

/// Whether a guard is that of a revision that is being deleted.
pub fn is_being_deleted(guard: &Stored) -> bool {
    guard.object.attributes.field(DELETING).is_some()
}

fn key(kind: &Kind, namespace: &Namespace, name: &str) -> Key {
    Key::new(kind, namespace.as_str(), name).expect("names of objects are letters, digits, dots and dashes")
}

/// A row, taken apart.
#[derive(Debug, Clone)]
pub struct Row<T> {
    /// The revision of its last write.
    pub revision: Revision,
    /// What it holds.
    pub value: T,
}

/// The object of a row, with its version.
///
/// # Errors
/// When the row is none of ours.
pub fn decode(stored: &Stored) -> Result<Value, Error> {
    let mut object: Value = serde_json::from_slice(&stored.object.value)
        .map_err(|error| Error::internal(format!("the row of \"{}\" is no JSON: {error}", stored.key)))?;
    let metadata = object["metadata"].as_object_mut();
    let metadata =
        metadata.ok_or_else(|| Error::internal(format!("the row of \"{}\" is no object", stored.key)))?;
    metadata.insert("resourceVersion".into(), json!(stored.revision.to_string()));
    Ok(object)
}

/// The state of a row.
///
/// # Errors
/// When the row is none of ours.
pub fn decode_state(stored: &Stored) -> Result<Row<State>, Error> {
    let value = serde_json::from_slice(&stored.object.value)
        .map_err(|error| Error::internal(format!("the row of \"{}\" is no state: {error}", stored.key)))?;
    Ok(Row { revision: stored.revision, value })
}

/// The row of an object: `apiVersion`, `kind` and `metadata` first, without a version, which is the row's own.
pub fn encode(object: &Value, fields: &BTreeMap<String, String>) -> Object {
    let mut ordered = Map::new();
    for first in ["apiVersion", "kind", "metadata"] {
        ordered.insert(first.into(), object[first].clone());
    }
    if let Some(metadata) = ordered.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("resourceVersion");
    }
    for (key, value) in object.as_object().into_iter().flatten() {
        if !ordered.contains_key(key) {
            ordered.insert(key.clone(), value.clone());
        }
    }
    let value = Value::Object(ordered).to_string().into();
    Object { value, attributes: Attributes::new(&object::labels(object), fields), ..Object::default() }
}

/// The row of a package revision.
pub fn encode_revision(object: &Value) -> Object {
    encode(object, &revision_fields(object))
}

/// By what package revisions are found.
fn revision_fields(object: &Value) -> BTreeMap<String, String> {
    let spec = Spec::of(object).unwrap_or_default();
    let leaf = spec.package_name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut fields = BTreeMap::from([
        (LEAF.to_owned(), leaf),
        ("spec.repository".to_owned(), spec.repository.clone()),
        ("spec.packageName".to_owned(), spec.package_name.clone()),
        ("spec.workspaceName".to_owned(), spec.workspace_name.clone()),
        ("spec.revision".to_owned(), spec.revision.to_string()),
        ("spec.lifecycle".to_owned(), spec.lifecycle.clone()),
    ]);
    if let Some(upstream) = spec.upstreams().next() {
        fields.insert(UPSTREAM.to_owned(), upstream.to_owned());
    }
    let labels = spec.package_metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
    // What is longer than what an index holds is found by no selector.
    let fits = |(key, value): &(String, String)| key.len() + value.len() < 900 && !value.contains('\0');
    let labels = labels.into_iter().filter(fits);
    fields
        .extend(labels.take(200).map(|(key, value)| (format!("spec.packageMetadata.labels[{key}]"), value)));
    fields
}

/// The rows of a kind in a namespace that have a field.
pub fn with_fields(kind: &Kind, namespace: &Namespace, fields: &[(&str, &str)]) -> Result<Filter, Error> {
    let prefix = Prefix::namespace(kind, namespace.as_str())?;
    Ok(Filter { prefix, selector: all_fields(fields) })
}

/// The rows of a kind, wherever they are, that have a field.
pub fn everywhere(kind: &Kind, fields: &[(&str, &str)]) -> Filter {
    Filter { prefix: Prefix::kind(kind), selector: all_fields(fields) }
}

fn all_fields(fields: &[(&str, &str)]) -> Selector {
    let requirement = |(name, value): &(&str, &str)| Requirement {
        subject: Subject::Field((*name).to_owned()),
        test: Test::Equals((*value).to_owned()),
    };
    Selector { requirements: fields.iter().map(requirement).collect() }
}

/// All rows that a filter admits.
pub async fn list(store: &dyn Store, filter: Filter) -> Result<Vec<Arc<Stored>>, Error> {
    Ok(store.list(&ListRequest::all(filter)).await?.items)
}

/// The states of a repository.
pub async fn states_of(
    store: &dyn Store,
    namespace: &Namespace,
    repository: &RepositoryName,
) -> Result<Vec<Arc<Stored>>, Error> {
    let filter = with_fields(&STATE, namespace, &[(state::REPOSITORY, repository.as_str())])?;
    list(store, filter).await
}

/// The revisions of a package.
pub async fn revisions_of(
    store: &dyn Store,
    namespace: &Namespace,
    repository: &RepositoryName,
    package: &PackageName,
) -> Result<Vec<Arc<Stored>>, Error> {
    let fields = [("spec.repository", repository.as_str()), ("spec.packageName", package.as_str())];
    list(store, with_fields(&REVISION, namespace, &fields)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_with_what_clients_need_first() {
        let object = json!({
            "status": {}, "spec": {"packageName": "a/b", "repository": "r", "workspaceName": "w",
                "tasks": [{"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "up.a.v1"}}}}],
                "packageMetadata": {"labels": {"x": "y"}}},
            "metadata": {"name": "r.a.b.w", "resourceVersion": "7", "labels": {"l": "m"}}, "kind": "PackageRevision",
            "apiVersion": object::API_VERSION,
        });
        let row = encode_revision(&object);
        let text = String::from_utf8(row.value.to_vec()).unwrap();
        let start = r#"{"apiVersion":"porch.kpt.dev/v1alpha1","kind":"PackageRevision","metadata":{"name":"r.a.b.w","labels":"#;
        assert!(text.starts_with(start), "{text}");
        let field = |name: &str| row.attributes.field(name).unwrap();
        assert_eq!(field(UPSTREAM), "up.a.v1");
        assert_eq!(field(LEAF), "b");
        assert_eq!(field("spec.revision"), "0");
        assert_eq!(field("spec.packageMetadata.labels[x]"), "y");
        assert_eq!(row.attributes.label("l").unwrap(), "m");
    }
}
