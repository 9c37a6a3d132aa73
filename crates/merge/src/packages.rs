//! Packages: resources are matched, merged, and put back into their files.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use lanai_krm::Package;
use lanai_krm::package::{File, Folder};
use lanai_types::SafePath;
use lanai_yaml::{Document, Path};

use crate::compare::same;
use crate::conflict::{ConflictId, ConflictKind, Side};
use crate::document::{is_untouched, subject};
use crate::error::Error;
use crate::fields::{Fields, Own, Scope, text_of};
use crate::files::{self, Versions};
use crate::identity::Identity;
use crate::judge::{Case, Judge, Values};
use crate::keys::Schemas;
use crate::options::Take;
use crate::sheets::{Changes, Sheet, compose, is_structured};
use crate::subpackages;

/// A document: its file, and its place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    path: SafePath,
    at: usize,
}

/// Where a resource stands on each side.
#[derive(Clone, Debug, Default)]
struct Match {
    identity: Identity,
    original: Option<Place>,
    upstream: Option<Place>,
    local: Option<Place>,
}

/// The files that are merged by fields, taken apart.
#[derive(Default)]
struct Sheets {
    original: BTreeMap<SafePath, Sheet>,
    upstream: BTreeMap<SafePath, Sheet>,
    local: BTreeMap<SafePath, Sheet>,
}

/// Merges resources by fields and other files as they are.
pub(crate) fn merge_resources(judge: &mut Judge<'_>, sides: [&Package; 3]) -> Result<Package, Error> {
    let [original, upstream, local] = sides;
    let mut result = local.clone();
    let settled = subpackages::settle(judge, sides, &mut result)?;
    let mut paths: BTreeSet<&SafePath> = BTreeSet::new();
    for side in sides {
        paths.extend(side.iter().map(|(path, _)| path));
    }
    paths.retain(|path| !settled.iter().any(|folder| folder.holds(path)));
    let versions = |path: &SafePath| Versions {
        original: original.get(path),
        upstream: upstream.get(path),
        local: local.get(path),
    };
    let mut sheets = Sheets::default();
    let mut plain = Vec::new();
    for path in paths {
        let versions = versions(path);
        if versions.original == versions.upstream && versions.original == versions.local {
            continue;
        }
        if !is_structured(path) || !sheets.add(path, versions)? {
            plain.push(path);
        }
    }
    let schemas = schemas(sides);
    let matches = sheets.matches(sides);
    let mut changes: BTreeMap<SafePath, Changes> = BTreeMap::new();
    // Nothing local in it, and nothing that comes from or goes to a file with something local: upstream's file as it is.
    let mut whole = sheets.paths();
    whole.retain(|path| {
        let versions = versions(path);
        // A Kptfile on all sides keeps what is local's in it.
        let kept = is_kptfile(path) && versions.upstream.is_some() && versions.local.is_some();
        versions.local == versions.original && !kept && !judge.has_about(path)
    });
    let moved: Vec<&Match> = matches.iter().filter(|found| !found.is_at_home()).collect();
    loop {
        let torn = moved.iter().filter(|found| !found.paths().all(|path| whole.contains(path)));
        let torn: Vec<&SafePath> =
            torn.flat_map(|found| found.paths()).filter(|path| whole.contains(path)).collect();
        if torn.is_empty() {
            break;
        }
        for path in torn {
            whole.remove(path);
        }
    }
    for found in &matches {
        if found.paths().any(|path| whole.contains(path)) {
            continue;
        }
        merge_match(judge, &schemas, &sheets, found, &mut changes)?;
    }
    // What goes makes room for what comes: a file may take the place of a folder.
    let mut incoming: Vec<(SafePath, File)> = Vec::new();
    let mut finish = |path: &SafePath, file: Option<File>| match file {
        Some(file) => incoming.push((path.clone(), file)),
        None => {
            result.remove(path);
        }
    };
    for path in sheets.paths() {
        let versions = versions(path);
        if whole.contains(path) {
            finish(path, versions.upstream.cloned());
            continue;
        }
        let changes = changes.remove(path).unwrap_or_default();
        finish(path, written(path, &sheets, &changes, versions)?);
    }
    for path in plain {
        let file = files::merge(judge, path, versions(path));
        finish(path, file);
    }
    for (path, file) in incoming {
        result.insert(path, file)?;
    }
    judge.conflicts.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(result)
}

fn is_kptfile(path: &SafePath) -> bool {
    path.file_name() == "Kptfile"
}

/// The table of list keys, with the definitions that the local package and upstream have.
fn schemas([_, upstream, local]: [&Package; 3]) -> Schemas {
    let mut schemas = Schemas::built_in();
    for package in [upstream, local] {
        for (path, file) in package.iter() {
            let defines = is_structured(path)
                && file.text().is_some_and(|text| text.contains("CustomResourceDefinition"));
            // Which side has it twice is said where the file is merged.
            let sheet = if defines { Sheet::read(Side::Local, path, file).ok().flatten() } else { None };
            for document in sheet.iter().flat_map(Sheet::documents) {
                schemas.add_definition(document);
            }
        }
    }
    schemas
}

