//! What edits do to comments.

use lanai_yaml::{CommentPlace, Kind, NodeRef, Style};

use super::edits::Edit;

/// A comment that is set: the lines of the one before it, and its own.
#[derive(Debug, Default)]
pub struct SetComment {
    pub old: Vec<String>,
    pub new: Vec<String>,
}

impl Edit {
    /// The comments that may go with this edit, by lines; `node` is as it is before, `text` the stream that it was read from.
    pub fn loses(&self, node: NodeRef<'_>, text: &str) -> Vec<String> {
        let mut lost = Vec::new();
        match self {
            Edit::Set(..) => comments_inside(node, text, &mut lost),
            Edit::Insert(key, ..) => {
                node.own_entry(key)
                    .into_iter()
                    .for_each(|(_, value)| comments_inside(value, text, &mut lost));
            }
            Edit::Remove(key) => {
                let is_it =
                    |name: NodeRef<'_>| name.target().kind() == Kind::Scalar && name.target().value() == *key;
                let at = node.entries().position(|(name, _)| is_it(name));
                comments_around(node, at, text, &mut lost);
            }
            Edit::RemoveItem(index) => comments_around(node, Some(*index), text, &mut lost),
            Edit::Comment(..) => comments_on_line(node, text, &mut lost),
            Edit::KeyComment(key, ..) => {
                // The comment on the line of a pair is that of the value, where the value is on that line.
                node.own_entry(key)
                    .into_iter()
                    .flat_map(|(key, value)| [key, value])
                    .for_each(|node| comments_of(node, &mut lost));
            }
            Edit::InsertAt(..)
            | Edit::Push(..)
            | Edit::InsertItem(..)
            | Edit::Rename(..)
            | Edit::Reorder(_)
            | Edit::SetStyle(_) => {}
        }
        lost
    }

    /// The comment that the edit sets, if it sets one; `node` is as it is before, `text` the stream that it was read from.
    pub fn sets_comment(&self, node: NodeRef<'_>, text: &str) -> Option<SetComment> {
        let source = text;
        let (node, value, place, text) = match self {
            Edit::Comment(place, text) => (node, None, *place, *text),
            Edit::KeyComment(key, place, text) => {
                let (key, value) = node.own_entry(key)?;
                (key, Some(value), *place, *text)
            }
            Edit::Set(..)
            | Edit::Insert(..)
            | Edit::InsertAt(..)
            | Edit::Push(..)
            | Edit::InsertItem(..)
            | Edit::Remove(_)
            | Edit::RemoveItem(_)
            | Edit::Rename(..)
            | Edit::Reorder(_)
            | Edit::SetStyle(_) => return None,
        };
        let of_value = value.and_then(NodeRef::line_comment);
        let old = match place {
            CommentPlace::Head => node.head_comment(),
            // A pair has one, unless the two stand on lines of their own.
            CommentPlace::Line if of_value.is_some() => of_value,
            CommentPlace::Line => node.line_comment().filter(|_| value.is_none()),
            CommentPlace::Foot => node.foot_comment(),
        };
        let lines = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.is_empty()).map(|line| line.trim_end().to_owned()).collect()
        };
        // What stands beside an anchor or a dash further up is about that, whoever readers give it to.
        let start = value.unwrap_or(node).source_range().map_or(0, |range| range.start.min(source.len()));
        let line = source[..start].rfind(['\n', '\r']).unwrap_or(0);
        let is_beside =
            |comment: &String| place != CommentPlace::Line || !source[..line].contains(comment.as_str());
        // There is one line only beside something.
        let text = if place == CommentPlace::Line { text.replace('\n', " ") } else { text.to_owned() };
        let mut old = lines(&old.unwrap_or_default());
        old.retain(is_beside);
        Some(SetComment { old, new: lines(&text) })
    }

    /// Whether the edit brings comments with it.
    pub fn brings_comments(&self) -> bool {
        match self {
            Edit::Set(new)
            | Edit::Insert(_, new)
            | Edit::InsertAt(_, _, new)
            | Edit::Push(new)
            | Edit::InsertItem(_, new) => new.has_comments,
            Edit::Comment(..) | Edit::KeyComment(..) => true,
            Edit::Remove(_)
            | Edit::RemoveItem(_)
            | Edit::Rename(..)
            | Edit::Reorder(_)
            | Edit::SetStyle(_) => false,
        }
    }
}

