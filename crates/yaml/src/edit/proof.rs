//! Edits of delicate documents: each one is written, read again, and taken back if it did not arrive.

use std::sync::Arc;

use super::{Error, NodeMut};
use crate::document::{Document, Stream};
use crate::emit;
use crate::node::NodeRef;
use crate::syntax;
use crate::syntax::token::Span;
use crate::tree::{Kind, State, Tree};

/// What may happen to comments that belong to nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptComments {
    /// Those of what is removed or replaced go with it.
    MayGo,
    /// All stay.
    Stay,
}

impl NodeMut<'_> {
    /// Does an edit. In a delicate document it is taken back as a whole when it fails, or when what would be written
    /// does not read as the document does now, with all comments that the edit is not about.
    pub(super) fn proved<T>(
        &mut self,
        comments: KeptComments,
        edit: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.document.tree.delicate {
            return edit(self);
        }
        let before = self.document.clone();
        let done = edit(self).and_then(|done| prove(&before, self.document, comments).map(|()| done));
        if done.is_err() {
            self.document.tree = before.tree;
        }
        done
    }
}

impl Document {
    /// Does several edits as one: all of them, or none when one fails.
    ///
    /// In a document that is written in an unusual way each edit costs as much as writing and reading the document; here
    /// that is paid once.
    ///
    /// # Errors
    /// What `edits` fails with, and [`Error::Unwritable`].
    pub fn edit_together<T, E: From<Error>>(
        &mut self,
        edits: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.clone();
        let delicate = before.tree.delicate;
        if delicate {
            Arc::make_mut(&mut self.tree).delicate = false;
        }
        let done = edits(self);
        if delicate {
            Arc::make_mut(&mut self.tree).delicate = true;
        }
        let done = if delicate {
            done.and_then(|done| Ok(prove(&before, self, KeptComments::MayGo).map(|()| done)?))
        } else {
            done
        };
        if done.is_err() {
            *self = before;
        }
        done
    }
}

fn prove(before: &Document, after: &Document, comments: KeptComments) -> Result<(), Error> {
    if arrives(before, after, comments) { Ok(()) } else { Err(Error::Unwritable) }
}

/// Whether a document reads the same when it is written, and no comment went that the edit is not about.
fn arrives(before: &Document, after: &Document, comments: KeptComments) -> bool {
    if Arc::ptr_eq(&before.tree, &after.tree) || after.is_made() {
        return true;
    }
    let text = after.to_string();
    let Ok(again) = Stream::parse(text.as_str()) else { return false };
    let same = match again.documents() {
        [] => after.is_empty(),
        [document] => means_the_same(after.root(), document.root()),
        _ => false,
    };
    same && keeps_comments(before, after, &again, comments)
}

/// Whether two documents have the same nodes, whatever their spelling.
fn means_the_same(one: NodeRef<'_>, other: NodeRef<'_>) -> bool {
    let mut work = vec![(one, other)];
    while let Some((one, other)) = work.pop() {
        let alike = one.kind() == other.kind()
            && one.anchor() == other.anchor()
            && one.len() == other.len()
            && match one.kind() {
                Kind::Scalar if one.is_null() => other.is_null(),
                Kind::Scalar => one.resolved() == other.resolved() && one.value() == other.value(),
                Kind::Alias => one.value() == other.value(),
                Kind::Mapping | Kind::Sequence => one.full_tag() == other.full_tag(),
            };
        if !alike {
            return false;
        }
        if one.kind() != Kind::Alias {
            work.extend(one.items().zip(other.items()));
            work.extend(
                one.entries()
                    .zip(other.entries())
                    .flat_map(|(one, other)| [(one.0, other.0), (one.1, other.1)]),
            );
        }
    }
    true
}

/// Whether all comments are there that stood before, but for those that belong to what was removed or replaced, and none
/// that nobody knows of.
fn keeps_comments(before: &Document, after: &Document, written: &Stream, comments: KeptComments) -> bool {
    let stood = Lines::of_text(&before.to_string());
    let (had, has) = (Lines::of_nodes(before), Lines::of_nodes(after));
    let stands = Lines::of_stream(written);
    let gone = match comments {
        KeptComments::MayGo => had.without(&has).with(Lines::of_replaced(before, after)),
        KeptComments::Stay => Lines(Vec::new()),
    };
    stood.without(&gone).is_in(&stands) && stands.is_in(&stood.with(has))
}

/// Lines of comments, sorted.
struct Lines(Vec<String>);

impl Lines {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let mut lines: Vec<String> = texts
            .flat_map(|text| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>())
            .filter(|line| !line.is_empty())
            .collect();
        lines.sort_unstable();
        Self(lines)
    }

    fn of_stream(stream: &Stream) -> Self {
        Self::new(stream.comments().into_iter().map(str::to_owned))
    }

    /// The comments that stand in the text of a document.
    fn of_text(text: &str) -> Self {
        let all = Span::new(0, text.len());
        let found = syntax::comments_within(text, all, all);
        Self::new(found.into_iter().map(|span| span.of(text).to_owned()))
    }

    /// The comments that belong to a node of the document, or to the document.
    fn of_nodes(document: &Document) -> Self {
        let tree = &document.tree;
        let comments = tree.subtree(tree.root).into_iter().filter_map(|id| tree.comments(id));
        let all =
            comments.chain([&tree.own]).flat_map(|comments| [&comments.head, &comments.line, &comments.foot]);
        let all = all.chain([&tree.preface]);
        Self::new(all.filter_map(|comment| emit::comment_text(&document.source, comment.as_ref())))
    }

    /// The comments that stand inside of what was removed, or of a collection that was replaced.
    fn of_replaced(before: &Document, after: &Document) -> Self {
        let (document, tree) = (before, &before.tree);
        let spans = before.tree.replaced_in(&after.tree);
        let inside =
            |comment: &Span| spans.iter().any(|span| span.start <= comment.start && comment.end <= span.end);
        let found = syntax::comments_within(&document.source, tree.span, tree.span);
        Self::new(found.into_iter().filter(inside).map(|span| span.of(&document.source).to_owned()))
    }

    /// These lines, but for one of each that is in `others`.
    fn without(&self, others: &Self) -> Self {
        let mut others = others.0.iter().peekable();
        let kept = self.0.iter().filter(|line| {
            while others.next_if(|other| other < line).is_some() {}
            others.next_if(|other| other == line).is_none()
        });
        Self(kept.cloned().collect())
    }

    fn with(&self, others: Self) -> Self {
        let mut lines = self.0.clone();
        lines.extend(others.0);
        lines.sort_unstable();
        Self(lines)
    }

    fn is_in(&self, others: &Self) -> bool {
        self.without(others).0.is_empty()
    }
}

impl Tree {
    /// The places in the source of what another tree, which was made from this one, does not have any more.
    fn replaced_in(&self, after: &Tree) -> Vec<Span> {
        let cuts = after.cuts.iter().filter(|cut| !self.cuts.contains(cut));
        let cuts = cuts.map(|cut| Span { start: self.start(cut.first), end: self.node(cut.last).span.end });
        let nodes = self.nodes.iter().zip(&after.nodes);
        let edited = nodes.filter(|(before, after)| {
            matches!(before.kind, Kind::Mapping | Kind::Sequence)
                && before.state < State::Edited
                && after.state == State::Edited
        });
        cuts.chain(edited.map(|(before, _)| before.span)).collect()
    }
}
