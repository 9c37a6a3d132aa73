//! What the items of one list are called on all sides.

use std::collections::{HashMap, HashSet};

use lanai_yaml::NodeRef;

use crate::keys::{KeyPart, List, key_of, program_of};

pub(crate) type Key = Vec<KeyPart>;

/// The keys of the items of a list that is merged.
///
/// A function of a pipeline that has a name on one side and none on another is the same, if no side has two of its image: to
/// name a function does not make another one of it.
pub(crate) struct Keyring<'a> {
    list: &'a List,
    /// The keys of functions that are named on some sides only, by what they run.
    named: HashMap<KeyPart, Key>,
}

impl<'a> Keyring<'a> {
    /// Takes original, upstream and local.
    pub fn new(list: &'a List, sides: [Option<NodeRef<'_>>; 3]) -> Self {
        let named = match list {
            List::Functions => named(sides),
            List::Atomic | List::Set | List::Map(_) => HashMap::new(),
        };
        Self { list, named }
    }

    /// What identifies an item. `None` for what has no such key.
    pub fn key(&self, item: NodeRef<'_>) -> Option<Key> {
        let program = if self.named.is_empty() { None } else { program_of(item) };
        let known = program.and_then(|program| self.named.get(&program));
        known.cloned().or_else(|| key_of(item, self.list))
    }

    /// The keys of a side, in the order of its items.
    pub fn keys(&self, side: Option<NodeRef<'_>>) -> Vec<Key> {
        side.into_iter().flat_map(NodeRef::items).filter_map(|item| self.key(item)).collect()
    }

    /// The items of a side by their keys.
    pub fn items<'n>(&self, side: Option<NodeRef<'n>>) -> HashMap<Key, NodeRef<'n>> {
        let items = side.into_iter().flat_map(NodeRef::items);
        items.filter_map(|item| Some((self.key(item)?, item))).collect()
    }
}

/// What is known of the functions that run the same.
struct Group {
    /// That of the first side that has one, so that it does not depend on local where another side has it.
    key: Key,
    is_unique: bool,
    has_unnamed: bool,
    names: HashSet<KeyPart>,
}

fn named(sides: [Option<NodeRef<'_>>; 3]) -> HashMap<KeyPart, Key> {
    let mut groups: HashMap<KeyPart, Group> = HashMap::new();
    let mut programs: HashMap<KeyPart, HashSet<KeyPart>> = HashMap::new();
    for side in sides {
        let mut seen = HashSet::new();
        for item in side.into_iter().flat_map(NodeRef::items) {
            let (Some(program), Some(key)) = (program_of(item), key_of(item, &List::Functions)) else {
                continue;
            };
            let is_named = key.first() != Some(&program);
            let is_first = seen.insert(program.clone());
            let group = groups.entry(program.clone()).or_insert_with(|| Group {
                key: key.clone(),
                is_unique: true,
                has_unnamed: false,
                names: HashSet::new(),
            });
            group.is_unique &= is_first;
            group.has_unnamed |= !is_named;
            for name in key.into_iter().filter(|_| is_named) {
                programs.entry(name.clone()).or_default().insert(program.clone());
                group.names.insert(name);
            }
        }
    }
    // A name that stands for two programs says more than what they run.
    let is_same = |group: &Group| {
        let alone = |name: &KeyPart| programs.get(name).is_some_and(|programs| programs.len() == 1);
        group.is_unique && group.has_unnamed && !group.names.is_empty() && group.names.iter().all(alone)
    };
    let same = groups.into_iter().filter(|(_, group)| is_same(group));
    same.map(|(program, group)| (program, group.key)).collect()
}
