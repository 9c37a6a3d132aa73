//! Packages inside the package: those that one side removed, and those that come from elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use lanai_krm::Package;
use lanai_krm::kptfile;
use lanai_krm::package::{File, Folder};
use lanai_types::SafePath;
use lanai_yaml::{NodeRef, Path, Stream};

use crate::conflict::{ConflictKind, Side, Subject};
use crate::document::{Kptfiles, is_untouched, kptfile_content};
use crate::error::Error;
use crate::files::id_of;
use crate::judge::{Case, Judge, Rule, Values};
use crate::names;
use crate::options::Take;
use crate::shapes::{self, Precedence};
use crate::sheets::{Sheet, is_structured};

/// The packages that need no more merging.
#[derive(Default)]
pub(crate) struct Settled {
    whole: HashSet<Folder>,
    /// All but their Kptfiles.
    content: HashSet<Folder>,
    /// Whose file or folder was taken, where one side has a file and the other one a folder.
    shapes: HashMap<Folder, Side>,
}

impl Settled {
    /// Whether a file needs no more merging.
    pub fn covers(&self, path: &SafePath) -> bool {
        if self.whole.is_empty() && self.content.is_empty() {
            return false;
        }
        if self.whole.contains(&Folder::At(path.clone())) {
            return true;
        }
        let mut is_kptfile = path.file_name() == kptfile::FILE_NAME;
        let mut folder = Some(Folder::of(path));
        while let Some(at) = folder {
            if self.whole.contains(&at) || self.content.contains(&at) && !is_kptfile {
                return true;
            }
            is_kptfile = false;
            folder = at.parent();
        }
        false
    }
}

impl Settled {
    /// Whose file or folder was taken where the path is, if one side has a file and the other one a folder there.
    pub fn shape(&self, path: &SafePath) -> Option<Side> {
        let mut folder = Some(Folder::At(path.clone())).filter(|_| !self.shapes.is_empty());
        while let Some(at) = folder {
            if let Some(side) = self.shapes.get(&at) {
                return Some(*side);
            }
            folder = at.parent();
        }
        None
    }

    /// The Kptfiles of the packages whose content is not merged.
    pub fn kptfiles(&self) -> HashSet<SafePath> {
        self.content.iter().filter_map(kptfile_of).collect()
    }
}

/// What a Kptfile says about where its package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Nowhere: it belongs to the package around it.
    Own,
    /// Somewhere else.
    Remote { source: Source, fetched: Fetched },
}

/// Where a package comes from; the version is another matter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    kind: String,
    repository: String,
    folder: String,
}

/// Whether the content of a remote package is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetched {
    Yes,
    /// There is a reference only.
    No,
}

/// A package inside that was fetched here, and that upstream only names.
pub(crate) struct FetchedHere {
    pub folder: Folder,
    pub kptfile: SafePath,
    pub content: Content,
}

/// Whose content a package has that was fetched here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// What was fetched: upstream has none.
    Local,
    /// Upstream has content beside the name.
    Upstream,
}

/// The packages inside that come from the same place on both sides, and of which only local knows the version: a lock that
/// is local's alone.
pub(crate) fn fetched_here(upstream: &Package, local: &Package) -> Vec<FetchedHere> {
    let mut found = Vec::new();
    for folder in local.package_roots() {
        let Some(kptfile) = kptfile_of(&folder) else { continue };
        let (Some(theirs), Some(ours)) = (origin(upstream, &folder), origin(local, &folder)) else {
            continue;
        };
        let (Origin::Remote { source: theirs, .. }, Origin::Remote { source: ours, .. }) = (theirs, ours)
        else {
            continue;
        };
        if theirs == ours && !is_locked(upstream, &kptfile) && is_locked(local, &kptfile) {
            let only_named = upstream.below(&folder).count() == 1;
            let content = if only_named { Content::Local } else { Content::Upstream };
            found.push(FetchedHere { folder, kptfile, content });
        }
    }
    found
}