pub fn below(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut found: Vec<NodeRef<'_>> = Vec::new();
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if node.kind() != Kind::Alias {
            let children: Vec<_> =
                node.items().chain(node.entries().flat_map(|(key, value)| [key, value])).collect();
            work.extend(&children);
            found.extend(children);
        }
    }
    found
}

/// The comments of a node and on its line, and on that of its key.
fn comments_on_line(node: NodeRef<'_>, text: &str, out: &mut Vec<String>) {
    let own = |value: &(NodeRef<'_>, NodeRef<'_>)| value.1.source_range() == node.source_range();
    let key = node.parent().and_then(|parent| parent.entries().find(own)).map(|(key, _)| key);
    for node in [Some(node), key].into_iter().flatten() {
        comments_of(node, out);
        let end = node.source_range().map_or(text.len(), |range| range.end);
        out.extend(text[end..].lines().next().into_iter().flat_map(hashes));
    }
}

/// The comments below a node and between its brackets.
fn comments_inside(node: NodeRef<'_>, text: &str, out: &mut Vec<String>) {
    for below in below(node) {
        comments_of(below, out);
    }
    let lines = |range: std::ops::Range<usize>| {
        // What stands between a key and a collection below it is in the collection.
        let mut start = range.start;
        while let Some(above) = text[..start].trim_end_matches(' ').strip_suffix('\n') {
            let line = above.rfind('\n').map_or(0, |at| at + 1);
            let is_inside = node.parent().is_some()
                && matches!(above[line..].trim_start().chars().next(), None | Some('#'));
            if !is_inside || line == 0 {
                break;
            }
            start = line;
        }
        let mut end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
        // Comments below that are deeper than the line that it begins on are of something in it.
        let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        while let Some(next) = text[end..].strip_prefix('\n') {
            let line = next.lines().next().unwrap_or("");
            if blanks(line) <= blanks(&text[first..]) || !line.trim_start().starts_with('#') {
                break;
            }
            end += 1 + line.len();
        }
        start..end
    };
    let inside = node.source_range().filter(|_| node.kind() != Kind::Scalar);
    out.extend(inside.map(lines).into_iter().flat_map(|range| hashes(&text[range])));
}

/// The comments of an entry, and in flow collections those between it and its neighbours.
fn comments_around(node: NodeRef<'_>, index: Option<usize>, text: &str, out: &mut Vec<String>) {
    let entries: Vec<(NodeRef<'_>, NodeRef<'_>)> = match node.kind() {
        Kind::Sequence => node.items().map(|item| (item, item)).collect(),
        _ => node.entries().collect(),
    };
    let Some((key, value)) = index.and_then(|at| entries.get(at)) else { return };
    for node in [*key, *value] {
        comments_of(node, out);
        comments_inside(node, text, out);
    }
    if let (Some(key), Some(value)) = (key.source_range(), value.source_range()) {
        let end = value.end + text[value.end..].find('\n').unwrap_or(text.len() - value.end);
        out.extend(hashes(&text[key.start..end.max(key.start)]));
    }
    let at = index.unwrap_or(0);
    let from = at.checked_sub(1).and_then(|at| entries[at].1.source_range()).map(|range| range.end);
    let to = entries.get(at + 1).and_then(|(key, _)| key.source_range()).map(|range| range.start);
    let all = node.source_range().unwrap_or_default();
    let (from, to) = (from.unwrap_or(all.start), to.unwrap_or(all.end));
    if from > to {
        return;
    }
    // Between an anchor or a tag and what it is of, a comment is of neither.
    let gap = &text[from..to];
    let from = if node.style() == Style::Flow { Some(0) } else { gap.find(['&', '!']) };
    out.extend(from.into_iter().flat_map(|from| hashes(&gap[from..])));
}

/// Everything that could be a comment.
fn hashes(text: &str) -> Vec<String> {
    let found = text
        .split(['\n', '\r'])
        .flat_map(|line| line.match_indices('#').map(|(at, _)| line[at..].trim_end().to_owned()));
    found.collect()
}

pub fn comments_of(node: NodeRef<'_>, out: &mut Vec<String>) {
    let texts = [node.head_comment(), node.line_comment(), node.foot_comment()];
    let lines = texts.iter().flatten().flat_map(|text| text.lines());
    out.extend(lines.filter(|line| !line.is_empty()).map(|line| line.trim_end().to_owned()));
}
