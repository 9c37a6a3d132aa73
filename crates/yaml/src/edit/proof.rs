//! Edits of delicate documents: each one is written, read again, and taken back if it did not arrive.

use std::collections::HashSet;
use std::sync::Arc;

use lanai_types::YamlLimits;

use super::{Error, NodeMut};
use crate::document::{Document, Proofs, Stream};
use crate::emit;
use crate::extent::Extents;
use crate::syntax;
use crate::syntax::token::{Cover, Span};
use crate::tree::{Entry, Kind, State, Tree};

/// What may happen to comments that belong to nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptComments {
    /// Those of what is removed or replaced go with it.
    MayGo,
    /// All stay.
    Stay,
}

/// What would be wrong with the text that an edit leads to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Harm {
    /// It cannot be read.
    #[error("what would be written is no YAML")]
    NotYaml,
    /// It means something else than it should.
    #[error("what would be written means something else")]
    OtherMeaning,
    /// A comment that the edit is not about would be lost.
    #[error("the comment \"{0}\" would be lost")]
    CommentLost(String),
    /// A comment would appear that was removed, or twice.
    #[error("the comment \"{0}\" would appear where it does not belong")]
    CommentAppears(String),
}

impl NodeMut<'_> {
    /// Does an edit. In a delicate document it is taken back as a whole when it fails, or when what would be written
    /// does not read as the document does now, with all comments that the edit is not about.
    pub(super) fn proved<T>(
        &mut self,
        comments: KeptComments,
        edit: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.document.tree.delicate || self.document.proofs == Proofs::Together {
            return edit(self);
        }
        let before = self.document.clone();
        let done = edit(self).and_then(|done| Ok(prove(&before, self.document, comments).map(|()| done)?));
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
        let outer = std::mem::replace(&mut self.proofs, Proofs::Together);
        let done = edits(self);
        let due = self.tree.delicate && outer == Proofs::Each;
        self.proofs = outer;
        let done = done.and_then(|done| {
            let proof = if due { prove(&before, self, KeptComments::MayGo) } else { Ok(()) };
            Ok(proof.map(|()| done).map_err(Error::from)?)
        });
        if done.is_err() {
            self.tree = before.tree;
        }
        done
    }
}

/// Fails unless a document reads the same when it is written, without harm to comments that the edit is not about.
fn prove(before: &Document, after: &Document, comments: KeptComments) -> Result<(), Harm> {
    if Arc::ptr_eq(&before.tree, &after.tree) || after.is_made() {
        return Ok(());
    }
    let text = after.to_string();
    let again = Stream::parse_within(text.as_str(), &UNLIMITED).map_err(|_| Harm::NotYaml)?;
    let same = match again.documents() {
        [] => after.is_empty(),
        [document] => after.root().means_the_same(document.root()),
        _ => false,
    };
    if same { keep_comments(before, after, &again, comments) } else { Err(Harm::OtherMeaning) }
}

/// What was read within the limits of a caller is not measured again.
const UNLIMITED: YamlLimits = YamlLimits {
    max_bytes: usize::MAX,
    max_depth: usize::MAX,
    max_nodes: usize::MAX,
    max_expanded_nodes: usize::MAX,
    max_documents: usize::MAX,
};