/// The file after the merge.
fn written(
    path: &SafePath,
    sheets: &Sheets,
    changes: &Changes,
    versions: Versions<'_>,
) -> Result<Option<File>, Error> {
    let mode = files::mode(versions).or_else(|| versions.local.or(versions.upstream).map(File::mode));
    let text = if changes.is_empty() {
        versions.local.map(|file| file.content().to_vec())
    } else {
        compose(path, sheets.local.get(path), changes)?.map(String::into_bytes)
    };
    Ok(text.zip(mode.or(Some(lanai_krm::package::Mode::Regular))).map(|(text, mode)| File::new(text, mode)))
}

/// Merges one resource.
fn merge_match(
    judge: &mut Judge<'_>,
    schemas: &Schemas,
    sheets: &Sheets,
    found: &Match,
    changes: &mut BTreeMap<SafePath, Changes>,
) -> Result<(), Error> {
    let original = found.original.as_ref().map(|place| sheets.original[&place.path].document(place.at));
    let upstream = found.upstream.as_ref().map(|place| sheets.upstream[&place.path].document(place.at));
    let local = found.local.as_ref().map(|place| sheets.local[&place.path].document(place.at));
    let Some(scope) = found.scope(local.or(upstream).or(original)) else { return Ok(()) };
    let (document, place) = match (original, upstream, local) {
        (_, None, None) | (None, None, Some(_)) => return Ok(()),
        (None, Some(upstream), None) => (Some(upstream.clone()), &found.upstream),
        (_, Some(upstream), Some(local)) => {
            let mut document = local.clone();
            let cursor = schemas.of(local.root());
            Fields::new(judge, &scope).document(original, upstream, &mut document, cursor)?;
            let stays = found.original.is_none() || !found.moved_upstream_only();
            (Some(document), if stays { &found.local } else { &found.upstream })
        }
        (Some(original), None, Some(local)) => {
            let gone = is_untouched(original, local);
            let kind = ConflictKind::RemovedUpstreamChangedLocally;
            let sides = [Some(original), None, Some(local)];
            let document = whole(judge, scope, (kind, if gone { None } else { Some(kind) }), sides)?;
            (document, &found.local)
        }
        (Some(original), Some(upstream), None) => {
            let kind = ConflictKind::RemovedLocallyChangedUpstream;
            let edited = !same(Some(original.root()), Some(upstream.root()));
            let sides = [Some(original), Some(upstream), None];
            let document = whole(judge, scope, (kind, edited.then_some(kind)), sides)?;
            (document, &found.upstream)
        }
    };
    let Some(place) = place else { return Ok(()) };
    match (&found.local, document) {
        (Some(at), Some(document)) if at == place => {
            if local.is_none_or(|local| local.to_string() != document.to_string()) {
                changes.entry(at.path.clone()).or_default().edited.insert(at.at, document);
            }
        }
        (local, document) => {
            if let Some(at) = local {
                changes.entry(at.path.clone()).or_default().removed.insert(at.at);
            }
            if let Some(document) = document {
                changes.entry(place.path.clone()).or_default().added.push(document);
            }
        }
    }
    Ok(())
}

/// Decides about a resource that one side removed; returns what is left of it.
fn whole(
    judge: &mut Judge<'_>,
    scope: Scope,
    (removed, conflict): (ConflictKind, Option<ConflictKind>),
    [original, upstream, local]: [Option<&Document>; 3],
) -> Result<Option<Document>, Error> {
    let id = scope.id.clone();
    let text = |document: Option<&Document>| document.map(|document| text_of(document.root()));
    let take = match conflict {
        Some(kind) => judge.keep_local(Case {
            id: scope.id,
            path: scope.path,
            subject: scope.subject,
            field: Path::root(),
            kind,
            values: Values { original: text(original), upstream: text(upstream), local: text(local) },
        }),
        None => judge.pinned(&id).cloned().unwrap_or(match removed {
            ConflictKind::RemovedUpstreamChangedLocally => Take::Upstream,
            _ => Take::Local,
        }),
    };
    Ok(match take {
        Take::Local => local.cloned(),
        Take::Upstream => upstream.cloned(),
        Take::Original => original.cloned(),
        Take::Value(text) => Some(
            Document::parse(text)
                .map_err(|cause| Error::BadValue { conflict: ConflictId::new(id), cause: Box::new(cause) })?,
        ),
    })
}

