//! Whose comments are whose, as somebody sees who reads the text: what stands right above an entry is about it, what stands
//! right below one and above nothing is about that one. Adding something changes neither.

use lanai_yaml::{Document, Kind, NodeRef, Style};

use super::edits::{Edit, Op, find};
use super::model::Step;

/// A way from the root by positions: in a mapping the key of a pair is 2n, its value 2n + 1.
type Way = Vec<usize>;

/// A comment on a line of its own, and what stands beside it. What is apart, by a blank line, is not.
#[derive(Debug)]
struct Owned {
    text: String,
    column: usize,
    above: Option<Way>,
    below: Option<Way>,
    /// Where the text on the next line begins.
    text_below: usize,
}

impl Op {
    /// Panics unless the comments of a document that was not edited belong to the same entries when this edit is done, if it
    /// adds something; `after` was read from what was written.
    pub fn keeps_owners(&self, before: &Document, after: &Document, told: &str) {
        let Some((collection, index)) = self.place_of_new(before) else { return };
        let Some(node) = find(before, &self.path) else { return };
        let width = if node.kind() == Kind::Mapping { 2 } else { 1 };
        let text = before.to_string();
        let start = node.source_range().expect("the document was read").start;
        let line = text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let column = text[line..start].trim_start_matches('\u{feff}').len();
        let moved = |way: &Way| -> Way {
            let mut moved = way.clone();
            let position = moved.strip_prefix(&collection[..]).and_then(<[usize]>::first);
            if position.is_some_and(|position| *position >= index * width) {
                moved[collection.len()] += width;
            }
            moved
        };
        let is_new = |way: &Way| {
            let position = way.strip_prefix(&collection[..]).and_then(<[usize]>::first);
            position.is_some_and(|position| position / width == index)
        };
        let now = owned(after);
        for was in owned(before) {
            let Some(is) = now.iter().find(|comment| comment.text == was.text) else { continue };
            let context = || {
                format!(
                    "{was:?}\n{is:?}\n--- edits\n{told}--- input\n{before}\n--- output\n{after}\n---\n{:?}",
                    before.to_string()
                )
            };
            if let Some(below) = &was.below {
                // What comes to be the first behind a dash is below the comments above the dash.
                if index == 0 && below.starts_with(&collection) && start > was.text_below {
                    continue;
                }
                assert_eq!(
                    is.below.as_ref(),
                    Some(&moved(below)),
                    "something came below a comment\n{}",
                    context()
                );
            } else {
                let takes = is.below.as_ref().is_some_and(is_new) && is.column <= column;
                assert!(!takes, "what is new takes a comment\n{}", context());
            }
            // What stands further left is about more than the entry above it.
            if let (None, Some(above), true) = (&was.below, &was.above, was.column >= column) {
                assert_eq!(
                    is.above.as_ref(),
                    Some(&moved(above)),
                    "something came above a comment\n{}",
                    context()
                );
            }
        }
    }

    /// Where the entry that is added will stand: the way to its block collection, and its position there. Nothing where there
    /// are no neighbours.
    fn place_of_new(&self, before: &Document) -> Option<(Way, usize)> {
        let node = find(before, &self.path)?;
        if node.style() != Style::Block || node.is_empty() || node.kind() == Kind::Alias {
            return None;
        }
        let index = match &self.edit {
            Edit::Insert(key, _) if node.own_entry(key).is_some() => return None,
            Edit::Insert(..) | Edit::Push(_) => node.len(),
            Edit::InsertAt(index, ..) | Edit::InsertItem(index, _) => (*index).min(node.len()),
            Edit::Set(_)
            | Edit::Remove(_)
            | Edit::RemoveItem(_)
            | Edit::Rename(..)
            | Edit::Reorder(_)
            | Edit::SetStyle(_)
            | Edit::Comment(..)
            | Edit::KeyComment(..) => return None,
        };
        let mut way = Way::new();
        let mut node = before.root();
        for step in &self.path {
            let (position, child) = match step {
                Step::Index(index) => (*index, node.at(*index)?),
                Step::Key(key) => {
                    let (name, value) = node.own_entry(key)?;
                    let at = node.entries().position(|(key, _)| key.source_range() == name.source_range())?;
                    (2 * at + 1, value)
                }
            };
            way.push(position);
            node = child;
        }
        Some((way, index))
    }
}

