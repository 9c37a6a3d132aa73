//! Which items of two lists are the same. The place in the list says nothing.

use std::collections::HashMap;

use lanai_yaml::{Kind, NodeRef};

use crate::resource::text;

/// Fields that say which item of a list is meant; the first that fits is taken.
const NAMES: [&[&str]; 18] = [
    &["name"],
    &["kind", "name"],
    &["kind", "namespace", "name"],
    &["apiVersion", "kind", "name"],
    &["containerPort"],
    &["containerPort", "protocol"],
    &["mountPath"],
    &["devicePath"],
    &["port"],
    &["port", "protocol"],
    &["topologyKey"],
    &["key"],
    &["host"],
    &["path"],
    &["type"],
    &["conditionType"],
    &["ip"],
    &["uid"],
];

/// The pairs of indexes.
///
/// Mappings pair by the first fields of the table that all of them have and that no two of a list share; else, and for all
/// other items, equal ones pair. Of equal items that a list holds several times, none pairs unless both lists hold as many.
pub fn pairs(old: &[NodeRef<'_>], new: &[NodeRef<'_>]) -> Vec<(usize, usize)> {
    for names in NAMES {
        if let (Some(old), Some(new)) = (by_name(old, names), by_name(new, names)) {
            let mut found: Vec<_> =
                new.iter().filter_map(|(name, at)| Some((*old.get(name)?, *at))).collect();
            found.sort_unstable_by_key(|(_, new)| *new);
            return found;
        }
    }
    let (old, new) = (by_content(old), by_content(new));
    let same = new.iter().filter_map(|(content, news)| {
        let olds = old.get(content)?;
        (olds.len() == news.len()).then(|| olds.iter().copied().zip(news.iter().copied()))
    });
    let mut found: Vec<_> = same.flatten().collect();
    found.sort_unstable_by_key(|(_, new)| *new);
    found
}

/// The items by their name, when all have one and no two the same.
fn by_name(items: &[NodeRef<'_>], names: &[&str]) -> Option<HashMap<Vec<String>, usize>> {
    let mut found = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let parts = names.iter().map(|name| Some(text(item.get(name)?)?.into_owned()));
        let name: Option<Vec<String>> = parts.collect();
        if item.kind() != Kind::Mapping || found.insert(name?, at).is_some() {
            return None;
        }
    }
    Some(found)
}

/// The items by what they say.
fn by_content(items: &[NodeRef<'_>]) -> HashMap<String, Vec<usize>> {
    let mut found: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        found.entry(format!("{item:?}")).or_default().push(at);
    }
    found
}
