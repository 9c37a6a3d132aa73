//! Bringing what a function answered into the text that it was asked about.
//!
//! Functions in other processes write every resource anew: keys sorted, comments gone, quotes changed. What they *said* is the
//! difference in values, and the comments that they set; that difference is brought into the text as it was before.

use std::collections::{HashMap, HashSet};

use lanai_yaml::{CommentPlace, Content, Kind, NodeMut, NodeRef, Style, edit};

use crate::heal::{heal_one, items};
use crate::resource::{Resource, same};

/// How deep trees are compared; what is deeper is taken over as it is.
const MAX_DEPTH: usize = 200;
/// The key that merges another mapping in.
const MERGE_KEY: &str = "<<";

/// The text of `before`, with what `after` says: equal values keep their bytes, comments of `before` stay with what they are
/// about, comments that only `after` has are taken over, new keys stand last.
///
/// The answer always means the same as `after`. Its origin is that of `after`. Where the difference cannot be brought into the
/// text, it is the text of `after` with the comments of `before`, as far as they find their place.
pub fn adopt(before: &Resource, after: &Resource) -> Resource {
    let mut adopted = edited(before, after).unwrap_or_else(|| {
        let mut healed = after.clone();
        heal_one(before, &mut healed);
        healed
    });
    adopted.set_origin(after.origin().cloned());
    adopted
}

fn edited(before: &Resource, after: &Resource) -> Option<Resource> {
    let mut adopted = before.clone();
    if let Some(change) = change(before.root(), after.root(), 0, &around(before)) {
        adopted.edit(|document| document.edit_together(|document| change.apply(document.root_mut()))).ok()?;
    }
    adopted.means_the_same(after).then_some(adopted)
}

