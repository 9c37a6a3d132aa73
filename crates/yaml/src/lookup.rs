//! Finding entries of wide collections without walking to them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use crate::node::NodeRef;
use crate::tree::{Kind, NodeId};

/// How many entries of a collection are walked over before a table of them is asked. Few in builds for tests, so that the
/// small documents of generators meet tables, too.
pub(crate) const WIDE: usize = if cfg!(debug_assertions) { 1 } else { 32 };

/// The tables of a tree, by collection.
///
/// One is made when something is looked for behind the first [`WIDE`] entries for the second time. It is dropped with any
/// change of the entries, unless the edit takes it out before and puts it back as it must be. A copy of a tree begins
/// without tables.
#[derive(Debug, Default)]
pub(crate) struct Tables(RwLock<BTreeMap<NodeId, Table>>);

/// Where the entries of one collection are.
#[derive(Debug)]
pub(crate) enum Table {
    /// It was asked for once, and may never be again.
    Asked,
    Keys(Keys),
    /// The items of a list.
    Items(Vec<NodeId>),
}

/// The scalar keys of a mapping.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// The first node with that text.
    first: HashMap<Box<str>, NodeId>,
    /// The texts that stand twice.
    doubled: HashSet<Box<str>>,
}

impl Keys {
    fn add(&mut self, text: &str, key: NodeId) {
        if self.first.contains_key(text) {
            self.doubled.insert(text.into());
        } else {
            self.first.insert(text.into(), key);
        }
    }
}

impl Table {
    /// The same table with another key, behind all that have the same text.
    pub fn with_key(self, text: &str, key: NodeId) -> Self {
        self.with_keys(|keys| keys.add(text, key))
    }

    /// The same table without the first key of that text.
    pub fn without_key(self, text: &str) -> Self {
        match self {
            // The next one of that text would have to be looked for.
            Self::Keys(keys) if keys.doubled.contains(text) => Self::Asked,
            Self::Keys(_) | Self::Items(_) | Self::Asked => {
                self.with_keys(|keys| _ = keys.first.remove(text))
            }
        }
    }

    /// The same table with an item at a place, which is at most the end.
    pub fn with_item(self, index: usize, item: NodeId) -> Self {
        self.with_items(|items| items.insert(index.min(items.len()), item))
    }

    /// The same table without an item.
    pub fn without_item(self, index: usize) -> Self {
        self.with_items(|items| {
            if index < items.len() {
                items.remove(index);
            }
        })
    }

    fn with_keys(mut self, change: impl FnOnce(&mut Keys)) -> Self {
        if let Self::Keys(keys) = &mut self {
            change(keys);
        }
        self
    }

    fn with_items(mut self, change: impl FnOnce(&mut Vec<NodeId>)) -> Self {
        if let Self::Items(items) = &mut self {
            change(items);
        }
        self
    }
}

impl Tables {
    /// Takes the table of a collection out.
    pub fn take(&mut self, id: NodeId) -> Option<Table> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }

    /// Puts the table of a collection back, as it is after an edit.
    pub fn put(&mut self, id: NodeId, table: Option<Table>) {
        if let Some(table) = table {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner).insert(id, table);
        }
    }

    /// Asks the table of a collection; where there is none, walks, and makes one the second time.
    fn ask(
        &self,
        id: NodeId,
        find: impl FnOnce(&Table) -> Option<NodeId>,
        walk: impl FnOnce() -> Option<NodeId>,
        make: impl FnOnce() -> Table,
    ) -> Option<NodeId> {
        let asked = match self.0.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            Some(table @ (Table::Keys(_) | Table::Items(_))) => return find(table),
            Some(Table::Asked) => true,
            None => false,
        };
        let table = if asked { make() } else { Table::Asked };
        let found = if asked { find(&table) } else { walk() };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, table);
        found
    }
}

impl Clone for Tables {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<'a> NodeRef<'a> {
    /// The pair of a key that the mapping itself has.
    pub fn own_entry(self, key: &str) -> Option<(NodeRef<'a>, NodeRef<'a>)> {
        let mut entries = self.entries();
        if self.document.tree.has_aliases {
            // A key may be an alias, and mean another text after an edit elsewhere.
            return entries.find(|(name, _)| name.is_key(key));
        }
        if let Some(near) = entries.by_ref().take(WIDE).find(|(name, _)| name.is_key(key)) {
            return Some(near);
        }
        let first_far = entries.next()?;
        let id = self.document.tree.tables.ask(
            self.target().id,
            |table| match table {
                Table::Keys(keys) => keys.first.get(key).copied(),
                Table::Asked | Table::Items(_) => None,
            },
            || {
                std::iter::once(first_far)
                    .chain(entries)
                    .find(|(name, _)| name.is_key(key))
                    .map(|(name, _)| name.id)
            },
            || self.table_of_keys(),
        )?;
        let value = self.document.tree.node(id).next.get()?;
        Some((Self::new(self.document, id), Self::new(self.document, value)))
    }

    /// The item of a sequence.
    pub fn at(self, index: usize) -> Option<NodeRef<'a>> {
        let mut items = self.items();
        if index <= WIDE {
            return items.nth(index);
        }
        let last_near = items.nth(WIDE)?;
        let id = self.document.tree.tables.ask(
            self.target().id,
            |table| match table {
                Table::Items(items) => items.get(index).copied(),
                Table::Asked | Table::Keys(_) => None,
            },
            || std::iter::once(last_near).chain(items).nth(index - WIDE).map(|item| item.id),
            || Table::Items(self.items().map(|item| item.id).collect()),
        )?;
        Some(Self::new(self.document, id))
    }

    fn table_of_keys(self) -> Table {
        let mut keys = Keys::default();
        for (key, _) in self.entries().filter(|(key, _)| key.kind() == Kind::Scalar) {
            keys.add(&key.value(), key.id);
        }
        Table::Keys(keys)
    }
}
