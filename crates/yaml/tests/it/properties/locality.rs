//! Which bytes a single edit may change.

use std::ops::Range;

use lanai_yaml::{CommentPlace, Document, Kind, NodeRef, Style};

use super::edits::{Edit, Op, find};
use super::model::{Step, Value};

/// A document that was not edited yet, and the text of the stream that it stands in.
pub struct Place<'a> {
    pub text: &'a str,
    pub document: &'a Document,
    /// The bytes of the document.
    pub range: Range<usize>,
}

/// An entry of a collection: a key and its value, or an item twice.
type Entry<'a> = (NodeRef<'a>, NodeRef<'a>);

impl<'a> Place<'a> {
    /// The bytes that the edit is about: from the end of what stands before the entry to the beginning of what stands
    /// behind it. `None` where nothing is changed.
    pub fn bounds(&self, op: &Op) -> Option<Range<usize>> {
        let path = &op.path;
        let node = find(self.document, path)?;
        if node.style() == Style::Flow && !self.text[range(node)].starts_with(['[', '{']) {
            // A pair without braces in a list gets them when it is no longer one pair.
            return Some(range(node));
        }
        let index = |key: &str| {
            node.entries()
                .position(|(name, _)| name.target().kind() == Kind::Scalar && name.target().value() == key)
        };
        match &op.edit {
            Edit::Insert(key, new) => match index(key) {
                Some(at) => Some(self.value(
                    &[path, &[Step::Key(key.clone())][..]].concat(),
                    node,
                    at,
                    &new.model.value,
                )),
                None => self.gap(path, node, node.len()),
            },
            Edit::InsertAt(at, ..) => self.gap(path, node, (*at).min(node.len())),
            Edit::Push(..) => self.gap(path, node, node.len()),
            Edit::InsertItem(at, ..) => self.gap(path, node, *at),
            Edit::Remove(key) => Some(self.entry(path, node, index(key)?)),
            Edit::KeyComment(key, place, _) => {
                let (name, _) = node.own_entry(key)?;
                Some(self.with(comment(name, *place), self.entry(path, node, index(key)?)))
            }
            Edit::RemoveItem(at) => (*at < node.len()).then(|| self.entry(path, node, *at)),
            Edit::Rename(key, _) => Some(range(entries(node)[index(key)?].0)),
            Edit::Reorder(_) if node.is_empty() => None,
            Edit::Reorder(_) => Some(self.before(path, node, 0)..self.behind(path, node, node.len() - 1)),
            Edit::Set(new) => {
                let Some((_, parent, at)) = self.parent(path) else { return Some(self.range.clone()) };
                Some(self.value(path, parent, at, &new.model.value))
            }
            Edit::SetStyle(_) => Some(self.own(path)),
            Edit::Comment(place, _) => Some(self.with(comment(node, *place), self.own(path))),
        }
    }

    /// The bytes of an entry with those of a comment that belongs to it but stands elsewhere, as one above an empty item does.
    fn with(&self, comment: Option<String>, entry: Range<usize>) -> Range<usize> {
        let Some(comment) = comment else { return entry };
        let first = comment.lines().next().unwrap_or("");
        let at = self.text[..entry.end].rfind(first).unwrap_or(entry.start);
        let from = self.text[..at].trim_end_matches([' ', '\t']).len();
        entry.start.min(from)..entry.end
    }

    /// A value that is set: its own bytes when both are on one line, else all up to what follows.
    fn value(&self, path: &[Step], parent: NodeRef<'a>, at: usize, new: &Value) -> Range<usize> {
        let (key, old) = entries(parent)[at];
        let text = &self.text[range(old)];
        let on_line = old.kind() == Kind::Scalar && !text.is_empty() && !text.contains(['\n', '\r']);
        let short =
            matches!(new, Value::Scalar { text, .. } if !text.contains(['\n', '\r', '\u{85}', '\u{2028}']));
        let before = &self.text[..range(old).start];
        let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let beside = match parent.target().kind() {
            Kind::Mapping => !self.text[range(key).end..range(old).start].contains(['\n', '\r']),
            // Behind the dash; in brackets a value stays on its line.
            _ => {
                parent.target().style() == Style::Flow || !before[line..].trim_matches([' ', '\t']).is_empty()
            }
        };
        if on_line && beside && short && old.tag().is_none() {
            return range(old);
        }
        let all = self.own(path);
        let from = if parent.target().kind() == Kind::Mapping { range(key).end } else { all.start };
        from..all.end
    }

    /// The bytes of an entry with what separates it from its neighbours.
    fn entry(&self, path: &[Step], node: NodeRef<'a>, at: usize) -> Range<usize> {
        self.before(path, node, at)..self.behind(path, node, at)
    }

    /// As [`Self::entry`], of the node that a path leads to.
    fn own(&self, path: &[Step]) -> Range<usize> {
        match self.parent(path) {
            Some((above, parent, at)) => self.entry(above, parent, at),
            None => self.range.clone(),
        }
    }

    /// The bytes between two entries, where another one is added.
    fn gap(&self, path: &[Step], node: NodeRef<'a>, at: usize) -> Option<Range<usize>> {
        if node.target().kind() == Kind::Scalar {
            return Some(self.own(path));
        }
        // Whose the comments between the two are is judged apart.
        let to = if at < node.len() { self.line(node, at) } else { self.end(path, node) };
        (at <= node.len()).then(|| self.before(path, node, at)..to)
    }

