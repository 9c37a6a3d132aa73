//! Changes to be made to a resource: found by reading, then made together.

mod items;

use lanai_krm::Resource;
use lanai_krm::result::ResultItem;
use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, NodeMut, Path, Style, edit};

use crate::report::{self, About, dotted};

/// What becomes of a field.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is this string. What is a string with that text already stays as it is.
    Text(String),
    /// It is this.
    Content(Content),
    /// This comment stands on its line; none for an empty text.
    LineComment(String),
    /// It is a list with the items of this one; items that are there already stay as they are.
    Items {
        /// A list, or nothing.
        items: Document,
        /// The comment that stands on its line, before and after.
        comment: String,
    },
    /// It is written on lines of its own, not in brackets.
    Block,
}

/// Changes to one resource, in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    changes: Vec<(Path, Change)>,
}

impl Plan {
    /// Adds a change.
    pub fn push(&mut self, path: Path, change: Change) {
        self.changes.push((path, change));
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Makes all changes, or none. Fields that are missing on the way are added.
    ///
    /// # Errors
    /// A result that names the resource and the field that cannot be changed, and says why.
    pub fn apply(self, resource: &mut Resource) -> Result<(), Box<ResultItem>> {
        if self.is_empty() {
            return Ok(());
        }
        let mut at = Path::root();
        let done = resource.edit(|document| {
            document.edit_together(|document| {
                self.changes.into_iter().try_for_each(|(path, change)| {
                    at.clone_from(&path);
                    make(document, &path, change)
                })
            })
        });
        done.map_err(|cause| {
            let path = dotted(&at);
            let message = format!("the field \"{path}\" cannot be changed: {cause}");
            Box::new(report::error(message).about(resource).at(&path).in_file_of(resource))
        })
    }
}

fn make(document: &mut Document, path: &Path, change: Change) -> Result<(), edit::Error> {
    match change {
        Change::Text(text) => {
            let is = document.root().find(path).ok().and_then(lanai_yaml::NodeRef::as_str);
            if is.is_some_and(|is| is == text) { Ok(()) } else { document.set(path, text) }
        }
        Change::Content(content) => document.set(path, content),
        Change::LineComment(text) => document.set_line_comment(path, &text),
        Change::Items { items, comment } => items::set(document, path, items.root(), &comment),
        Change::Block => walk(document, path)?.set_style(Style::Block),
    }
}

/// Goes down a path that exists, of keys and indexes.
fn walk<'a>(document: &'a mut Document, path: &Path) -> Result<NodeMut<'a>, edit::Error> {
    path.segments().iter().try_fold(document.root_mut(), |node, segment| match segment {
        Segment::Key(key) => node.get_mut(key),
        Segment::Index(index) => node.at_mut(usize::try_from(*index).unwrap_or(usize::MAX)),
        Segment::Match { .. } | Segment::Append => Err(edit::Error::NotFound(path.to_string())),
    })
}

/// The path of these keys.
pub fn keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Path {
    keys.into_iter().map(|key| Segment::Key(key.into())).collect()
}

/// The path with one more key.
pub fn below(path: &Path, key: &str) -> Path {
    let mut path = path.clone();
    path.push(Segment::Key(key.into()));
    path
}

/// The path with one more index.
pub fn item(path: &Path, index: usize) -> Path {
    let mut path = path.clone();
    path.push(Segment::Index(index.try_into().unwrap_or(isize::MAX)));
    path
}
