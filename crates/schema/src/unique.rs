//! Lists whose items may not be the same.

use std::collections::HashMap;
use std::fmt::Write as _;

use lanai_yaml::NodeRef;

use crate::message;
use crate::schema::Unique;
use crate::value::{Value, fields};
use crate::walk::Walk;

/// How deep the values of items are compared. What is deeper has no equal.
const MAX_DEPTH: usize = 100;

/// Reports each item that is the same as one before it.
pub(crate) fn check(walk: &mut Walk<'_>, list: NodeRef<'_>, unique: &Unique) {
    let identity = |walk: &mut Walk<'_>, item: NodeRef<'_>| match unique {
        Unique::No => None,
        Unique::Items => spell(walk, item),
        Unique::Keys(keys) => of_keys(walk, item, keys),
    };
    if *unique == Unique::No {
        return;
    }
    let mut seen = HashMap::new();
    for (at, item) in list.items().enumerate() {
        let Some(identity) = identity(walk, item) else { continue };
        match seen.get(&identity) {
            None => {
                seen.insert(identity, at);
            }
            Some(first) => walk.report(match unique {
                Unique::Keys(keys) => message::equal_keys(*first, at, keys),
                Unique::No | Unique::Items => message::equal_items(*first, at),
            }),
        }
    }
}

/// The values of some fields; `None` for what has none of them, which is wrong in another way.
fn of_keys(walk: &mut Walk<'_>, item: NodeRef<'_>, keys: &[String]) -> Option<String> {
    let Value::Object(object) = Value::of(item) else { return None };
    let fields = fields(object);
    let mut identity = String::new();
    let mut has_some = false;
    for key in keys {
        if let Some(field) = fields.iter().find(|field| field.name == *key) {
            identity.push_str(&spell(walk, field.value)?);
            has_some = true;
        }
        identity.push(',');
    }
    has_some.then_some(identity)
}

/// A value, spelled so that equal values are equal texts; `None` when the walk is over.
fn spell(walk: &mut Walk<'_>, node: NodeRef<'_>) -> Option<String> {
    let mut out = String::new();
    spell_into(walk, node, MAX_DEPTH, &mut out).then_some(out)
}

/// Whether it could be spelled, so many levels deep at most.
fn spell_into(walk: &mut Walk<'_>, node: NodeRef<'_>, levels: usize, out: &mut String) -> bool {
    if levels == 0 || !walk.step() {
        return false;
    }
    let mut is_whole = true;
    match Value::of(node) {
        Value::Null => out.push('~'),
        Value::Boolean(is) => out.push(if is { 't' } else { 'f' }),
        Value::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Number(number) => {
            let _ = write!(out, "{number:e}");
        }
        Value::Text(text) => {
            let _ = write!(out, "{text:?}");
        }
        Value::List(list) => {
            out.push('[');
            for item in list.items() {
                is_whole = is_whole && spell_into(walk, item, levels - 1, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut fields = fields(object);
            fields.sort_by(|one, other| one.name.cmp(&other.name));
            out.push('{');
            for field in fields {
                let _ = write!(out, "{:?}:", field.name);
                is_whole = is_whole && spell_into(walk, field.value, levels - 1, out);
                out.push(',');
            }
            out.push('}');
        }
    }
    is_whole
}