/// Fails unless all comments are there that stood before, but for those that belong to what was removed or replaced, and
/// none that nobody knows of.
fn keep_comments(
    before: &Document,
    after: &Document,
    written: &Stream,
    comments: KeptComments,
) -> Result<(), Harm> {
    let stood = Lines::of_text(&before.to_string());
    let (had, has) = (Lines::of_nodes(before), Lines::of_nodes(after));
    let stands = Lines::of_stream(written);
    let gone = match comments {
        KeptComments::MayGo => had.without(&has).with(Lines::of_replaced(before, after)),
        KeptComments::Stay => Lines(Vec::new()),
    };
    let left = stood.without(&gone);
    if let Some(lost) = left.without(&stands).0.into_iter().next() {
        return Err(Harm::CommentLost(lost));
    }
    // What belonged to something and no longer does is not to come back, unless it stands outside of what went.
    let stays = Lines::outside(before, after).without(&has).without(&Lines::of_set(before, after));
    let dropped = had.without(&has).without(&stays);
    let known = stood.without(&dropped).with(has.without(&had));
    match stands.without(&known).0.into_iter().next() {
        Some(appears) => Err(Harm::CommentAppears(appears)),
        None => Ok(()),
    }
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

    /// The comments that stand outside of what was removed or replaced: they stay, also those that belonged to something
    /// that went.
    fn outside(before: &Document, after: &Document) -> Self {
        let (source, tree) = (&before.source, &before.tree);
        let taken = Cover::new(tree.taken_in(&after.tree, source));
        let found = syntax::comments_within(source, tree.span, tree.span).into_iter();
        let left = found.filter(|comment| !taken.holds(*comment));
        Self::new(left.map(|comment| comment.of(source).to_owned()))
    }

    /// The comments that edits of comments replaced or removed, with the parts of them that stand elsewhere.
    fn of_set(before: &Document, after: &Document) -> Self {
        let gone: HashSet<u32> = after.tree.gone.iter().map(|span| span.start).collect();
        let comments = before.tree.comments.iter();
        let all = comments.flat_map(|comments| [&comments.head, &comments.line, &comments.foot]).flatten();
        let set = all.filter(|comment| gone.contains(&comment.span.start));
        Self::new(set.filter_map(|comment| emit::comment_text(&before.source, Some(comment))))
    }

    /// The comments that stand inside of what was removed, or of a collection that was replaced.
    fn of_replaced(before: &Document, after: &Document) -> Self {
        let (document, tree) = (before, &before.tree);
        let replaced = Cover::new(before.tree.replaced_in(&after.tree, &before.source));
        let found = syntax::comments_within(&document.source, tree.span, tree.span);
        Self::new(
            found
                .into_iter()
                .filter(|comment| replaced.holds(*comment))
                .map(|span| span.of(&document.source).to_owned()),
        )
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
}

impl Tree {
    /// The ranges of the source that go with what another tree, which was made from this one, does not have any more.
    fn taken_in(&self, after: &Tree, source: &str) -> Vec<Span> {
        let known: HashSet<&Entry> = self.cuts.values().flatten().collect();
        let extents = Extents::new(source, self);
        let cuts = after.cuts.values().flatten().filter(|cut| !known.contains(cut));
        let cuts = cuts.map(|cut| {
            let extent = extents.entry(cut.first, cut.last);
            Span { start: extent.lead, end: extent.removed_end }
        });
        let nodes = self.nodes.iter().zip(&after.nodes);
        let edited = nodes.filter(|(before, after)| {
            matches!(before.kind, Kind::Mapping | Kind::Sequence)
                && before.state < State::Edited
                && after.state == State::Edited
        });
        cuts.chain(edited.map(|(_, after)| after.span)).collect()
    }

    /// The places in the source of what another tree, which was made from this one, does not have any more.
    fn replaced_in(&self, after: &Tree, source: &str) -> Vec<Span> {
        let known: HashSet<&Entry> = self.cuts.values().flatten().collect();
        let cuts = after.cuts.values().flatten().filter(|cut| !known.contains(cut));
        // A comment on the line of what is left out belongs to whatever comes next, and goes all the same.
        let cuts = cuts.map(|cut| {
            let start = self.node(cut.first).mark.min(self.start(cut.first));
            let end = self.node(cut.last).span.end;
            let line = source[end as usize..].split(['\n', '\r']).next().unwrap_or("").len();
            Span { start, end: end + Span::new(line, 0).start }
        });
        let nodes = self.nodes.iter().zip(&after.nodes);
        let edited = nodes.filter(|(before, after)| {
            matches!(before.kind, Kind::Mapping | Kind::Sequence)
                && before.state < State::Edited
                && after.state == State::Edited
        });
        cuts.chain(edited.map(|(before, _)| before.span)).collect()
    }
}
