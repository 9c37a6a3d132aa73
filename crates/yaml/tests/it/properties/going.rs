//! Which comments go with what is removed or replaced, all of them: those that belong to it, but for the ones that its place
//! says are about more.

use lanai_yaml::{Kind, NodeRef, Style};

use super::comments::{below, comments_of};
use super::edits::Edit;

/// What goes, where it stands, and what it takes along.
struct Going<'a> {
    text: &'a str,
    /// Where the content begins and ends.
    start: usize,
    end: usize,
    /// A comment below that stands left of this column stays.
    column: usize,
    above: Above,
}

/// Which comments above go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// Those that no blank line sets apart.
    Near,
    /// None: above the root of a document they are about the whole.
    Never,
    /// Those inside of the collection, on lines between what introduces it and its first entry.
    Inside,
}

impl Edit {
    /// The comments, by lines, that are not to be there when this edit is done; `node` is as it was read from `text`.
    pub fn must_take(&self, node: NodeRef<'_>, text: &str) -> Vec<String> {
        if node.kind() == Kind::Alias {
            return Vec::new();
        }
        match self {
            Edit::Set(new) if !new.has_comments => replaced(node, text),
            Edit::Insert(key, new) if !new.has_comments && node.style() == Style::Block => {
                node.own_entry(key).map(|(_, value)| replaced(value, text)).unwrap_or_default()
            }
            Edit::Remove(key) if node.kind() == Kind::Mapping => {
                node.own_entry(key).map(|(key, value)| removed(node, key, value, text)).unwrap_or_default()
            }
            Edit::RemoveItem(index) if node.kind() == Kind::Sequence => {
                node.at(*index).map(|item| removed(node, item, item, text)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// The comments of a collection that is replaced.
fn replaced(node: NodeRef<'_>, text: &str) -> Vec<String> {
    let (Some(range), true) = (node.source_range(), node.style() == Style::Block) else { return Vec::new() };
    let own = column(text, range.start);
    let left = match node.parent() {
        // Below a root, in its column: about the whole, whomever readers give it to.
        None => own + 1,
        Some(parent) => {
            let key = parent.entries().find(|(_, value)| value.source_range() == node.source_range());
            let key = key.and_then(|(key, _)| key.source_range()).map(|key| column(text, key.start) + 1);
            key.or(dash(text, range.start)).unwrap_or(own).min(own)
        }
    };
    let above = if node.parent().is_none() { Above::Never } else { Above::Inside };
    let going = Going { text, start: range.start, end: deep_end(node), column: left, above };
    going.of(&below(node))
}

/// The comments of an entry of a block collection that is removed.
fn removed(collection: NodeRef<'_>, first: NodeRef<'_>, last: NodeRef<'_>, text: &str) -> Vec<String> {
    let (Some(start), Some(_)) = (first.source_range(), last.source_range()) else { return Vec::new() };
    if collection.style() != Style::Block || collection.kind() == Kind::Alias {
        return Vec::new();
    }
    let is_item = collection.kind() == Kind::Sequence;
    let column = column(text, start.start);
    let column = dash(text, start.start).filter(|_| is_item).map_or(column, |dash| dash - 1);
    let mut nodes = below(first);
    nodes.extend([first, last]);
    nodes.extend(below(last));
    let end = deep_end(first).max(deep_end(last));
    Going { text, start: start.start, end, column, above: Above::Near }.of(&nodes)
}

impl Going<'_> {
    /// The comments of these nodes that go.
    fn of(&self, nodes: &[NodeRef<'_>]) -> Vec<String> {
        let mut lines = Vec::new();
        for node in nodes {
            comments_of(*node, &mut lines);
        }
        lines.sort_unstable();
        lines.dedup();
        lines.retain(|line| self.takes(line));
        lines
    }

    fn takes(&self, comment: &str) -> bool {
        let places = self.text.match_indices(comment);
        let mut places = places.filter(|(at, _)| {
            let rest = &self.text[at + comment.len()..];
            rest.split(['\n', '\r']).next().is_some_and(|rest| rest.trim().is_empty())
        });
        // What stands twice cannot be told from what it may be mistaken for.
        let (Some((at, _)), None) = (places.next(), places.next()) else { return false };
        let line = self.text[..at].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let own_line = self.text[line..at].trim_matches([' ', '\t', '\u{feff}']).is_empty();
        if at >= self.end {
            let between = &self.text[self.end..at];
            let mut lines = between.split('\n').skip(1).map(str::trim_end);
            let shallow = |line: &str| {
                let text = line.trim_start_matches(' ');
                text.starts_with('#') && line.len() - text.len() < self.column
            };
            return own_line && at - line >= self.column && !lines.any(shallow);
        }
        if at >= self.start {
            return true;
        }
        let first = self.text[..self.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let mut lines = self.text[line..first.max(line)].lines().map(str::trim);
        let begins_line = self.text[first..self.start].trim_matches([' ', '\u{feff}']).is_empty();
        let near = match self.above {
            Above::Never => false,
            Above::Near => lines.all(|line| line.starts_with('#')),
            Above::Inside => begins_line && lines.all(|line| line.is_empty() || line.starts_with('#')),
        };
        own_line && near && (begins_line || self.above == Above::Near)
    }
}

/// Where a node and all below it ends.
fn deep_end(node: NodeRef<'_>) -> usize {
    let all = below(node).into_iter().chain([node]);
    all.filter_map(NodeRef::source_range).map(|range| range.end).max().unwrap_or(0)
}

fn column(text: &str, at: usize) -> usize {
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    text[line..at].trim_start_matches('\u{feff}').len()
}

/// The column behind the dash that stands before a place on its line.
fn dash(text: &str, at: usize) -> Option<usize> {
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    text[line..at].rfind('-').map(|dash| dash + 1)
}
