//! Strategic merge patches: merge patches that know how the lists of Kubernetes's own kinds merge.
//!
//! | in a patch | what it asks for |
//! |---|---|
//! | `$patch: replace` | the object, or the list that has an item which says so, becomes what the patch says |
//! | `$patch: delete` | the object, or the item with the same key, goes |
//! | `$retainKeys` | only these fields of the object stay |
//! | `$deleteFromPrimitiveList/NAME` | these scalars go from the list |
//! | `$setElementOrder/NAME` | the items of the list stand in this order |

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
    let kept = texts(kept, RETAIN)?;
    merged.retain(|name, _| kept.iter().any(|one| one == name));
    Ok(())
}

fn delete_scalars(merged: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), Error> {
    for (directive, gone) in patch {
        let Some(name) = directive.strip_prefix(DELETE_FROM) else { continue };
        let gone = texts(gone, directive)?;
        if let Some(Value::Array(items)) = merged.get_mut(name) {
            items.retain(|item| !gone.contains(item));
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
    let place = |item: &Value| {
        order.iter().position(|other| match key {
            Some(key) => other.get(key) == item.get(key),
            None => other == item,
        })
    };
    let mut named: Vec<Value> = items.iter().filter(|item| place(item).is_some()).cloned().collect();
    named.sort_by_key(|item| place(item));
    let mut last: Option<Value> = None;
    for item in std::mem::take(items) {
        if place(&item).is_some() {
            last = Some(item);
            continue;
        }
        let at = last
            .as_ref()
            .and_then(|last| named.iter().position(|other| other == last))
            .map_or(0, |at| at + 1);
        let at = if last.is_none() {
            named.iter().position(|other| place(other).is_some()).unwrap_or(at)
        } else {
            at
        };
        named.insert(at, item.clone());
        last = Some(item);
    }
    *items = named;
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
    let old = old.map_or(&[][..], Vec::as_slice);
    let mut merged = old.to_vec();
    match strategy {
        PatchList::Replaced => return Ok(patch.to_vec()),
        PatchList::Set => merged.extend(patch.iter().filter(|item| !old.contains(item)).cloned()),
        PatchList::Key(key) => {
            let items = schema.and_then(|schema| schema.resolved().items.as_deref());
            for item in patch {
                let Some(value) = item.get(key) else {
                    return Err(Error::NoKey { item: item.to_string(), key: key.clone() });
                };
                let at = merged.iter().position(|other| other.get(key) == Some(value));
                if item.get(DIRECTIVE).is_some_and(|directive| directive == "delete") {
                    merged.retain(|other| other.get(key) != Some(value));
                    continue;
                }
                let new = merge(at.map(|at| &merged[at]), item, items)?;
                match at {
                    Some(at) => merged[at] = new,
                    None => merged.push(new),
                }
            }
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