/// The lines of the comments above and below all content. On the way through a function they come to stand on whatever is first
/// and last then, and that is nothing that the function said.
fn around(resource: &Resource) -> Vec<String> {
    let document = resource.document();
    let first = resource.root().entries().next().and_then(|(key, _)| key.head_comment());
    let last = resource.root().entries().last().and_then(|(key, _)| key.foot_comment());
    let comments = [document.preface(), document.head_comment(), first, last, document.foot_comment()];
    let lines = comments.iter().flatten().flat_map(|comment| comment.lines());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// What has to be done to a node of the old text, so that it says what a node of the new one says.
enum Change<'a> {
    Set(NodeRef<'a>),
    Entries(Vec<EntryChange<'a>>),
    Items(ListChange<'a>),
}

enum EntryChange<'a> {
    Insert { key: String, value: NodeRef<'a> },
    Edit { key: String, value: Option<Change<'a>>, comments: Comments },
    Remove { key: String },
}

struct ListChange<'a> {
    /// The old items in their new order, those that go behind all others.
    order: Vec<usize>,
    /// How many of them stay.
    stay: usize,
    /// What stands in the list afterwards, one for each item.
    items: Vec<ItemChange<'a>>,
}

enum ItemChange<'a> {
    Insert(NodeRef<'a>),
    Edit { value: Option<Change<'a>>, comments: Comments },
}

/// Looks at every node once; `None` when nothing has to be done.
fn change<'a>(old: NodeRef<'_>, new: NodeRef<'a>, depth: usize, around: &[String]) -> Option<Change<'a>> {
    let plain = old.kind() != Kind::Alias && !old.is_empty() && !new.is_empty() && depth < MAX_DEPTH;
    match (old.kind(), new.target().kind()) {
        (Kind::Mapping, Kind::Mapping) if plain && is_simple(old) => {
            entries(old, new.target(), depth, around)
        }
        (Kind::Sequence, Kind::Sequence) if plain => items_of(old, new.target(), depth),
        _ if same(old, new) => None,
        _ => Some(Change::Set(new.target())),
    }
}

/// Whether a mapping has no merge keys and no key twice.
fn is_simple(mapping: NodeRef<'_>) -> bool {
    let mut seen = HashSet::new();
    mapping.entries().all(|(key, _)| {
        key.kind() == Kind::Scalar && key.value() != MERGE_KEY && seen.insert(key.value().into_owned())
    })
}

fn entries<'a>(old: NodeRef<'_>, new: NodeRef<'a>, depth: usize, around: &[String]) -> Option<Change<'a>> {
    let olds: HashMap<_, _> = old.entries().map(|(key, value)| (key.value(), (key, value))).collect();
    let mut gone: HashSet<&str> = olds.keys().map(|key| &**key).collect();
    let mut changes = Vec::new();
    for (key, value) in new.entries() {
        let name = key.target().value();
        let Some((old_key, old_value)) = olds.get(&*name) else {
            changes.push(EntryChange::Insert { key: name.into_owned(), value: value.target() });
            continue;
        };
        gone.remove(&*name);
        let comments = Comments::of_entry(*old_key, *old_value, key, value).without(around, *old_key);
        let value = change(*old_value, value, depth + 1, &[]);
        if value.is_some() || !comments.is_empty() {
            changes.push(EntryChange::Edit { key: name.into_owned(), value, comments });
        }
    }
    let gone = old.entries().map(|(key, _)| key.value()).filter(|key| gone.contains(&**key));
    changes.extend(gone.map(|key| EntryChange::Remove { key: key.into_owned() }));
    (!changes.is_empty()).then_some(Change::Entries(changes))
}

fn items_of<'a>(old: NodeRef<'_>, new: NodeRef<'a>, depth: usize) -> Option<Change<'a>> {
    let olds: Vec<_> = old.items().collect();
    let news: Vec<_> = new.items().collect();
    let pairs = pairs(&olds, &news);
    if pairs.is_empty() {
        return Some(Change::Set(new));
    }
    let stay = pairs.len();
    let mut has_partner = vec![false; olds.len()];
    for (old, _) in &pairs {
        has_partner[*old] = true;
    }
    let gone = (0..olds.len()).filter(|old| !has_partner[*old]);
    let order: Vec<usize> = pairs.iter().map(|(old, _)| *old).chain(gone).collect();
    let mut pairs = pairs.into_iter().peekable();
    let items = news.iter().enumerate().map(|(index, value)| match pairs.next_if(|(_, new)| *new == index) {
        Some((old, _)) => ItemChange::Edit {
            value: change(olds[old], *value, depth + 1, &[]),
            comments: Comments::of_item(olds[old], *value),
        },
        None => ItemChange::Insert(value.target()),
    });
    let items: Vec<_> = items.collect();
    let is_kept = stay == olds.len() && order.is_sorted() && items.iter().all(ItemChange::is_nothing);
    (!is_kept).then_some(Change::Items(ListChange { order, stay, items }))
}

impl Change<'_> {
    fn apply(&self, mut at: NodeMut<'_>) -> Result<(), edit::Error> {
        match self {
            Self::Set(value) => at.set(Content::from(*value)),
            Self::Entries(changes) => changes.iter().try_for_each(|change| change.apply(&mut at)),
            Self::Items(change) => change.apply(&mut at),
        }
    }
}

impl EntryChange<'_> {
    fn apply(&self, at: &mut NodeMut<'_>) -> Result<(), edit::Error> {
        match self {
            Self::Insert { key, value } => at.insert(key, Content::from(*value)),
            Self::Edit { key, value, comments } => {
                if let Some(value) = value {
                    value.apply(at.reborrow().get_mut(key)?)?;
                }
                comments.apply_to_entry(at, key)
            }
            Self::Remove { key } => at.remove(key).map(|_| ()),
        }
    }
}

impl ItemChange<'_> {
    fn is_nothing(&self) -> bool {
        match self {
            Self::Insert(_) => false,
            Self::Edit { value, comments } => value.is_none() && comments.is_empty(),
        }
    }
}

impl ListChange<'_> {
    fn apply(&self, at: &mut NodeMut<'_>) -> Result<(), edit::Error> {
        let (stay, gone) = self.order.split_at(self.stay);
        if stay.is_sorted() {
            for index in gone.iter().rev() {
                at.remove_item(*index)?;
            }
        } else {
            at.reorder(&self.order)?;
            for index in (stay.len()..self.order.len()).rev() {
                at.remove_item(index)?;
            }
        }
        for (index, item) in self.items.iter().enumerate() {
            match item {
                ItemChange::Insert(value) => at.insert_item(index, Content::from(*value))?,
                ItemChange::Edit { value, comments } => {
                    if let Some(value) = value {
                        value.apply(at.reborrow().at_mut(index)?)?;
                    }
                    comments.apply_to_item(at, index)?;
                }
            }
        }
        Ok(())
    }
}