    fn parent<'p>(&self, path: &'p [Step]) -> Option<(&'p [Step], NodeRef<'a>, usize)> {
        let (last, above) = path.split_last()?;
        let parent = find(self.document, above)?;
        let at = match last {
            Step::Index(at) => *at,
            Step::Key(key) => {
                let found = parent.own_entry(key)?.0;
                entries(parent).iter().position(|(name, _)| name.source_range() == found.source_range())?
            }
        };
        Some((above, parent, at))
    }

    /// Where the content before an entry ends.
    fn before(&self, path: &[Step], node: NodeRef<'a>, at: usize) -> usize {
        if at > 0 {
            let (key, value) = entries(node)[at - 1];
            return self.unfinished(value).unwrap_or(deep_end(key).max(deep_end(value)));
        }
        if node.style() == Style::Flow && self.text[range(node)].starts_with(['[', '{']) {
            return range(node).start + 1;
        }
        match self.parent(path) {
            None => self.range.start,
            Some((_, parent, at)) if parent.target().kind() == Kind::Mapping => {
                deep_end(entries(parent)[at].0)
            }
            Some((above, parent, at)) => self.before(above, parent, at),
        }
    }

    /// Where a block scalar begins that ends with the text, without a line break: it needs another header before more text.
    fn unfinished(&self, node: NodeRef<'a>) -> Option<usize> {
        let mut last = node;
        while let Some((_, value)) = entries(last).last().filter(|_| last.kind() != Kind::Alias) {
            last = *value;
        }
        let block =
            matches!(last.style(), Style::Literal | Style::Folded) && range(last).end == self.text.len();
        (block && !self.text.ends_with(['\n', '\r'])).then(|| range(last).start)
    }

    /// Where what stands behind an entry begins.
    fn behind(&self, path: &[Step], node: NodeRef<'a>, at: usize) -> usize {
        if at + 1 < node.len() { self.lead(node, at + 1) } else { self.end(path, node) }
    }

    /// Where what stands behind a collection begins, or its closing bracket.
    fn end(&self, path: &[Step], node: NodeRef<'a>) -> usize {
        if node.style() == Style::Flow && self.text[range(node)].starts_with(['[', '{']) {
            return range(node).end - 1;
        }
        match self.parent(path) {
            None => self.range.end,
            Some((above, parent, at)) => self.behind(above, parent, at),
        }
    }

    /// The line of an entry's key or dash, or where that begins if it shares its line.
    fn line(&self, node: NodeRef<'a>, at: usize) -> usize {
        let (start, gap) = self.gap_above(node, at);
        let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
        gap.rfind('\n').map_or(start, |line| start - gap.len() + line + 1 + indent(&gap[line + 1..]))
    }

    /// Where an entry begins, and the text between it and the one before.
    fn gap_above(&self, node: NodeRef<'a>, at: usize) -> (usize, &'a str) {
        let all = entries(node);
        let start = range(all[at].0).start;
        let from =
            if at == 0 { start } else { deep_end(all[at - 1].0).max(deep_end(all[at - 1].1)).min(start) };
        (start, &self.text[from..start])
    }

    /// Where an entry begins that is not the first: its head comment, else the line or the place of its key or dash.
    fn lead(&self, node: NodeRef<'a>, at: usize) -> usize {
        let (start, gap) = self.gap_above(node, at);
        let from = start - gap.len();
        let mut lead = self.line(node, at);
        let mut first = Some(entries(node)[at].0);
        while let Some(node) = first {
            let head = node.head_comment().and_then(|head| head.lines().next().map(str::to_owned));
            // What stands on the line of the entry before is not above this one, whoever it is said to belong to.
            let below = gap.find('\n').unwrap_or(gap.len());
            if let Some(comment) = head.and_then(|head| gap[below..].find(&head)) {
                lead = lead.min(from + below + comment);
            }
            first = entries(node).first().map(|(key, _)| *key).filter(|_| node.kind() != Kind::Alias);
        }
        lead
    }

    /// Panics unless `output`, the document after the edit, differs in `bounds` only.
    pub fn check(&self, output: &str, bounds: &Range<usize>, told: &str) {
        let input = &self.text[self.range.clone()];
        let (before, behind) =
            (&self.text[self.range.start..bounds.start], &self.text[bounds.end..self.range.end]);
        // At the end of a text the line break before the entry separates it, too.
        let before = if behind.is_empty() { before.trim_end_matches(['\n', '\r']) } else { before };
        let kept = output.starts_with(before)
            && output.ends_with(behind)
            && output.len() >= before.len() + behind.len();
        let may = &self.text[bounds.clone()];
        assert!(
            kept,
            "more than {may:?} was changed\n--- edits\n{told}--- input\n{input}\n--- output\n{output}\n---\n{input:?}\n{output:?}"
        );
    }
}

fn comment(node: NodeRef<'_>, place: CommentPlace) -> Option<String> {
    match place {
        CommentPlace::Head => node.head_comment(),
        CommentPlace::Line => node.line_comment(),
        CommentPlace::Foot => node.foot_comment(),
    }
}

fn range(node: NodeRef<'_>) -> Range<usize> {
    node.source_range().expect("the document was not edited yet")
}

fn entries(node: NodeRef<'_>) -> Vec<Entry<'_>> {
    match node.kind() {
        Kind::Sequence => node.items().map(|item| (item, item)).collect(),
        _ => node.entries().collect(),
    }
}

/// Where a node and all below it ends.
fn deep_end(node: NodeRef<'_>) -> usize {
    let mut end = range(node).end;
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        end = end.max(range(node).end);
        if node.kind() != Kind::Alias {
            work.extend(entries(node).into_iter().flat_map(|(key, value)| [key, value]));
        }
    }
    end
}
