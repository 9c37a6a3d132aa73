//! One resource, merged.

use std::collections::{BTreeMap, BTreeSet};

use lanai_krm::kptfile;
use lanai_krm::package::Folder;
use lanai_types::SafePath;
use lanai_yaml::{Content, Document, Kind, Path};

use crate::comments;
use crate::compare::same;
use crate::conflict::{ConflictId, ConflictKind};
use crate::document::{self, OwnComments, is_untouched, subject};
use crate::error::Error;
use crate::fields::{Fields, Own, Scope};
use crate::judge::{Case, Judge, Rule, Values};
use crate::keys::Schemas;
use crate::matching::{Match, Place, Sheets};
use crate::names::{self, Aspect};
use crate::options::Take;
use crate::remarks;
use crate::sheets::{Changes, Leaf, LeafRef, identity};

/// What becomes of the documents of each file.
pub(crate) type FileChanges = BTreeMap<SafePath, Changes>;

/// All files of a merge, and where the packages begin that they belong to.
#[derive(Clone, Copy)]
pub(crate) struct Book<'a> {
    pub sheets: &'a Sheets,
    pub roots: &'a BTreeSet<Folder>,
}

/// Merges one resource.
pub(crate) fn merge(
    judge: &mut Judge<'_>,
    schemas: &Schemas,
    book: &Book<'_>,
    found: &Match,
    changes: &mut FileChanges,
) -> Result<(), Error> {
    let Book { sheets, roots } = *book;
    let leaves @ [original, upstream, local] = sheets.leaves(found);
    let Some(scope) = scope(sheets, found, local.or(upstream).or(original)) else { return Ok(()) };
    let room = room(sheets, found);
    if room == Room::None {
        return Ok(());
    }
    let (leaf, path) = match (original, upstream, local) {
        (_, None, None) | (None, None, Some(_)) => return Ok(()),
        (None, Some(upstream), None) => {
            let added = match sheets.namesake(roots, found) {
                Some(namesake) => beside(judge, &scope, found, [upstream.document, namesake])?,
                None => Some(upstream.document.clone()),
            };
            (added.map(|document| Leaf { document, remarks: upstream.remarks.to_owned() }), None)
        }
        (_, Some(upstream), Some(local)) => {
            let before = original.map(|leaf| leaf.document);
            let document = fields(judge, schemas, &scope, [before, Some(upstream.document)], local.document)?;
            let name =
                |document| found.local.as_ref().map(|place| identity(&place.path, usize::MAX, document));
            if judge.has_pins() && name(&document) != name(local.document) {
                return Err(Error::OtherKey(ConflictId::new(scope.id)));
            }
            let remarks = behind(judge, &scope, leaves);
            let path = if room == Room::Local { None } else { place(judge, &scope, sheets, found)? };
            (Some(Leaf { document, remarks }), path)
        }
        (Some(original), None, Some(local)) => {
            let kind = ConflictKind::RemovedUpstreamChangedLocally;
            (whole(judge, &scope, found, natural(found, original, local, kind), leaves)?, None)
        }
        (Some(original), Some(upstream), None) => {
            let kind = ConflictKind::RemovedLocallyChangedUpstream;
            (whole(judge, &scope, found, natural(found, original, upstream, kind), leaves)?, None)
        }
    };
    let home = found.local.as_ref().or(found.upstream.as_ref()).or(found.original.as_ref());
    let Some(path) = path.or_else(|| home.map(|place| place.path.clone())) else { return Ok(()) };
    put(found.local.as_ref(), local, leaf, path, changes);
    Ok(())
}

/// What happens to a resource that the other side removed. One that was moved was touched.
fn natural(found: &Match, original: LeafRef<'_>, other: LeafRef<'_>, kind: ConflictKind) -> Natural {
    let untouched = found.is_at_home()
        && is_untouched(original.document, other.document)
        && remarks::same(original.remarks, other.remarks);
    if untouched { Natural::Gone } else { Natural::Conflict(kind) }
}

/// Merges the documents of comments only behind a resource that upstream and local have.
fn behind(judge: &mut Judge<'_>, scope: &Scope, leaves: [Option<LeafRef<'_>>; 3]) -> String {
    let id = names::aspect(&scope.id, Aspect::Remarks);
    let [original, upstream, local] = leaves.map(|leaf| leaf.map(|leaf| leaf.remarks));
    // What was decided about the resource as a whole is about them, too.
    let whole = match judge.pinned(&scope.id) {
        Some(Take::Local | Take::Value(_)) => local,
        Some(Take::Upstream) => upstream,
        Some(Take::Original) => original,
        None => None,
    };
    if let Some(remarks) = whole {
        return remarks.to_owned();
    }
    let sides = [original.or(Some("")), upstream, local];
    remarks::merge(judge, sides, &id, |kind, values| root_case(scope, id.clone(), kind, values))
}