/// Whether a Kptfile says which version its package is of.
fn is_locked(package: &Package, kptfile: &SafePath) -> bool {
    let stream = package.get(kptfile).and_then(File::text).and_then(|text| Stream::parse(text).ok());
    let first = stream.as_ref().and_then(|stream| stream.documents().first());
    first.and_then(|document| document.root().get("upstreamLock")).is_some_and(|lock| !lock.is_null())
}

/// What is to be done with a package inside the package.
enum Plan {
    /// File by file.
    Merge,
    /// Its Kptfile only; what is local stays.
    Reference,
    Take(Take),
    Conflict(ConflictKind, Rule),
}

/// Decides about packages that one side removed, or that come from different places, and about files where the other side
/// has a folder. `result` has what those hold that
/// need no more merging.
pub(crate) fn settle(
    judge: &mut Judge<'_>,
    sides: [&Package; 3],
    result: &mut Package,
) -> Result<Settled, Error> {
    let [original, upstream, local] = sides;
    let mut settled = Settled::default();
    let mut places: BTreeSet<Folder> = sides.into_iter().flat_map(Package::package_roots).collect();
    places.extend(shapes::candidates(judge, sides));
    for folder in places {
        let Folder::At(path) = &folder else { continue };
        if settled.covers(path) {
            continue;
        }
        if let Some(side) = shapes::settle(judge, sides, path, Precedence::Change, result)? {
            settled.whole.insert(folder.clone());
            settled.shapes.insert(folder, side);
            continue;
        }
        let id = names::folder(path);
        let pinned = judge.pinned(&id).cloned();
        if pinned.is_none() && !sides.into_iter().any(|side| side.is_package(&folder)) {
            continue;
        }
        let take = match (plan(sides, &folder), pinned) {
            (Plan::Conflict(kind, rule), _) => {
                let values = Values {
                    original: listing(original, &folder),
                    upstream: listing(upstream, &folder),
                    local: listing(local, &folder),
                };
                let (path, field) = (path.clone(), Path::root());
                judge.decide(Case { id, path, subject: Subject::Subpackage, field, kind, values }, rule)
            }
            (_, Some(take)) | (Plan::Take(take), None) => take,
            (Plan::Merge, None) => continue,
            (Plan::Reference, None) => {
                settled.content.insert(folder);
                continue;
            }
        };
        let source = match take {
            Take::Local | Take::Value(_) => local,
            Take::Upstream => upstream,
            Take::Original => original,
        };
        replace(result, source, &folder)?;
        settled.whole.insert(folder);
    }
    Ok(settled)
}

fn plan([original, upstream, local]: [&Package; 3], folder: &Folder) -> Plan {
    let there = |package: &Package| package.below(folder).next().is_some();
    match (there(original), there(upstream), there(local)) {
        (true, false, true) if untouched(original, local, folder) => Plan::Take(Take::Upstream),
        (true, false, true) => Plan::Conflict(ConflictKind::RemovedUpstreamChangedLocally, Rule::Local),
        (true, true, false) if untouched(original, upstream, folder) => Plan::Take(Take::Local),
        (true, true, false) => Plan::Conflict(ConflictKind::RemovedLocallyChangedUpstream, Rule::Local),
        (_, true, true) => plan_for_both([original, upstream, local], folder),
        (_, false, false) | (false, false, true) | (false, true, false) => Plan::Merge,
    }
}

/// The plan for a package that upstream and local have.
fn plan_for_both([original, upstream, local]: [&Package; 3], folder: &Folder) -> Plan {
    let [before, theirs, ours] = [original, upstream, local].map(|package| origin(package, folder));
    let (Some(theirs), Some(ours)) = (theirs, ours) else { return Plan::Merge };
    let source = |origin: &Origin| match origin {
        Origin::Own => None,
        Origin::Remote { source, .. } => Some(source.clone()),
    };
    let changed = || !untouched(original, upstream, folder);
    match before {
        // Two packages of one name are not mixed.
        None if source(&theirs) != source(&ours) => {
            return Plan::Conflict(ConflictKind::AddedOnBoth, Rule::Policy);
        }
        Some(before) if source(&before) != source(&ours) && source(&theirs) != source(&ours) => {
            return if changed() {
                Plan::Conflict(ConflictKind::BothChanged, Rule::Local)
            } else {
                Plan::Take(Take::Local)
            };
        }
        Some(_) | None => {}
    }
    if original.below(folder).eq(local.below(folder)) {
        return Plan::Merge;
    }
    let is_reference = |origin: &Origin| matches!(origin, Origin::Remote { fetched: Fetched::No, .. });
    // A reference for which upstream has content of its own now is no reference any more.
    let new = upstream.below(folder).any(|(path, _)| original.get(path).is_none());
    let stays = is_reference(&ours) && theirs != Origin::Own && !new;
    if is_reference(&theirs) || stays { Plan::Reference } else { Plan::Merge }
}

