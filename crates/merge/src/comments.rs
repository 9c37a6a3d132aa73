//! Comments, each merged by itself beside the value that it stands at.

use lanai_krm::merge_mark::is_mark;
use lanai_yaml::path::Segment;
use lanai_yaml::{CommentPlace, Kind, NodeMut, NodeRef, edit};

use crate::compare::same_comments_inside;
use crate::conflict::ConflictKind;
use crate::document::head_of_first_key;
use crate::error::Error;
use crate::fields::{Fields, Pair, trail_of};
use crate::judge::{Case, Rule, Values};
use crate::names::{Aspect, aspect};
use crate::options::Take;

/// The comments above, on the line of, and below a node.
pub(crate) type Comments = [Option<String>; 3];

pub(crate) const PLACES: [CommentPlace; 3] = [CommentPlace::Head, CommentPlace::Line, CommentPlace::Foot];

const ASPECTS: [Aspect; 3] = [Aspect::HeadComment, Aspect::LineComment, Aspect::FootComment];

/// The comments of a node on each side.
#[derive(Default)]
pub(crate) struct Noted {
    pub original: Comments,
    pub upstream: Comments,
    pub local: Comments,
}

impl Noted {
    /// The comments in one of the [`PLACES`].
    fn values(&self, at: usize) -> Values {
        let Self { original, upstream, local } = self;
        Values { original: original[at].clone(), upstream: upstream[at].clone(), local: local[at].clone() }
    }
}

/// The comments of an entry of a mapping.
pub(crate) fn of_entry(pair: Option<Pair<'_>>) -> Comments {
    let Some((key, value)) = pair else { return Comments::default() };
    let head = key.head_comment();
    // The head of the document is not that of its first key.
    let own = |comment: &String| {
        let root = key.parent().filter(|parent| comment.ends_with('\n') && parent.parent().is_none());
        root.and_then(head_of_first_key).as_ref() != Some(comment)
    };
    [head.filter(own), value.line_comment().or_else(|| key.line_comment()), key.foot_comment()]
}

/// The comments of an item of a list.
pub(crate) fn of_item(item: NodeRef<'_>) -> Comments {
    [item.head_comment(), item.line_comment(), item.foot_comment()]
}

/// Whether comments differ, the mark of a merge aside.
pub(crate) fn differ(left: &Comments, right: &Comments) -> bool {
    let unmarked = |comment: &Option<String>| comment.clone().filter(|text| !is_mark(text));
    left.iter().zip(right).any(|(left, right)| unmarked(left) != unmarked(right))
}