impl Sheets {
    /// Takes a file apart on each side that has it; tells whether that can be done on all of them.
    fn add(&mut self, path: &SafePath, versions: Versions<'_>) -> Result<bool, Error> {
        let read = |side, file: Option<&File>| match file {
            Some(file) => Sheet::read(side, path, file).map(|sheet| sheet.map(Some)),
            None => Ok(Some(None)),
        };
        let original = read(Side::Original, versions.original)?;
        let upstream = read(Side::Upstream, versions.upstream)?;
        let local = read(Side::Local, versions.local)?;
        let (Some(original), Some(upstream), Some(local)) = (original, upstream, local) else {
            return Ok(false);
        };
        self.original.extend(original.map(|sheet| (path.clone(), sheet)));
        self.upstream.extend(upstream.map(|sheet| (path.clone(), sheet)));
        self.local.extend(local.map(|sheet| (path.clone(), sheet)));
        Ok(true)
    }

    fn paths(&self) -> BTreeSet<&SafePath> {
        self.original.keys().chain(self.upstream.keys()).chain(self.local.keys()).collect()
    }

    /// Finds the resources that are the same on several sides: by file first, then those that moved, within the package
    /// that owns them.
    fn matches(&self, packages: [&Package; 3]) -> Vec<Match> {
        let roots: BTreeSet<Folder> = packages.into_iter().flat_map(Package::package_roots).collect();
        let mut by_file: BTreeMap<(&SafePath, &Identity), Match> = BTreeMap::new();
        let sides = [&self.original, &self.upstream, &self.local];
        for (side, sheets) in sides.into_iter().enumerate() {
            for (path, sheet) in sheets {
                for (identity, at) in &sheet.pages {
                    let found = by_file.entry((path, identity)).or_default();
                    found.identity = identity.clone();
                    let place = Some(Place { path: path.clone(), at: *at });
                    match side {
                        0 => found.original = place,
                        1 => found.upstream = place,
                        _ => found.local = place,
                    }
                }
            }
        }
        let mut matches = Vec::new();
        let mut partial: HashMap<(Folder, &Identity), Vec<usize>> = HashMap::new();
        for ((path, identity), found) in by_file {
            let complete = found.original.is_some() && found.upstream.is_some() && found.local.is_some();
            if !complete && identity.is_named() {
                partial.entry((owner(&roots, path), identity)).or_default().push(matches.len());
            }
            matches.push(found);
        }
        let mut gone = HashSet::new();
        for places in partial.into_values().filter(|places| places.len() > 1) {
            if let Some(whole) = join(&matches, &places) {
                gone.extend(places.iter().skip(1).copied());
                matches[places[0]] = whole;
            }
        }
        let kept = matches.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
        let mut kept: Vec<Match> = kept.map(|(_, found)| found).collect();
        // Conflicts and new documents come in the order in which the files have them.
        kept.sort_by(|left, right| left.order().cmp(&right.order()));
        kept
    }
}

/// The package that a path belongs to, of those that any side has.
fn owner(roots: &BTreeSet<Folder>, path: &SafePath) -> Folder {
    let mut folder = Folder::of(path);
    while !roots.contains(&folder) {
        let Some(outer) = folder.parent() else { break };
        folder = outer;
    }
    folder
}

/// One resource out of several parts, when each side has it once and it was there before.
fn join(matches: &[Match], places: &[usize]) -> Option<Match> {
    let mut whole = Match::default();
    for at in places {
        let part = &matches[*at];
        whole.identity = part.identity.clone();
        for (into, from) in [
            (&mut whole.original, &part.original),
            (&mut whole.upstream, &part.upstream),
            (&mut whole.local, &part.local),
        ] {
            if into.is_some() && from.is_some() {
                return None;
            }
            *into = into.take().or_else(|| from.clone());
        }
    }
    whole.original.is_some().then_some(whole)
}

impl Match {
    fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.local, &self.upstream, &self.original].into_iter().flatten()
    }

    fn paths(&self) -> impl Iterator<Item = &SafePath> {
        self.places().map(|place| &place.path)
    }

    fn order(&self) -> Option<&Place> {
        self.places().next()
    }

    /// Whether it stands in the same file wherever it is.
    fn is_at_home(&self) -> bool {
        let mut paths = self.paths();
        let first = paths.next();
        paths.all(|path| Some(path) == first)
    }

    /// Whether upstream put it into another file, and local left it where it was.
    fn moved_upstream_only(&self) -> bool {
        let path = |place: &Option<Place>| place.as_ref().map(|place| place.path.clone());
        path(&self.local) == path(&self.original) && path(&self.upstream) != path(&self.original)
    }

    /// What it is called in conflicts: by where it was before, so that the name stays when it moves.
    fn scope(&self, document: Option<&Document>) -> Option<Scope> {
        let home = self.original.as_ref().or(self.upstream.as_ref()).or(self.local.as_ref())?;
        let path = self.paths().next()?.clone();
        let named = !self.identity.kind.is_empty();
        let id = if named { format!("{}:{}", home.path, self.identity) } else { home.path.to_string() };
        let own = if is_kptfile(&path) { Own::Kptfile } else { Own::Nothing };
        Some(Scope { id, path, subject: subject(document?), own })
    }
}
