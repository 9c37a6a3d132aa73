//! Bringing a change of values into a document, touching no more than what changed.

use std::collections::HashSet;

use lanai_yaml::{Content, Document, NodeMut, NodeRef, edit};
use serde_json::{Map, Value};

use super::schema::Shape;

/// How many pairs of items are compared before a list is written anew.
const MAX_PAIRS: usize = 1_000_000;

/// How much equal items count, and how much those with the same name.
const EQUAL: u64 = 1 << 24;
const SAME_NAME: u64 = 1;

/// The fields that say which item is meant, the first that an item has.
const NAMES: [&str; 5] = ["name", "type", "conditionType", "image", "exec"];

/// Edits `node`, which says `before`, so that it says `after`.
///
/// What is equal in both is not touched. New fields get the place that the shape gives them among the fields that are there;
/// items of lists keep their comments when something in them changes, and take them along when they move.
pub fn sync(mut node: NodeMut<'_>, before: &Value, after: &Value, shape: &Shape) -> Result<(), edit::Error> {
    if before == after {
        return Ok(());
    }
    let is_empty = node.read().is_empty();
    match (before, after) {
        (Value::Object(before), Value::Object(after)) if !is_empty => fields(&mut node, before, after, shape),
        (Value::Array(before), Value::Array(after)) if !is_empty => items(&mut node, before, after, shape),
        _ => node.set(content(after)),
    }
}