/// Decides about a resource that upstream added where local gave its name to another one: both would have it. It comes only
/// when a resolution says so.
fn beside(
    judge: &mut Judge<'_>,
    scope: &Scope,
    found: &Match,
    [upstream, namesake]: [&Document; 2],
) -> Result<Option<Document>, Error> {
    let text = |document| Some(document::text_of(document));
    let values = Values { original: None, upstream: text(upstream), local: text(namesake) };
    let case = root_case(scope, scope.id.clone(), ConflictKind::AddedOnBoth, values);
    Ok(match judge.decide(case, Rule::Local) {
        Take::Local | Take::Original => None,
        Take::Upstream => Some(upstream.clone()),
        Take::Value(text) => Some(value(&scope.id, found, text)?),
    })
}

/// Where a resource can stand, as far as files and folders of different sides are not in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Anywhere,
    /// Only where local has it.
    Local,
    /// Nowhere: what was decided about file or folder is about the resource, too.
    None,
}

fn room(sheets: &Sheets, found: &Match) -> Room {
    let gave_way =
        |place: &Option<Place>| place.as_ref().is_some_and(|place| sheets.gave_way.contains(&place.path));
    match (gave_way(&found.upstream), gave_way(&found.local)) {
        (true, _) if found.local.is_some() => Room::Local,
        (true, _) => Room::None,
        // It goes where upstream has it, if that is free.
        (false, true) => match &found.upstream {
            Some(place) if !has(sheets, &place.path, found) => Room::Anywhere,
            Some(_) | None => Room::None,
        },
        (false, false) => Room::Anywhere,
    }
}

/// Whether local has a resource of that name in the file.
fn has(sheets: &Sheets, path: &SafePath, found: &Match) -> bool {
    let sheet = sheets.local.get(path);
    sheet.is_some_and(|sheet| sheet.pages.iter().any(|page| page.identity == found.identity))
}

/// Notes what becomes of a document: it is edited where it is, or removed here and added there.
fn put(
    place: Option<&Place>,
    local: Option<LeafRef<'_>>,
    leaf: Option<Leaf>,
    path: SafePath,
    changes: &mut FileChanges,
) {
    match (place, leaf) {
        (Some(place), Some(Leaf { document, remarks })) if place.path == path => {
            let edited = document.is_edited()
                || local.is_none_or(|local| local.document.source() != document.source());
            let noted = local.is_none_or(|local| local.remarks != remarks);
            if edited || noted {
                let changes = changes.entry(path).or_default();
                changes.edited.extend(edited.then_some((place.at, document)));
                changes.remarks.extend(noted.then_some((place.at, remarks)));
            }
        }
        (place, leaf) => {
            if let Some(place) = place {
                changes.entry(place.path.clone()).or_default().removed.insert(place.at);
            }
            if let Some(leaf) = leaf {
                changes.entry(path).or_default().added.push(leaf);
            }
        }
    }
}

/// What the resource is called in conflicts: by where it was before, so that the name stays when it moves.
fn scope(sheets: &Sheets, found: &Match, leaf: Option<LeafRef<'_>>) -> Option<Scope> {
    let home = found.original.as_ref().or(found.upstream.as_ref()).or(found.local.as_ref())?;
    let path = found.paths().next()?.clone();
    let id = names::resource(&home.path, &found.identity);
    let own = match path.as_str() {
        kptfile::FILE_NAME => Own::Kptfile,
        _ if sheets.references.contains(&path) => Own::Reference,
        _ if path.file_name() == kptfile::FILE_NAME => Own::NestedKptfile,
        _ => Own::Nothing,
    };
    let page = found.local.as_ref().map_or(0, |place| place.at);
    Some(Scope { id, path, page, subject: subject(leaf?.document), own })
}

