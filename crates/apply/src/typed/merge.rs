//! One value merged into another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::fields::Element;
use crate::shape::{Form, Shape};

/// A value with another merged into it: what the other says counts, what it does not mention stays.
pub(crate) fn merge(live: &Value, applied: &Value, shape: Shape<'_>) -> Value {
    let form = match (live, applied) {
        // Null says nothing of what is in an object or in a list that merges.
        (live, Value::Null) if shape.form(live) != Form::Leaf => return live.clone(),
        (_, applied) => shape.form(applied),
    };
    match (form, live, applied) {
        (Form::Fields, Value::Object(live), Value::Object(applied)) => objects(live, applied, shape),
        (Form::Set | Form::Keyed(_), Value::Array(live), Value::Array(applied))
            if !applied.is_empty() || !live.is_empty() =>
        {
            Value::Array(lists(live, applied, shape, form))
        }
        (Form::Leaf | Form::Fields | Form::Set | Form::Keyed(_), _, applied) => applied.clone(),
    }
}

fn objects(live: &Map<String, Value>, applied: &Map<String, Value>, shape: Shape<'_>) -> Value {
    let mut merged = live.clone();
    for (name, value) in applied {
        let value =
            live.get(name).map_or_else(|| value.clone(), |live| merge(live, value, shape.field(name)));
        merged.insert(name.clone(), value);
    }
    Value::Object(merged)
}

/// Items of both lists: those that are applied in the order in which they are applied, the others where they stood among them.
fn lists(live: &[Value], applied: &[Value], shape: Shape<'_>, form: Form<'_>) -> Vec<Value> {
    let named = |item| Item { key: shape.element(form, item).ok(), value: item };
    let old: Vec<Item<'_>> = live.iter().map(named).collect();
    let new: Vec<Item<'_>> = applied.iter().map(named).collect();
    let mut old_by_key: BTreeMap<&Element, &Value> = BTreeMap::new();
    for item in &old {
        if let Some(key) = &item.key {
            old_by_key.entry(key).or_insert(item.value);
        }
    }
    let new_keys: BTreeSet<&Element> = new.iter().filter_map(|item| item.key.as_ref()).collect();
    let is_applied = |item: &Item<'_>| item.key.as_ref().is_some_and(|key| new_keys.contains(key));
    let merged = |item: &Item<'_>| match item.key.as_ref().and_then(|key| old_by_key.get(key)) {
        Some(old) => merge(old, item.value, shape.items()),
        None => item.value.clone(),
    };
    let mut out = Vec::with_capacity(old.len() + new.len());
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    // The items that stand in both lists, in the order in which they are applied: the first is the one that should come next.
    let is_in_both = |item: &&Item<'_>| item.key.as_ref().is_some_and(|key| old_by_key.contains_key(key));
    let mut shared = new.iter().filter(is_in_both).filter_map(|item| item.key.as_ref()).peekable();
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (None, None) => return out,
            (Some(one), Some(other)) if one.key.is_some() && one.key == other.key => {
                out.push(merged(other));
                done.extend(other.key.as_ref());
                old.next();
                new.next();
                shared.next();
            }
            // An old item that comes elsewhere.
            (Some(one), Some(_))
                if is_applied(one) && shared.peek().is_some_and(|next| one.key.as_ref() != Some(*next)) =>
            {
                old.next();
            }
            (Some(one), _) if !is_applied(one) => {
                out.push(one.value.clone());
                old.next();
            }
            (Some(one), _) if one.key.as_ref().is_some_and(|key| done.contains(key)) => {
                old.next();
            }
            (_, Some(other)) => {
                out.push(merged(other));
                done.extend(other.key.as_ref());
                if shared.peek().is_some_and(|next| other.key.as_ref() == Some(*next)) {
                    shared.next();
                }
                new.next();
            }
            // Applied items have all come, so this one has come as well.
            (Some(_), None) => {
                old.next();
            }
        }
    }
}

/// An item of a list; one without a key is like no other.
struct Item<'v> {
    key: Option<Element>,
    value: &'v Value,
}
