//! The pairs of a mapping as a value sees them: no key twice, merge keys merged.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::MAX_DEPTH;
use super::error::{Error, position};
use super::reader::follow;
use crate::node::NodeRef;
use crate::tree::{Kind, NodeId};

/// A key and its value.
pub(super) type Pair<'de> = (NodeRef<'de>, NodeRef<'de>);

/// The pairs of a mapping: its own in order, then what its merge keys add, the strongest first.
///
/// Fails where a key stands twice in one mapping, and where a merge key has anything but mappings.
pub(super) fn pairs(mapping: NodeRef<'_>) -> Result<Vec<Pair<'_>>, Error> {
    let mut merged = Merged { seen: HashMap::new(), visited: HashSet::new(), pairs: Vec::new() };
    merged.add(mapping, 0)?;
    Ok(merged.pairs)
}

struct Merged<'de> {
    /// The keys that are there, each with the mapping that it comes from.
    seen: HashMap<Cow<'de, str>, (NodeId, NodeRef<'de>)>,
    /// The mappings that were added already; a second time they have nothing to add.
    visited: HashSet<NodeId>,
    pairs: Vec<Pair<'de>>,
}

impl<'de> Merged<'de> {
    /// Adds the pairs of a mapping that are not there yet, and then those of its merge key.
    fn add(&mut self, mapping: NodeRef<'de>, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::at(
                mapping,
                format!("merge keys lead to each other more than {MAX_DEPTH} times"),
            ));
        }
        if !self.visited.insert(mapping.id) {
            return Ok(());
        }
        let mut merge: Option<Pair<'de>> = None;
        for (key, value) in mapping.entries() {
            if key.is_merge() {
                match merge {
                    Some((first, _)) => return Err(twice(first, key)),
                    None => merge = Some((key, value)),
                }
                continue;
            }
            let name = key.target();
            // Keys that are collections are never compared.
            if name.kind() == Kind::Scalar {
                match self.seen.entry(name.value()) {
                    Entry::Vacant(free) => {
                        free.insert((mapping.id, key));
                    }
                    Entry::Occupied(taken) if taken.get().0 == mapping.id => {
                        return Err(twice(taken.get().1, key));
                    }
                    Entry::Occupied(_) => continue,
                }
            }
            self.pairs.push((key, value));
        }
        merge.map_or(Ok(()), |(_, value)| self.add_sources(value, depth + 1))
    }

    /// Adds what the value of a merge key names: a mapping, or a list of them.
    fn add_sources(&mut self, value: NodeRef<'de>, depth: usize) -> Result<(), Error> {
        let sources = follow(value)?;
        match sources.kind() {
            Kind::Mapping => self.add(sources, depth),
            Kind::Sequence => sources.items().try_for_each(|item| {
                let source = follow(item)?;
                match source.kind() {
                    Kind::Mapping => self.add(source, depth),
                    Kind::Sequence | Kind::Scalar | Kind::Alias => Err(no_source(source)),
                }
            }),
            Kind::Scalar | Kind::Alias => Err(no_source(sources)),
        }
    }
}

fn twice(first: NodeRef<'_>, again: NodeRef<'_>) -> Error {
    let name = again.target().value();
    let first = position(first).map_or_else(String::new, |first| format!(", first it stands at {first}"));
    Error::at(again, format!("the key {name:?} stands here again{first}"))
}

fn no_source(node: NodeRef<'_>) -> Error {
    Error::at(node, "a merge key takes a mapping or a list of mappings")
}