/// A scalar, an alias or a flow collection: what stands on lines.
struct Leaf {
    way: Way,
    start: usize,
    end: usize,
    is_key: bool,
}

/// The comments on lines of their own between entries of block collections; only those whose text stands once.
fn owned(document: &Document) -> Vec<Owned> {
    let text = document.to_string();
    let leaves = leaves(document.root());
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line.trim_end_matches(['\n', '\r'])))
        })
        .collect();
    let is_comment = |line: &str| line.trim_start_matches([' ', '\u{feff}']).starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\u{feff}']).len();
    let inside = |at: usize| leaves.iter().any(|leaf| leaf.start < at && at < leaf.end);
    let mut found = Vec::new();
    for (number, (start, line)) in lines.iter().enumerate() {
        let comment = line.trim_start_matches([' ', '\u{feff}']).trim_end();
        let column = indent(line);
        if !is_comment(line) || inside(start + column) || text.matches(comment).count() != 1 {
            continue;
        }
        // Comments in several columns right below each other are about who knows what.
        let ragged = |(_, line): &(usize, &str)| is_comment(line).then(|| indent(line) != column);
        let mut run =
            lines[number..].iter().map_while(ragged).chain(lines[..number].iter().rev().map_while(ragged));
        if run.any(|ragged| ragged) {
            continue;
        }
        // The next line, and the one before, that is no comment; on a blank one, and on that of a marker, there is no entry.
        let is_text = |(_, line): &&(usize, &str)| {
            !line.trim().is_empty() && !["---", "...", "%"].iter().any(|mark| line.starts_with(mark))
        };
        let next = lines[number..].iter().find(|(_, line)| !is_comment(line)).filter(is_text);
        let last = lines[..number].iter().rfind(|(_, line)| !is_comment(line)).filter(is_text);
        let above = last.and_then(|(at, line)| {
            leaves
                .iter()
                .rfind(|leaf| leaf.start < leaf.end && leaf.start <= at + line.len() && leaf.end >= *at)
        });
        // What is deeper than the next line is about what stands above; where that is a key without its value, who knows.
        let is_deeper = |line: &str| column > indent(line);
        if next.is_some_and(|(_, line)| is_deeper(line)) && above.is_some_and(|leaf| leaf.is_key) {
            continue;
        }
        let next = next.filter(|(_, line)| !is_deeper(line));
        let below = next.and_then(|(at, _)| leaves.iter().find(|leaf| leaf.start >= *at));
        found.push(Owned {
            text: comment.to_owned(),
            column,
            above: above.map(|leaf| leaf.way.clone()),
            below: below.map(|leaf| leaf.way.clone()),
            text_below: next.map_or(0, |(at, line)| at + indent(line)),
        });
    }
    found
}

/// The leaves in the order of the text.
fn leaves(root: NodeRef<'_>) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut work = vec![(Way::new(), root, false)];
    while let Some((way, node, is_key)) = work.pop() {
        let below = |at: usize| [&way[..], &[at]].concat();
        if node.style() == Style::Block && node.kind() != Kind::Alias {
            let items = node.items().enumerate().map(|(at, item)| (below(at), item, false));
            let pairs = node.entries().enumerate();
            let pairs = pairs.flat_map(|(at, (key, value))| {
                [(below(2 * at), key, true), (below(2 * at + 1), value, false)]
            });
            let children: Vec<_> = items.chain(pairs).collect();
            work.extend(children.into_iter().rev());
            continue;
        }
        let range = node.source_range().expect("the document was read");
        found.push(Leaf { way, start: range.start, end: range.end, is_key });
    }
    found
}