/// Merges the fields and the comments of the document itself.
fn fields(
    judge: &mut Judge<'_>,
    schemas: &Schemas,
    scope: &Scope,
    [original, upstream]: [Option<&Document>; 2],
    local: &Document,
) -> Result<Document, Error> {
    let Some(upstream) = upstream else { return Ok(local.clone()) };
    let cursor = schemas.of(&scope.path, local.root());
    let mut document = local.clone();
    let expanded = if has_alias(local) { expanded(local) } else { None };
    match expanded {
        None => Fields::new(judge, scope).document(original, upstream, &mut document, cursor)?,
        Some(mut plain) => {
            // An edit of what an alias names changes two places. Only where that is what the merge asks for, aliases stay.
            Fields::new(judge, scope).document(original, upstream, &mut plain, cursor)?;
            let mut unheard = judge.afresh();
            let merged = Fields::new(&mut unheard, scope).document(original, upstream, &mut document, cursor);
            if merged.is_err() || !same(Some(plain.root()), Some(document.root())) {
                document = plain;
            }
        }
    }
    own_comments(judge, scope, [original, Some(upstream)], local, document)
}

fn has_alias(document: &Document) -> bool {
    if !document.source().contains('*') {
        return false;
    }
    let mut open = vec![document.root()];
    while let Some(node) = open.pop() {
        if node.kind() == Kind::Alias {
            return true;
        }
        open.extend(node.items());
        open.extend(node.entries().flat_map(|(key, value)| [key, value]));
    }
    false
}

/// The document without aliases; `None` where that cannot be.
fn expanded(document: &Document) -> Option<Document> {
    let mut plain = document.clone();
    plain.root_mut().set(Content::from(document.root())).ok()?;
    Some(plain)
}

/// Merges the comments that belong to no field: those before and behind all content.
fn own_comments(
    judge: &mut Judge<'_>,
    scope: &Scope,
    [original, upstream]: [Option<&Document>; 2],
    local: &Document,
    merged: Document,
) -> Result<Document, Error> {
    let of = |document: Option<&Document>| document.map(document::own_comments).unwrap_or_default();
    let (before, theirs, ours) = (of(original), of(upstream), of(Some(local)));
    if before == theirs || theirs == ours {
        return Ok(merged);
    }
    let mut wanted = ours.clone();
    match judge.pinned(&scope.id) {
        // What was decided about the resource as a whole is about its comments, too.
        Some(Take::Local | Take::Value(_)) => return Ok(merged),
        Some(Take::Upstream) => return Ok(document::with_own_comments(&merged, &theirs).unwrap_or(merged)),
        Some(Take::Original) => return Ok(document::with_own_comments(&merged, &before).unwrap_or(merged)),
        None => {}
    }
    let values = |at: usize| Values {
        original: before[at].clone(),
        upstream: theirs[at].clone(),
        local: ours[at].clone(),
    };
    for (at, aspect) in OWN_ASPECTS.into_iter().enumerate() {
        let id = names::aspect(&scope.id, aspect);
        let values = values(at);
        let settled = comments::settle(before[at].as_deref(), theirs[at].as_deref(), ours[at].as_deref());
        wanted[at] = match (settled, judge.pinned(&id)) {
            (comments::Settled::As(comment), None) => comment,
            (comments::Settled::As(comment), Some(take))
                if comments::taken(take.clone(), values.clone()) == comment =>
            {
                comment
            }
            (comments::Settled::Conflict, _) | (comments::Settled::As(_), Some(_)) => {
                let case = root_case(scope, id, ConflictKind::CommentsDiffer, values.clone());
                comments::taken(judge.decide(case, Rule::Policy), values)
            }
        };
    }
    // Behind another document, what stands before the marker would belong to that one.
    let with = |document: &Document, wanted: &OwnComments| {
        let stands = scope.page == 0 || wanted[0].is_none() || wanted[0] == ours[0];
        document::with_own_comments(document, wanted).filter(|_| stands)
    };
    if let Some(document) = with(&merged, &wanted) {
        return Ok(document);
    }
    // Of those that cannot stand together, each comes that can; what was kept of the others is told.
    let mut document = merged;
    let mut have = ours.clone();
    for (at, aspect) in OWN_ASPECTS.into_iter().enumerate().filter(|(at, _)| wanted[*at] != ours[*at]) {
        let mut next = have.clone();
        next[at].clone_from(&wanted[at]);
        if let Some(noted) = with(&document, &next) {
            (document, have) = (noted, next);
            continue;
        }
        let id = names::aspect(&scope.id, aspect);
        if !judge.kept(&id, ours[at].as_deref())? {
            judge.left_out(root_case(scope, id, ConflictKind::CommentsDiffer, values(at)))?;
        }
    }
    Ok(document)
}

const OWN_ASPECTS: [Aspect; 3] = [Aspect::Preface, Aspect::HeadComment, Aspect::FootComment];

fn root_case(scope: &Scope, id: String, kind: ConflictKind, values: Values) -> Case {
    let (path, subject) = (scope.path.clone(), scope.subject.clone());
    Case { id, path, subject, field: Path::root(), kind, values }
}

