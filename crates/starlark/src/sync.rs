//! Bringing a change of values into a document, touching no more than what changed.

use std::collections::HashSet;

use lanai_yaml::{NodeMut, edit};
use serde_json::{Map, Value};

use crate::value::content;

/// How many pairs of items are compared before a list is written anew.
const MAX_PAIRS: usize = 1_000_000;

/// How much it counts that two items are equal, that they have the same name, and that they have a field in common.
const EQUAL: u64 = 1 << 40;
const SAME_NAME: u64 = 1 << 20;
const SAME_FIELD: u64 = 1 << 8;
/// How much it counts that both are scalars: the new one may be what became of the old one.
const BOTH_SCALARS: u64 = 1;

/// The fields that say which item is meant, the first that an item has.
const NAMES: [&str; 8] = ["name", "key", "containerPort", "port", "mountPath", "topologyKey", "type", "ip"];

/// Edits `node`, which says `before`, so that it says `after`.
///
/// What is equal in both is not touched. New fields come behind those that are there; items of lists keep their comments
/// when something in them changes, and take them along when they move.
///
/// # Errors
/// When the text leaves no place for an edit.
pub fn sync(mut node: NodeMut<'_>, before: &Value, after: &Value) -> Result<(), edit::Error> {
    if before == after {
        return Ok(());
    }
    let is_empty = node.read().is_empty();
    match (before, after) {
        (Value::Object(before), Value::Object(after)) if !is_empty => fields(&mut node, before, after),
        (Value::Array(before), Value::Array(after)) if !is_empty => items(&mut node, before, after),
        _ => node.set(content(after)),
    }
}

