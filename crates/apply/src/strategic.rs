//! Strategic merge patches: merge patches that know how the lists of Kubernetes's own kinds merge.
//!
//! | in a patch | what it asks for |
//! |---|---|
//! | `$patch: replace` | the object, or the list that has an item which says so, becomes what the patch says |
//! | `$patch: delete` | the object, or the item with the same key, goes |
//! | `$retainKeys` | only these fields of the object stay |
//! | `$deleteFromPrimitiveList/NAME` | these scalars go from the list |
//! | `$setElementOrder/NAME` | the items of the list stand in this order |

use std::collections::{HashMap, HashSet};

use lanai_api::Schema;
use lanai_api::schema::PatchList;
use serde_json::{Map, Value};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

/// Why a patch was refused: answer 400, `BadRequest`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A directive that nobody knows.
    #[error("unknown patch type: {0}")]
    Directive(String),
    /// An item without the key by which its list merges.
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoKey {
        /// The item.
        item: String,
        /// The key.
        key: String,
    },
    /// A directive whose value has the wrong type.
    #[error("the value of {directive} must be {wanted}")]
    WrongType {
        /// The directive.
        directive: String,
        /// What it should be.
        wanted: &'static str,
    },
}

/// An object with a patch applied to it. `schema` is that of the kind; for kinds that are not Kubernetes's own, kube-apiserver answers 415.
///
/// # Errors
/// When a directive is unknown or malformed, or an item has no merge key.
pub fn patch(object: &Value, patch: &Value, schema: &Schema) -> Result<Value, Error> {
    merge(Some(object), patch, Some(schema))
}

fn merge(old: Option<&Value>, patch: &Value, schema: Option<&Schema>) -> Result<Value, Error> {
    let Value::Object(fields) = patch else { return Ok(patch.clone()) };
    let empty = Map::new();
    let mut merged = old.and_then(Value::as_object).unwrap_or(&empty).clone();
    match fields.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => return Ok(Value::Object(without_directives(fields))),
        Some("delete") => return Ok(Value::Object(Map::new())),
        Some(other) => return Err(Error::Directive(other.to_owned())),
    }
    retain(&mut merged, fields)?;
    for (name, value) in fields {
        if is_directive(name) {
            continue;
        }
        if value.is_null() {
            merged.remove(name);
            continue;
        }
        let below = schema.and_then(|schema| schema.field(name));
        let old = merged.get(name);
        let new = match value {
            Value::Array(items) => {
                let order = fields.get(&format!("{SET_ORDER}{name}"));
                Value::Array(list(old.and_then(Value::as_array), items, below, order)?)
            }
            Value::Object(inside) if inside.get(DIRECTIVE).is_some_and(|directive| directive == "delete") => {
                merged.remove(name);
                continue;
            }
            other => merge(old, other, below)?,
        };
        merged.insert(name.clone(), new);
    }
    delete_scalars(&mut merged, fields)?;
    reorder(&mut merged, fields, schema)?;
    Ok(Value::Object(merged))
}

fn is_directive(name: &str) -> bool {
    name == DIRECTIVE || name == RETAIN || name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER)
}

fn without_directives(fields: &Map<String, Value>) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(name, _)| !is_directive(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn texts<'v>(value: &'v Value, directive: &str) -> Result<&'v [Value], Error> {
    let error = || Error::WrongType { directive: directive.to_owned(), wanted: "a list" };
    value.as_array().map(Vec::as_slice).ok_or_else(error)
}