/// A text with the comments around it.
pub(crate) fn around(text: &str, [head, line, foot]: &Comments) -> String {
    let is_line = !text.contains('\n');
    let on_line = line.as_deref().filter(|_| is_line).map(|line| format!("{text} {line}"));
    let above = line.as_deref().filter(|_| !is_line);
    let parts = [head.as_deref(), above, Some(on_line.as_deref().unwrap_or(text)), foot.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// What becomes of one comment.
pub(crate) enum Settled {
    As(Option<String>),
    /// Both sides changed it, not alike.
    Conflict,
}

/// Merges one comment. A mark that local has is local's.
pub(crate) fn settle(original: Option<&str>, upstream: Option<&str>, local: Option<&str>) -> Settled {
    if upstream == original || upstream == local || local.is_some_and(is_mark) {
        return Settled::As(local.map(Into::into));
    }
    if original == local { Settled::As(upstream.map(Into::into)) } else { Settled::Conflict }
}

/// The comment that a decision gives.
pub(crate) fn taken(take: Take, values: Values) -> Option<String> {
    match take {
        Take::Upstream => values.upstream,
        Take::Local => values.local,
        Take::Original => values.original,
        Take::Value(text) => Some(as_comment(&text)).filter(|text| !text.is_empty()),
    }
}

/// The text with a `#` before each line.
pub(crate) fn as_comment(text: &str) -> String {
    let line = |line: &str| if line.starts_with('#') { line.to_owned() } else { format!("# {line}") };
    text.lines().map(str::trim).filter(|text| !text.is_empty()).map(line).collect::<Vec<_>>().join("\n")
}

impl Fields<'_, '_> {
    /// The comments that the node which is merged now should have: of those that only one side changed, the changed
    /// one. Records a conflict for each that both changed.
    pub fn wanted_comments(&mut self, noted: &Noted) -> Comments {
        let mut wanted = Comments::default();
        for (at, place) in ASPECTS.into_iter().enumerate() {
            let values = noted.values(at);
            let pinned = self.judge.has_pins().then(|| aspect(&self.id(), place));
            let pinned = pinned.and_then(|id| self.judge.pinned(&id));
            let Values { original, upstream, local } = &values;
            wanted[at] = match (settle(original.as_deref(), upstream.as_deref(), local.as_deref()), pinned) {
                (Settled::As(comment), None) => comment,
                // Where the natural one could not stand, this was a conflict: it is told how it was decided.
                (Settled::As(comment), Some(take)) if taken(take.clone(), values.clone()) == comment => {
                    comment
                }
                (Settled::Conflict, _) | (Settled::As(_), Some(_)) => {
                    let id = aspect(&self.id(), place);
                    let case = self.case_of(id, ConflictKind::CommentsDiffer, values.clone());
                    taken(self.judge.decide(case, Rule::Policy), values)
                }
            };
        }
        wanted
    }

    /// Gives an entry its comments. Where none can stand, it goes without, and a conflict about it says so.
    pub fn set_entry_comments(
        &mut self,
        parent: &mut NodeMut<'_>,
        key: &str,
        wanted: &Comments,
        noted: &Noted,
    ) -> Result<(), Error> {
        let mut has = of_entry(parent.read().own_entry(key));
        for (at, place) in PLACES.into_iter().enumerate() {
            if has[at] == wanted[at] {
                continue;
            }
            let set = parent.set_key_comment(key, place, wanted[at].as_deref().unwrap_or_default());
            self.did(placed(set))?;
            has = of_entry(parent.read().own_entry(key));
        }
        self.note_kept(&has, wanted, noted)
    }

    /// Gives an item its comments. Where none can stand, it goes without, and a conflict about it says so.
    pub fn set_item_comments(
        &mut self,
        item: &mut NodeMut<'_>,
        wanted: &Comments,
        noted: &Noted,
    ) -> Result<(), Error> {
        for (at, place) in PLACES.into_iter().enumerate() {
            if of_item(item.read())[at] == wanted[at] {
                continue;
            }
            let set = item.set_comment(place, wanted[at].as_deref().unwrap_or_default());
            self.did(placed(set))?;
        }
        self.note_kept(&of_item(item.read()), wanted, noted)
    }

    /// Says in conflicts about comments that could not be placed which ones were kept.
    fn note_kept(&mut self, has: &Comments, wanted: &Comments, noted: &Noted) -> Result<(), Error> {
        for (at, place) in ASPECTS.into_iter().enumerate().filter(|(at, _)| has[*at] != wanted[*at]) {
            let id = aspect(&self.id(), place);
            if !self.judge.kept(&id, has[at].as_deref())? {
                let case = self.case_of(id.clone(), ConflictKind::CommentsDiffer, noted.values(at));
                self.judge.left_out(case)?;
                self.judge.kept(&id, has[at].as_deref())?;
            }
        }
        Ok(())
    }

    /// Records a conflict for each comment inside of a value of upstream's that was taken, and could not stand where it is now.
    pub fn note_lost_inside(&mut self, upstream: NodeRef<'_>, now: NodeRef<'_>) -> Result<(), Error> {
        if upstream.kind() == Kind::Scalar || same_comments_inside(upstream, now) {
            return Ok(());
        }
        for (at, (theirs, item)) in upstream.items().zip(now.items()).enumerate() {
            self.segments.push(Segment::Index(isize::try_from(at).unwrap_or(isize::MAX)));
            self.trail.push(format!("[{at}]"));
            self.note_lost(&of_item(theirs), &of_item(item))?;
            self.note_lost_inside(theirs, item)?;
            self.trail.pop();
            self.segments.pop();
        }
        for (name, theirs) in upstream.entries() {
            let key = name.target().value();
            let Some(pair) = now.own_entry(&key) else { continue };
            self.segments.push(Segment::Key(key.as_ref().into()));
            self.trail.push(trail_of(&key));
            self.note_lost(&of_entry(Some((name, theirs))), &of_entry(Some(pair)))?;
            self.note_lost_inside(theirs, pair.1)?;
            self.trail.pop();
            self.segments.pop();
        }
        Ok(())
    }

    /// As [`Self::note_lost_inside`], for the comments around one node.
    pub fn note_lost(&mut self, theirs: &Comments, now: &Comments) -> Result<(), Error> {
        for (at, place) in ASPECTS.into_iter().enumerate() {
            if theirs[at].is_some() && now[at].is_none() {
                let values = Values { original: None, upstream: theirs[at].clone(), local: None };
                let case = self.case_of(aspect(&self.id(), place), ConflictKind::CommentsDiffer, values);
                self.judge.left_out(case)?;
            }
        }
        Ok(())
    }

    pub(crate) fn case_of(&self, id: String, kind: ConflictKind, values: Values) -> Case {
        Case {
            id,
            path: self.scope.path.clone(),
            subject: self.scope.subject.clone(),
            field: self.segments.iter().cloned().collect(),
            kind,
            values,
        }
    }
}

fn placed(set: Result<(), edit::Error>) -> Result<(), edit::Error> {
    match set {
        Ok(()) | Err(edit::Error::NoPlaceForComment(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