fn fields(
    node: &mut NodeMut<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Result<(), edit::Error> {
    // First what is new, so that the mapping is never empty: an empty one is written in another way.
    for (key, value) in after {
        match before.get(key) {
            Some(old) => sync(node.reborrow().get_mut(key)?, old, value)?,
            None => node.insert(key, content(value))?,
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        node.remove(key)?;
    }
    Ok(())
}

fn items(node: &mut NodeMut<'_>, before: &[Value], after: &[Value]) -> Result<(), edit::Error> {
    let Some(in_order) = pairs(before, after) else {
        return node.set(content(&Value::Array(after.to_vec())));
    };
    let moved = with_moved(&in_order, before, after);
    if moved.is_empty() {
        return node.set(content(&Value::Array(after.to_vec())));
    }
    let kept: HashSet<usize> = moved.iter().map(|pair| pair.old).collect();
    let gone = (0..before.len()).filter(|old| !kept.contains(old));
    let order: Vec<usize> = moved.iter().map(|pair| pair.old).chain(gone).collect();
    let pairs = if node.reorder(&order).is_ok() {
        for gone in (moved.len()..before.len()).rev() {
            node.remove_item(gone)?;
        }
        moved
    } else {
        // An alias must stay behind its anchor: what would move is written anew.
        let kept: HashSet<usize> = in_order.iter().map(|pair| pair.old).collect();
        for gone in (0..before.len()).rev().filter(|old| !kept.contains(old)) {
            node.remove_item(gone)?;
        }
        in_order
    };
    if pairs.is_empty() {
        return node.set(content(&Value::Array(after.to_vec())));
    }
    let mut pairs = pairs.into_iter().peekable();
    for (at, value) in after.iter().enumerate() {
        match pairs.next_if(|pair| pair.new == at) {
            Some(pair) => sync(node.reborrow().at_mut(at)?, &before[pair.old], value)?,
            None => node.insert_item(at, content(value))?,
        }
    }
    Ok(())
}

/// An item of the old list and what became of it in the new one.
#[derive(Clone, Copy)]
struct Pair {
    old: usize,
    new: usize,
}

/// Which items are the same thing before and after, ascending on both sides, so that they are as like as possible. `None`
/// when there are too many to compare.
fn pairs(before: &[Value], after: &[Value]) -> Option<Vec<Pair>> {
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
    let mut found: Vec<_> = (0..head).map(|at| Pair { old: at, new: at }).collect();
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if likeness(&old[i], &new[j]).is_some_and(|score| score + best[i + 1][j + 1] == best[i][j]) {
            found.push(Pair { old: head + i, new: head + j });
            (i, j) = (i + 1, j + 1);
        } else if best[i + 1][j] >= best[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found.extend((0..tail).map(|at| Pair { old: before.len() - tail + at, new: after.len() - tail + at }));
    Some(found)
}

/// The pairs, and those of items that came to another place among the others; ascending by the place that they have now.
fn with_moved(pairs: &[Pair], before: &[Value], after: &[Value]) -> Vec<Pair> {
    let mut all = pairs.to_vec();
    let paired_old: HashSet<usize> = pairs.iter().map(|pair| pair.old).collect();
    let paired_new: HashSet<usize> = pairs.iter().map(|pair| pair.new).collect();
    let mut old: Vec<usize> = (0..before.len()).filter(|at| !paired_old.contains(at)).collect();
    let mut new: Vec<usize> = (0..after.len()).filter(|at| !paired_new.contains(at)).collect();
    // Equal ones first: a name can be there twice.
    for wanted in [EQUAL, SAME_NAME] {
        new.retain(|at| {
            let is_it =
                |old: &usize| likeness(&before[*old], &after[*at]).is_some_and(|score| score >= wanted);
            let found = old.iter().position(is_it);
            if let Some(found) = found {
                all.push(Pair { old: old.remove(found), new: *at });
            }
            found.is_none()
        });
    }
    all.sort_unstable_by_key(|pair| pair.new);
    all
}

/// How much two items are the same thing; `None` when they are not.
fn likeness(old: &Value, new: &Value) -> Option<u64> {
    if old == new {
        return Some(EQUAL);
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let same = old.iter().filter(|(key, value)| new.get(*key) == Some(*value)).count();
            let same = SAME_FIELD * u64::try_from(same).unwrap_or_default().min(1_000);
            match (name(old), name(new)) {
                (Some(one), Some(other)) if one == other => Some(SAME_NAME + same),
                (None, None) if same > 0 => Some(same),
                _ => None,
            }
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => None,
        _ => Some(BOTH_SCALARS),
    }
}

fn name(fields: &Map<String, Value>) -> Option<&Value> {
    NAMES.iter().find_map(|key| fields.get(*key))
}

#[cfg(test)]
mod tests {
    use lanai_yaml::Document;

    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        let mut document = Document::parse(before).unwrap();
        let old = document.root().deserialize().unwrap();
        let new = Document::parse(after).unwrap().root().deserialize().unwrap();
        sync(document.root_mut(), &old, &new).unwrap();
        assert_eq!(document.to_string(), expected, "{before:?}");
    }

    #[test]
    fn only_what_changed_is_edited() {
        check("a:   'x' # x\nb: [ 1,2 ]\n", "{a: y, b: [1, 2]}", "a:   'y' # x\nb: [ 1,2 ]\n");
        check("a: 1 # a\nb: 2 # b\n", "{b: 2, c: {d: [e]}}", "b: 2 # b\nc:\n  d:\n  - e\n");
        check("a:\n- x # x\n- y # y\n", "{a: [x, z]}", "a:\n- x # x\n- z # y\n");
        check("a:\n- x # x\n- y # y\n", "{a: [y, x]}", "a:\n- y # y\n- x # x\n");
        check("a:\n- x # x\n- y # y\n", "{a: []}", "a: []\n");
        check("a: {}\n", "{a: {b: 1}}", "a:\n  b: 1\n");
        check("a: x\n", "{a: null}", "a: null\n");
    }

    #[test]
    fn items_are_found_by_name_and_by_what_they_have_in_common() {
        check(
            "a:\n- name: x # x\n  v: 1\n- name: y # y\n  v: 2\n",
            "{a: [{name: y, v: 3}, {name: z}, {name: x, v: 1}]}",
            "a:\n- name: y # y\n  v: 3\n- name: z\n- name: x # x\n  v: 1\n",
        );
        check(
            "a:\n- verbs: [get] # may\n  resources: [pods]\n",
            "{a: [{verbs: [get, list], resources: [pods]}]}",
            "a:\n- verbs: [get, list] # may\n  resources: [pods]\n",
        );
    }

    #[test]
    fn an_alias_is_expanded_where_it_changes() {
        check("a: &a {x: 1}\nb: *a\n", "{a: {x: 1}, b: {x: 2}}", "a: &a {x: 1}\nb: {x: 2}\n");
    }

    /// A list with an item in common at the end; the first has as many items as are asked for, the second a thousand.
    fn keeps_comment(old: usize) -> bool {
        let list = |prefix: &str, len: usize| {
            let items: Vec<String> = (1..len).map(|at| format!("- [{prefix}, {at}]\n")).collect();
            items.concat()
        };
        let mut document = Document::parse(format!("{}- same # kept\n- [x]\n", list("o", old))).unwrap();
        let new = Document::parse(format!("{}- same\n- [y]\n", list("n", 1_000))).unwrap();
        let before = document.root().deserialize().unwrap();
        sync(document.root_mut(), &before, &new.root().deserialize().unwrap()).unwrap();
        document.to_string().contains("same # kept")
    }

    #[test]
    fn lists_are_compared_up_to_the_limit() {
        assert_eq!(MAX_PAIRS, 1_000 * 1_000);
        assert!(keeps_comment(998));
        assert!(!keeps_comment(999));
    }
}
