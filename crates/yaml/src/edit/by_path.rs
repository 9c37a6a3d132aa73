//! Editing by path.

use std::sync::Arc;

use crate::content::{Content, CopyError};
use crate::document::Document;
use crate::edit::{CommentPlace, Error, NodeMut};
use crate::node::NodeRef;
use crate::path::{NotFound, Path, Segment, Why, index_of, step};
use crate::syntax::token::Span;
use crate::tree::{Kind, Style, Tree};

impl Document {
    /// Sets what a path leads to. Keys that are missing on the way are added, as mappings; `[+]` adds an item to a
    /// list. An item that a path names by index or by a key must be there.
    ///
    /// # Errors
    /// [`Error::NotFound`] says how far the path leads; [`Error::Copy`]. The document is as it was before.
    pub fn set(&mut self, path: &Path, value: impl Into<Content>) -> Result<(), Error> {
        let value = value.into();
        self.all_or_nothing(path, |document| document.set_content(path, value))
    }

    fn set_content(&mut self, path: &Path, value: Content) -> Result<(), Error> {
        let reached = reach(self.root(), path)?;
        let (there, missing) = path.segments().split_at(reached);
        let Some((first, rest)) = missing.split_first() else { return self.walk(there)?.set(value) };
        let content = wrap(rest, value)?;
        let mut node = self.walk(there)?;
        match first {
            Segment::Key(key) => node.insert(key, content),
            Segment::Append | Segment::Index(_) | Segment::Match { .. } => node.push(content),
        }
    }

    /// Removes the entry that a path leads to; tells whether there was one.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the path leads through something that is no collection.
    pub fn remove(&mut self, path: &Path) -> Result<bool, Error> {
        self.all_or_nothing(path, |document| document.remove_entry(path))
    }

    fn remove_entry(&mut self, path: &Path) -> Result<bool, Error> {
        let Some((last, above)) = path.segments().split_last() else {
            let was_there = !self.is_empty();
            self.root_mut().set(Content::null())?;
            return Ok(was_there);
        };
        match self.root().find(path) {
            Ok(_) => {}
            Err(NotFound { why: Why::NotMapping(_) | Why::NotList(_), .. })
                if self.root().find(&above.iter().cloned().collect()).is_err() =>
            {
                return Ok(false);
            }
            Err(error @ NotFound { why: Why::NotMapping(_) | Why::NotList(_), .. }) => {
                return Err(Error::NotFound(error.to_string()));
            }
            Err(_) => return Ok(false),
        }
        let mut node = self.walk(above)?;
        match last {
            Segment::Key(key) => node.remove(key),
            Segment::Index(_) | Segment::Match { .. } | Segment::Append => {
                match index_of(node.read(), last) {
                    Some(index) => node.remove_item(index),
                    None => Ok(false),
                }
            }
        }
    }

    /// Sets the comment on the line of what a path leads to; an empty text removes it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotAComment`].
    pub fn set_line_comment(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        self.all_or_nothing(path, |document| document.put_line_comment(path, text))
    }

    fn put_line_comment(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        let node = self.root().find(path).map_err(|error| Error::NotFound(error.to_string()))?;
        let on_key_line = node.style() == Style::Block && !node.is_empty();
        match path.segments().split_last() {
            Some((Segment::Key(key), above)) if on_key_line => {
                self.walk(above)?.set_key_comment(key, CommentPlace::Line, text)
            }
            _ => self.walk(path.segments())?.set_comment(CommentPlace::Line, text),
        }
    }

    /// Does an edit, and takes it back as a whole when it fails: aliases on the way may have been expanded by then.
    fn all_or_nothing<T>(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = self.may_expand(path).then(|| Arc::clone(&self.tree));
        let result = edit(self);
        if let (Err(_), Some(before)) = (&result, before) {
            self.tree = before;
        }
        result
    }

    /// Whether an edit at a path may expand aliases: one on the way, or those of what is there.
    fn may_expand(&self, path: &Path) -> bool {
        if !self.tree.has_aliases {
            return false;
        }
        let mut at = self.root();
        for segment in path.segments() {
            let merged = matches!(segment, Segment::Key(key) if at.own_entry(key).is_none());
            let Some(next) = step(at, segment) else { return at.kind() == Kind::Alias };
            if at.kind() == Kind::Alias || merged {
                return true;
            }
            at = next;
        }
        let key = at.key().map(|key| key.id);
        std::iter::once(at.id).chain(key).any(|id| self.tree.has_aliased(id))
    }

    /// Goes down a path that exists.
    fn walk(&mut self, segments: &[Segment]) -> Result<NodeMut<'_>, Error> {
        let mut node = self.root_mut();
        for segment in segments {
            node = match segment {
                Segment::Key(key) => node.get_mut(key)?,
                Segment::Index(_) | Segment::Match { .. } | Segment::Append => {
                    let Some(index) = index_of(node.read(), segment) else {
                        let len = node.read().len();
                        return Err(Error::OutOfRange { index: len, len });
                    };
                    node.at_mut(index)?
                }
            };
        }
        Ok(node)
    }
}

/// How many segments of a path exist, when the rest can be added.
fn reach(root: NodeRef<'_>, path: &Path) -> Result<usize, Error> {
    let mut at = root;
    let mut reached = 0;
    let mut missing = path.segments();
    while let Some((segment, rest)) = missing.split_first()
        && let Some(next) = step(at, segment)
    {
        (at, missing, reached) = (next, rest, reached + 1);
    }
    let Some((first, rest)) = missing.split_first() else { return Ok(reached) };
    let needed = match first {
        Segment::Key(_) => Some(Kind::Mapping),
        Segment::Append => Some(Kind::Sequence),
        Segment::Index(_) | Segment::Match { .. } => None,
    };
    let addable = needed.is_some_and(|needed| at.target().kind() == needed || at.is_null());
    let rest_addable = rest.iter().all(|segment| matches!(segment, Segment::Key(_) | Segment::Append));
    if addable && rest_addable {
        return Ok(reached);
    }
    root.find(path).map_or_else(|error| Err(Error::NotFound(error.to_string())), |_| Ok(reached))
}

/// Puts a value below keys and into lists that do not exist yet.
fn wrap(segments: &[Segment], value: Content) -> Result<Content, CopyError> {
    if segments.is_empty() {
        return Ok(value);
    }
    let mut tree = Tree::bare(Span::default());
    let mut at = value.graft(&mut tree)?;
    for segment in segments.iter().rev() {
        let outer = match segment {
            Segment::Key(key) => {
                let outer = tree.add(Kind::Mapping, Style::Block);
                let name = Content::string(key).graft(&mut tree)?;
                tree.append(outer, name);
                outer
            }
            Segment::Append | Segment::Index(_) | Segment::Match { .. } => {
                tree.add(Kind::Sequence, Style::Block)
            }
        };
        tree.append(outer, at);
        at = outer;
    }
    tree.root = at;
    Ok(Content::from(Document::of_tree(tree)))
}