/// The Kptfile of a folder below the root.
fn kptfile_of(folder: &Folder) -> Option<SafePath> {
    let Folder::At(path) = folder else { return None };
    path.join(&kptfile::FILE_NAME.parse().ok()?).ok()
}

fn origin(package: &Package, folder: &Folder) -> Option<Origin> {
    let kptfile = package.get(&kptfile_of(folder)?)?;
    let stream = Stream::parse(kptfile.text()?).ok()?;
    let root = stream.documents().first()?.root();
    let Some(upstream) = root.get("upstream").filter(|upstream| !upstream.is_null()) else {
        return Some(Origin::Own);
    };
    let text =
        |node: Option<NodeRef<'_>>| node.map(|node| node.target().value().into_owned()).unwrap_or_default();
    let git = |key: &str| text(upstream.get("git").and_then(|git| git.get(key)));
    let source =
        Source { kind: text(upstream.get("type")), repository: git("repo"), folder: git("directory") };
    let locked = root.get("upstreamLock").is_some_and(|lock| !lock.is_null());
    let content = package.below(folder).count() > 1;
    Some(Origin::Remote { source, fetched: if locked || content { Fetched::Yes } else { Fetched::No } })
}

/// The files of a package with the ids that Git has for them, as a conflict shows it.
pub(crate) fn listing(package: &Package, folder: &Folder) -> Option<String> {
    let lines = package.below(folder).map(|(path, file)| {
        let inside = folder.relative(path).unwrap_or_else(|| path.clone());
        format!("{} {inside}\n", id_of(file))
    });
    Some(lines.collect::<String>()).filter(|text| !text.is_empty())
}

pub(crate) fn replace(result: &mut Package, source: &Package, folder: &Folder) -> Result<(), Error> {
    let old: Vec<SafePath> = result.below(folder).map(|(path, _)| path.clone()).collect();
    for path in old {
        result.remove(&path);
    }
    for (path, file) in source.below(folder) {
        result.insert(path.clone(), file.clone())?;
    }
    Ok(())
}

/// Whether all files below a folder mean what they meant.
pub(crate) fn untouched(original: &Package, other: &Package, folder: &Folder) -> bool {
    let count = |package: &Package| package.below(folder).count();
    count(original) == count(other)
        && original.below(folder).all(|(path, _)| file_untouched(original, other, path))
}

/// Whether a file means what it meant, the marks of a merge aside.
pub(crate) fn file_untouched(original: &Package, other: &Package, path: &SafePath) -> bool {
    let (before, after) = (original.get(path), other.get(path));
    if before == after {
        return true;
    }
    let (Some(before), Some(after)) = (before, after) else { return false };
    if before.mode() != after.mode() || !is_structured(path) {
        return false;
    }
    let limits = original.limits();
    let sheets =
        (Sheet::read(Side::Original, path, before, limits), Sheet::read(Side::Local, path, after, limits));
    let (Ok(Some(before)), Ok(Some(after))) = sheets else { return false };
    before.pages.len() == after.pages.len()
        && before.has_same_remarks(&after)
        && before.documents().zip(after.documents()).all(|(before, after)| match path.as_str() {
            kptfile::FILE_NAME => {
                let content = |document| kptfile_content(document, Kptfiles::Root);
                is_untouched(&content(before), &content(after))
            }
            _ if path.file_name() == kptfile::FILE_NAME => {
                let content = |document| kptfile_content(document, Kptfiles::Nested);
                is_untouched(&content(before), &content(after))
            }
            _ => is_untouched(before, after),
        })
}