fn retain(merged: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), Error> {
    let Some(kept) = patch.get(RETAIN) else { return Ok(()) };
    let kept: HashSet<&str> = texts(kept, RETAIN)?.iter().filter_map(Value::as_str).collect();
    merged.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

fn delete_scalars(merged: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), Error> {
    for (directive, gone) in patch {
        let Some(name) = directive.strip_prefix(DELETE_FROM) else { continue };
        let gone: HashSet<String> = texts(gone, directive)?.iter().map(Value::to_string).collect();
        if let Some(Value::Array(items)) = merged.get_mut(name) {
            items.retain(|item| !gone.contains(&item.to_string()));
        }
    }
    Ok(())
}

/// Puts lists in order that the patch only orders.
fn reorder(
    merged: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    schema: Option<&Schema>,
) -> Result<(), Error> {
    for (directive, order) in patch {
        let Some(name) = directive.strip_prefix(SET_ORDER) else { continue };
        let order = texts(order, directive)?;
        let key = match schema.and_then(|schema| schema.field(name)).map(|below| &below.patch.list) {
            Some(PatchList::Key(key)) => Some(key.as_str()),
            Some(PatchList::Set | PatchList::Replaced) | None => None,
        };
        if let Some(Value::Array(items)) = merged.get_mut(name) {
            sort(items, order, key);
        }
    }
    Ok(())
}

/// Items in an order; those that it does not name stay behind the item that they stood behind.
fn sort(items: &mut Vec<Value>, order: &[Value], key: Option<&str>) {
    let name = |item: &Value| match key {
        Some(key) => item.get(key).map(Value::to_string),
        None => Some(item.to_string()),
    };
    let mut places = HashMap::new();
    for (at, item) in order.iter().enumerate() {
        places.entry(name(item)).or_insert(at);
    }
    let mut first = Vec::new();
    // A named item with those behind it.
    let mut named: Vec<(usize, Vec<Value>)> = Vec::new();
    for item in std::mem::take(items) {
        match (places.get(&name(&item)), named.last_mut()) {
            (Some(at), _) => named.push((*at, vec![item])),
            (None, Some((_, behind))) => behind.push(item),
            (None, None) => first.push(item),
        }
    }
    named.sort_by_key(|(at, _)| *at);
    items.extend(first);
    items.extend(named.into_iter().flat_map(|(_, items)| items));
}

fn list(
    old: Option<&Vec<Value>>,
    patch: &[Value],
    schema: Option<&Schema>,
    order: Option<&Value>,
) -> Result<Vec<Value>, Error> {
    let replaces =
        patch.iter().any(|item| item.get(DIRECTIVE).is_some_and(|directive| directive == "replace"));
    let strategy = schema.map_or(&PatchList::Replaced, |schema| &schema.patch.list);
    if replaces {
        let stays = patch.iter().filter(|item| item.get(DIRECTIVE).is_none());
        return Ok(stays.cloned().collect());
    }
    let mut merged = old.cloned().unwrap_or_default();
    match strategy {
        PatchList::Replaced => return Ok(patch.to_vec()),
        PatchList::Set => {
            let there: HashSet<String> = merged.iter().map(Value::to_string).collect();
            merged.extend(patch.iter().filter(|item| !there.contains(&item.to_string())).cloned());
        }
        PatchList::Key(key) => {
            let items = schema.and_then(|schema| schema.resolved().items.as_deref());
            merged = keyed(merged, patch, key, items)?;
        }
    }
    if let Some(order) = order {
        let key = match strategy {
            PatchList::Key(key) => Some(key.as_str()),
            PatchList::Set | PatchList::Replaced => None,
        };
        sort(&mut merged, texts(order, SET_ORDER)?, key);
    }
    Ok(merged)
}

/// Items that have the same value under a key are the same.
fn keyed(old: Vec<Value>, patch: &[Value], key: &str, schema: Option<&Schema>) -> Result<Vec<Value>, Error> {
    let mut merged: Vec<Option<Value>> = old.into_iter().map(Some).collect();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, item) in merged.iter().flatten().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(value.to_string()).or_default().push(at);
        }
    }
    for item in patch {
        let Some(value) = item.get(key) else {
            return Err(Error::NoKey { item: item.to_string(), key: key.to_owned() });
        };
        let found = places.entry(value.to_string()).or_default();
        if item.get(DIRECTIVE).is_some_and(|directive| directive == "delete") {
            for at in found.drain(..) {
                merged[at] = None;
            }
            continue;
        }
        if let Some(at) = found.first() {
            merged[*at] = Some(merge(merged[*at].as_ref(), item, schema)?);
        } else {
            found.push(merged.len());
            merged.push(Some(merge(None, item, schema)?));
        }
    }
    Ok(merged.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_api::schema::built_in;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "what is written by `json!` is given away")]
    fn check(kind: &str, object: Value, change: Value, expected: Value) {
        let group = if kind == "Deployment" { "apps" } else { "" };
        let schema = built_in::of_kind(group, "v1", kind).expect("the kind is there");
        assert_eq!(patch(&object, &change, &schema).expect("the patch fits"), expected, "{change}");
    }

    /// Many items take as long as they are many, and not the square of it.
    #[test]
    fn long_lists_merge_in_time() {
        let names = |prefix: &str| -> Value {
            (0..15_000).map(|at| json!({"name": format!("{prefix}{at}")})).collect()
        };
        let schema = built_in::of_kind("", "v1", "ServiceAccount").expect("the kind is there");
        let change = json!({"secrets": names("b"), "$setElementOrder/secrets": names("b")});
        let patched = patch(&json!({"secrets": names("a")}), &change, &schema).expect("the patch fits");
        assert_eq!(patched["secrets"].as_array().map(Vec::len), Some(30_000));
        let again = patch(&patched, &change, &schema).expect("the patch fits");
        assert!(again == patched, "the same again changes nothing");
    }

    #[test]
    fn lists_merge_by_their_keys() {
        let account = json!({"secrets": [{"name": "a"}, {"name": "b"}], "imagePullSecrets": [{"name": "p"}]});
        check(
            "ServiceAccount",
            account.clone(),
            json!({"secrets": [{"name": "c"}, {"name": "a", "namespace": "n"}]}),
            json!({
                "secrets": [{"name": "a", "namespace": "n"}, {"name": "b"}, {"name": "c"}],
                "imagePullSecrets": [{"name": "p"}],
            }),
        );
        check(
            "ServiceAccount",
            account.clone(),
            json!({"secrets": [{"name": "a", "$patch": "delete"}], "$setElementOrder/secrets": [{"name": "b"}]}),
            json!({"secrets": [{"name": "b"}], "imagePullSecrets": [{"name": "p"}]}),
        );
        check(
            "ServiceAccount",
            account,
            json!({"secrets": [{"$patch": "replace"}, {"name": "z"}]}),
            json!({"secrets": [{"name": "z"}], "imagePullSecrets": [{"name": "p"}]}),
        );
    }

    #[test]
    fn scalars_are_added_removed_and_ordered() {
        let object = json!({"metadata": {"finalizers": ["x/a", "x/b"]}});
        check(
            "ConfigMap",
            object.clone(),
            json!({"metadata": {"finalizers": ["x/c"], "$deleteFromPrimitiveList/finalizers": ["x/a"]}}),
            json!({"metadata": {"finalizers": ["x/b", "x/c"]}}),
        );
        check(
            "ConfigMap",
            object,
            json!({"metadata": {"finalizers": ["x/c"], "$setElementOrder/finalizers": ["x/c", "x/b", "x/a"]}}),
            json!({"metadata": {"finalizers": ["x/c", "x/b", "x/a"]}}),
        );
    }

    #[test]
    fn objects_merge_go_and_are_replaced() {
        let object = json!({"data": {"a": "1", "b": "2"}});
        check(
            "ConfigMap",
            object.clone(),
            json!({"data": {"a": null, "c": "3"}}),
            json!({"data": {"b": "2", "c": "3"}}),
        );
        check(
            "ConfigMap",
            object.clone(),
            json!({"data": {"$patch": "replace", "c": "3"}}),
            json!({"data": {"c": "3"}}),
        );
        check("ConfigMap", object, json!({"data": {"$patch": "delete"}}), json!({}));
        let volumes =
            json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
        check(
            "Deployment",
            volumes,
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let schema = built_in::of_kind("", "v1", "ServiceAccount").expect("the kind is there");
        let refused =
            |change: Value| patch(&json!({}), &change, &schema).expect_err("it is wrong").to_string();
        assert_eq!(refused(json!({"metadata": {"$patch": "fly"}})), "unknown patch type: fly");
        assert_eq!(
            refused(json!({"secrets": [{"x": 1}]})),
            r#"map: {"x":1} does not contain declared merge key: name"#
        );
        assert_eq!(refused(json!({"$retainKeys": 1})), "the value of $retainKeys must be a list");
    }
}
