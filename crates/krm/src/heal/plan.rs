//! Which comments go where.

use std::collections::HashMap;

use lanai_yaml::{CommentPlace, Kind, NodeMut, NodeRef, Style, edit};

use super::{Lost, items, line_of};

/// How deep trees are compared.
const MAX_DEPTH: usize = 200;

/// The comments that a collection and what is in it get. What gets nothing is not in it.
#[derive(Debug, Default)]
pub struct Plan {
    entries: Vec<(String, Marks, Plan)>,
    items: Vec<(usize, Marks, Plan)>,
}

/// The comments that one entry gets.
#[derive(Debug, Default)]
struct Marks {
    head: Option<String>,
    line: Option<String>,
    foot: Option<String>,
}

impl Plan {
    /// Compares two nodes that are the same thing.
    pub fn of(old: NodeRef<'_>, new: NodeRef<'_>, lost: &mut Lost) -> Self {
        Self::below(old, new, lost, 0)
    }

    fn below(old: NodeRef<'_>, new: NodeRef<'_>, lost: &mut Lost, depth: usize) -> Self {
        let mut plan = Self::default();
        if depth > MAX_DEPTH || new.style() != Style::Block {
            return plan;
        }
        match (old.kind(), new.kind()) {
            (Kind::Mapping, Kind::Mapping) => plan.pair_entries(old, new, lost, depth),
            (Kind::Sequence, Kind::Sequence) => plan.pair_items(old, new, lost, depth),
            (Kind::Scalar | Kind::Mapping | Kind::Sequence | Kind::Alias, _) => {}
        }
        plan
    }

    fn pair_entries(&mut self, old: NodeRef<'_>, new: NodeRef<'_>, lost: &mut Lost, depth: usize) {
        let mut olds = HashMap::new();
        for (key, value) in old.entries().filter(|(key, _)| key.kind() == Kind::Scalar) {
            olds.entry(key.value()).or_insert((key, value));
        }
        for (key, value) in new.entries().filter(|(key, _)| key.kind() == Kind::Scalar) {
            // What is taken out meets no second entry with the same key.
            let Some((old_key, old_value)) = olds.remove(&key.value()) else { continue };
            let marks = Marks {
                head: missing(old_key.head_comment(), key.head_comment().as_ref(), lost),
                line: missing(line_of(old_key, old_value), line_of(key, value).as_ref(), lost),
                foot: missing(old_key.foot_comment(), key.foot_comment().as_ref(), lost),
            };
            let below = Self::below(old_value, value, lost, depth + 1);
            if !marks.is_empty() || !below.is_empty() {
                self.entries.push((key.value().into_owned(), marks, below));
            }
        }
    }

    fn pair_items(&mut self, old: NodeRef<'_>, new: NodeRef<'_>, lost: &mut Lost, depth: usize) {
        let olds: Vec<_> = old.items().collect();
        let news: Vec<_> = new.items().collect();
        for (old, index) in items::pairs(&olds, &news) {
            let (old, new) = (olds[old], news[index]);
            let marks = Marks {
                head: missing(old.head_comment(), new.head_comment().as_ref(), lost),
                line: missing(old.line_comment(), new.line_comment().as_ref(), lost),
                foot: missing(old.foot_comment(), new.foot_comment().as_ref(), lost),
            };
            let below = Self::below(old, new, lost, depth + 1);
            if !marks.is_empty() || !below.is_empty() {
                self.items.push((index, marks, below));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.items.is_empty()
    }

    /// Sets the comments.
    pub fn apply(&self, mut node: NodeMut<'_>) -> Result<(), edit::Error> {
        for (key, marks, below) in &self.entries {
            for (place, comment) in [(CommentPlace::Head, &marks.head), (CommentPlace::Foot, &marks.foot)] {
                if let Some(comment) = comment {
                    node.set_key_comment(key, place, comment)?;
                }
            }
            if let Some(comment) = &marks.line {
                let value = node.read().own_entry(key).map(|(_, value)| value);
                let in_block = value.is_some_and(|value| value.style() == Style::Block && !value.is_empty());
                if in_block {
                    node.set_key_comment(key, CommentPlace::Line, comment)?;
                } else {
                    node.reborrow().get_mut(key)?.set_comment(CommentPlace::Line, comment)?;
                }
            }
            if !below.is_empty() {
                below.apply(node.reborrow().get_mut(key)?)?;
            }
        }
        for (index, marks, below) in &self.items {
            let mut item = node.reborrow().at_mut(*index)?;
            let comments = [
                (CommentPlace::Head, &marks.head),
                (CommentPlace::Line, &marks.line),
                (CommentPlace::Foot, &marks.foot),
            ];
            for (place, comment) in comments {
                if let Some(comment) = comment {
                    item.set_comment(place, comment)?;
                }
            }
            below.apply(item)?;
        }
        Ok(())
    }
}

impl Marks {
    fn is_empty(&self) -> bool {
        self.head.is_none() && self.line.is_none() && self.foot.is_none()
    }
}

/// The old comment, when there is no new one and it is not elsewhere.
fn missing(old: Option<String>, new: Option<&String>, lost: &mut Lost) -> Option<String> {
    old.filter(|comment| new.is_none() && lost.take(comment))
}