/// Which items are the same, in the order of the new list: by name or by content; items of lists of equal length that have
/// neither pair by their place.
fn pairs(olds: &[NodeRef<'_>], news: &[NodeRef<'_>]) -> Vec<(usize, usize)> {
    if olds.len() == news.len() && olds.iter().zip(news).all(|(old, new)| same(*old, *new)) {
        return (0..olds.len()).map(|at| (at, at)).collect();
    }
    let mut found = items::pairs(olds, news);
    if olds.len() == news.len() {
        let taken_old: HashSet<usize> = found.iter().map(|(old, _)| *old).collect();
        let taken_new: HashSet<usize> = found.iter().map(|(_, new)| *new).collect();
        let free = |at: &usize| !taken_old.contains(at) && !taken_new.contains(at);
        found.extend((0..olds.len()).filter(free).map(|at| (at, at)));
        found.sort_unstable_by_key(|(_, new)| *new);
    }
    found
}

/// The comments that a function set on one entry: those that are there now, and were not, or said something else.
struct Comments {
    head: Option<String>,
    line: Option<String>,
    foot: Option<String>,
}

impl Comments {
    fn is_empty(&self) -> bool {
        self.head.is_none() && self.line.is_none() && self.foot.is_none()
    }

    /// Without these lines, which stand around the document; those that stood on the same key stay there.
    fn without(self, lines: &[String], old_key: NodeRef<'_>) -> Self {
        if lines.is_empty() {
            return self;
        }
        let is_around = |line: &&str| lines.iter().any(|other| other == line.trim());
        let rest = |new: Option<String>, old: Option<String>| {
            let new = new?;
            let added: Vec<&str> = new.lines().filter(|line| !is_around(line)).collect();
            let stays = old.as_deref().unwrap_or_default().lines().filter(is_around);
            (!added.is_empty()).then(|| stays.chain(added).collect::<Vec<_>>().join("\n"))
        };
        let head = rest(self.head, old_key.head_comment());
        Self { head, foot: rest(self.foot, old_key.foot_comment()), ..self }
    }

    fn of_entry(old_key: NodeRef<'_>, old: NodeRef<'_>, new_key: NodeRef<'_>, new: NodeRef<'_>) -> Self {
        let line = |key: NodeRef<'_>, value: NodeRef<'_>| value.line_comment().or_else(|| key.line_comment());
        Self {
            head: set(old_key.head_comment().as_deref(), new_key.head_comment()),
            line: set(line(old_key, old).as_deref(), line(new_key, new)),
            foot: set(old_key.foot_comment().as_deref(), new_key.foot_comment()),
        }
    }

    fn of_item(old: NodeRef<'_>, new: NodeRef<'_>) -> Self {
        Self {
            head: set(old.head_comment().as_deref(), new.head_comment()),
            line: set(old.line_comment().as_deref(), new.line_comment()),
            foot: set(old.foot_comment().as_deref(), new.foot_comment()),
        }
    }

    fn apply_to_entry(&self, at: &mut NodeMut<'_>, key: &str) -> Result<(), edit::Error> {
        for (place, comment) in [(CommentPlace::Head, &self.head), (CommentPlace::Foot, &self.foot)] {
            if let Some(comment) = comment {
                at.set_key_comment(key, place, comment)?;
            }
        }
        let Some(comment) = &self.line else { return Ok(()) };
        let value = at.read().own_entry(key).map(|(_, value)| value);
        if value.is_some_and(|value| value.style() == Style::Block && !value.is_empty()) {
            at.set_key_comment(key, CommentPlace::Line, comment)
        } else {
            at.reborrow().get_mut(key)?.set_comment(CommentPlace::Line, comment)
        }
    }

    fn apply_to_item(&self, at: &mut NodeMut<'_>, index: usize) -> Result<(), edit::Error> {
        let comments = [
            (CommentPlace::Head, &self.head),
            (CommentPlace::Line, &self.line),
            (CommentPlace::Foot, &self.foot),
        ];
        for (place, comment) in comments {
            if let Some(comment) = comment {
                at.reborrow().at_mut(index)?.set_comment(place, comment)?;
            }
        }
        Ok(())
    }
}

/// What a comment was set to. One that is gone was lost, not removed: most functions know no comments.
fn set(old: Option<&str>, new: Option<String>) -> Option<String> {
    new.filter(|new| old != Some(new))
}