/// The file that a resource which both sides have stands in afterwards; `None` for the one where local has it.
fn place(
    judge: &mut Judge<'_>,
    scope: &Scope,
    sheets: &Sheets,
    found: &Match,
) -> Result<Option<SafePath>, Error> {
    let path = |place: &Option<Place>| place.as_ref().map(|place| place.path.clone());
    let (original, upstream, local) = (path(&found.original), path(&found.upstream), path(&found.local));
    let id = names::aspect(&scope.id, Aspect::Place);
    let pinned = judge.pinned(&id).cloned();
    if pinned.is_none() && (upstream == local || upstream == original) {
        return Ok(None);
    }
    if local.as_ref().is_some_and(|path| sheets.gave_way.contains(path)) {
        return Ok(upstream);
    }
    let taken = |path: &Option<SafePath>| {
        let elsewhere = path.as_ref().filter(|path| Some(*path) != local.as_ref());
        elsewhere.is_some_and(|path| has(sheets, path, found))
    };
    let apart = upstream != local && upstream != original && (local != original || taken(&upstream));
    let take = if apart {
        let text = |path: &Option<SafePath>| path.as_ref().map(|path| path.as_str().to_owned());
        let values = Values { original: text(&original), upstream: text(&upstream), local: text(&local) };
        let case = root_case(scope, id.clone(), ConflictKind::MovedApart, values);
        judge.decide(case, if taken(&upstream) { Rule::Local } else { Rule::Policy })
    } else {
        pinned.unwrap_or(if local == original { Take::Upstream } else { Take::Local })
    };
    let chosen = match take {
        Take::Upstream => upstream,
        Take::Original if original.is_some() => original.filter(|path| !sheets.is_blocked(path)),
        Take::Local | Take::Original => local.clone(),
        Take::Value(text) => text.parse().ok().filter(|path| sheets.has(path) && !sheets.is_blocked(path)),
    };
    if chosen.is_none() || taken(&chosen) {
        return Err(Error::PlaceTaken(ConflictId::new(id)));
    }
    Ok(chosen)
}

/// What happens to a resource that one side removed when nobody says anything.
#[derive(Clone, Copy)]
enum Natural {
    /// It goes, or stays away.
    Gone,
    Conflict(ConflictKind),
}

/// Decides about a resource that one side removed; returns what is left of it.
fn whole(
    judge: &mut Judge<'_>,
    scope: &Scope,
    found: &Match,
    natural: Natural,
    [original, upstream, local]: [Option<LeafRef<'_>>; 3],
) -> Result<Option<Leaf>, Error> {
    let home = found.original.as_ref().map(|place| &place.path);
    let moved = found.local.as_ref().map(|place| &place.path).filter(|path| Some(*path) != home);
    let id = moved.map_or_else(|| scope.id.clone(), |path| names::moved(&scope.id, path));
    let take = match natural {
        Natural::Conflict(kind) => {
            let values = Values {
                original: original.map(shown),
                upstream: upstream.map(shown),
                local: local.map(shown),
            };
            judge.decide(root_case(scope, id.clone(), kind, values), Rule::Local)
        }
        Natural::Gone => match judge.pinned(&id) {
            Some(take) => take.clone(),
            None => return Ok(None),
        },
    };
    Ok(match take {
        Take::Local => local.map(LeafRef::to_leaf),
        Take::Upstream => upstream.map(LeafRef::to_leaf),
        Take::Original => original.map(LeafRef::to_leaf),
        Take::Value(text) => {
            let remarks = local.map(|leaf| leaf.remarks.to_owned()).unwrap_or_default();
            Some(Leaf { document: value(&id, found, text)?, remarks })
        }
    })
}

/// A document as a conflict shows it, with what stands behind it.
fn shown(leaf: LeafRef<'_>) -> String {
    let text = document::text_of(leaf.document);
    if remarks::is_silent(leaf.remarks) { text } else { format!("{text}\n{}", leaf.remarks.trim_end()) }
}

/// The document that a resolution brings; it must be the same resource.
fn value(id: &str, found: &Match, text: String) -> Result<Document, Error> {
    let conflict = || ConflictId::new(id);
    let document = Document::parse(text)
        .map_err(|cause| Error::BadValue { conflict: conflict(), cause: Box::new(cause) })?;
    let path = found.paths().next();
    let is = path.map(|path| identity(path, 0, &document));
    if is.as_ref() == Some(&found.identity) { Ok(document) } else { Err(Error::OtherKey(conflict())) }
}