fn fields(
    node: &mut NodeMut<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    shape: &Shape,
) -> Result<(), edit::Error> {
    for (key, value) in after {
        match before.get(key) {
            Some(old) if old == value => {}
            Some(old) => {
                let shape = shape.field(key).unwrap_or(&Shape::Any);
                sync(node.reborrow().get_mut(key)?, old, value, shape)?;
            }
            // It may be there and say nothing.
            None if node.read().own_entry(key).is_some() => node.insert(key, content(value))?,
            None => {
                let place = place(node.read(), key, shape);
                node.insert_at(place, key, content(value))?;
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        node.remove(key)?;
        // A merge key may still bring it in.
        if node.read().get(key).is_some_and(|value| !value.is_null()) {
            return Err(edit::Error::NoSuchKey(key.into()));
        }
    }
    Ok(())
}

/// Where a new field belongs: behind the nearest field that comes before it, else before the nearest that comes after it.
fn place(node: NodeRef<'_>, key: &str, shape: &Shape) -> usize {
    let position = |name: &str| node.entries().position(|(key, _)| key.target().value() == name);
    let order: Vec<&str> = shape.order().collect();
    let Some(at) = order.iter().position(|name| *name == key) else { return usize::MAX };
    let before = order[..at].iter().rev().find_map(|name| position(name));
    let after = || order[at + 1..].iter().find_map(|name| position(name));
    before.map(|at| at + 1).or_else(after).unwrap_or(usize::MAX)
}

fn items(
    node: &mut NodeMut<'_>,
    before: &[Value],
    after: &[Value],
    shape: &Shape,
) -> Result<(), edit::Error> {
    let in_order = pairs(before, after);
    // Items that are null say nothing, and are not among the values.
    let has_nulls = node.read().len() != before.len();
    let Some(in_order) = in_order.filter(|_| !has_nulls) else {
        return node.set(content(&Value::Array(after.to_vec())));
    };
    let moved = with_moved(&in_order, before, after);
    if moved.is_empty() {
        return node.set(content(&Value::Array(after.to_vec())));
    }
    let kept: HashSet<usize> = moved.iter().map(|(old, _)| *old).collect();
    let gone = (0..before.len()).filter(|old| !kept.contains(old));
    let order: Vec<usize> = moved.iter().map(|(old, _)| *old).chain(gone).collect();
    let pairs = if node.reorder(&order).is_ok() {
        for gone in (moved.len()..before.len()).rev() {
            node.remove_item(gone)?;
        }
        moved
    } else {
        // An alias must stay behind its anchor: what would move is written anew.
        let kept: HashSet<usize> = in_order.iter().map(|(old, _)| *old).collect();
        for gone in (0..before.len()).rev().filter(|old| !kept.contains(old)) {
            node.remove_item(gone)?;
        }
        in_order
    };
    if pairs.is_empty() {
        return node.set(content(&Value::Array(after.to_vec())));
    }
    let shape = match shape {
        Shape::List(_, item) => item,
        Shape::Text(_) | Shape::Int | Shape::Bool | Shape::Any | Shape::Texts | Shape::Struct(..) => {
            &Shape::Any
        }
    };
    let mut pairs = pairs.into_iter().peekable();
    for (at, value) in after.iter().enumerate() {
        match pairs.next_if(|(_, new)| *new == at) {
            Some((old, _)) => sync(node.reborrow().at_mut(at)?, &before[old], value, shape)?,
            None => node.insert_item(at, content(value))?,
        }
    }
    Ok(())
}

/// Which items are the same thing before and after, ascending on both sides: as many equal ones as possible, then as many
/// with the same name as possible. `None` when there are too many to compare.
fn pairs(before: &[Value], after: &[Value]) -> Option<Vec<(usize, usize)>> {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return None;
    }
    // best[i][j]: the best score of old[i..] and new[j..].
    let mut best = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let paired = likeness(&old[i], &new[j]).map_or(0, |score| score + best[i + 1][j + 1]);
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let mut found: Vec<_> = (0..head).map(|at| (at, at)).collect();
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if likeness(&old[i], &new[j]).is_some_and(|score| score + best[i + 1][j + 1] == best[i][j]) {
            found.push((head + i, head + j));
            (i, j) = (i + 1, j + 1);
        } else if best[i + 1][j] >= best[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found.extend((0..tail).map(|at| (before.len() - tail + at, after.len() - tail + at)));
    Some(found)
}

/// The pairs, and those of items that came to another place among the others; ascending by the place that they have now.
fn with_moved(pairs: &[(usize, usize)], before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    let mut all = pairs.to_vec();
    let (paired_old, paired_new): (HashSet<usize>, HashSet<usize>) = pairs.iter().copied().unzip();
    let mut old: Vec<usize> = (0..before.len()).filter(|at| !paired_old.contains(at)).collect();
    let mut new: Vec<usize> = (0..after.len()).filter(|at| !paired_new.contains(at)).collect();
    // Equal ones first: a name can be there twice.
    for wanted in [EQUAL, SAME_NAME] {
        new.retain(|at| {
            let found = old.iter().position(|old| likeness(&before[*old], &after[*at]) == Some(wanted));
            if let Some(found) = found {
                all.push((old.remove(found), *at));
            }
            found.is_none()
        });
    }
    all.sort_unstable_by_key(|(_, new)| *new);
    all
}

/// How much two items are the same thing: equal ones more than ones with the same name.
fn likeness(old: &Value, new: &Value) -> Option<u64> {
    let name = |value: &Value| NAMES.iter().find_map(|key| value.get(key).cloned());
    if old == new {
        Some(EQUAL)
    } else if name(old).is_some() && name(old) == name(new) {
        Some(SAME_NAME)
    } else {
        None
    }
}

/// A value as content in block style.
fn content(value: &Value) -> Content {
    match Document::from_serialize(value) {
        Ok(document) => document.into(),
        Err(_) => Content::string(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_items_are_compared() {
        const SIDE: usize = 1_000;
        assert_eq!(SIDE * SIDE, MAX_PAIRS);
        let list = |first: usize, len: usize| (first..first + len).map(Value::from).collect::<Vec<_>>();
        assert_eq!(pairs(&list(0, SIDE), &list(SIDE, SIDE)), Some(Vec::new()));
        assert_eq!(pairs(&list(0, SIDE), &list(SIDE, SIDE + 1)), None);
    }
}
