//! Which resources of the three packages are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use lanai_krm::kptfile;
use lanai_krm::package::{File, Folder};
use lanai_types::{Limits, SafePath};
use lanai_yaml::Document;

use crate::conflict::Side;
use crate::error::Error;
use crate::files::Versions;
use crate::identity::Identity;
use crate::judge::Judge;
use crate::names;
use crate::sheets::{LeafRef, Sheet, is_json};

/// A document: its file, and its place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub path: SafePath,
    pub at: usize,
}

/// Where a resource stands on each side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Match {
    pub identity: Identity,
    pub original: Option<Place>,
    pub upstream: Option<Place>,
    pub local: Option<Place>,
}

/// The files that are merged by fields, taken apart.
#[derive(Default)]
pub(crate) struct Sheets {
    pub original: BTreeMap<SafePath, Rc<Sheet>>,
    pub upstream: BTreeMap<SafePath, Rc<Sheet>>,
    pub local: BTreeMap<SafePath, Rc<Sheet>>,
    /// The Kptfiles of packages whose content is not merged.
    pub references: HashSet<SafePath>,
    /// Files that are looked at only: the other side has a file where this one has a folder, or the other way round, and
    /// the other side's was taken.
    pub gave_way: HashSet<SafePath>,
    /// All files of upstream and local, where a resolution may ask for another place.
    pub files: BTreeSet<SafePath>,
    /// The local resources that have another name than upstream, by package and by the name that they have.
    pub renamed: HashMap<(Folder, Identity), Place>,
}

/// Whether a file was taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Yes,
    /// It merges as text, or as a whole.
    No,
}

impl Sheets {
    /// Takes a file apart on each side that has it, if that can be done on all of them and there is anything in it.
    ///
    /// # Errors
    /// [`Error::Duplicate`], where all sides differ.
    pub fn add(&mut self, path: &SafePath, versions: Versions<'_>, limits: &Limits) -> Result<Added, Error> {
        let Versions { original, upstream, local } = versions;
        let read = |side, file: Option<&File>| match file {
            Some(file) => Sheet::read(side, path, file, limits).map(|sheet| sheet.map(Rc::new)),
            None => Ok(None),
        };
        let all = || -> Result<[Option<Rc<Sheet>>; 3], Error> {
            let first = read(Side::Original, original)?;
            let second = if upstream == original { first.clone() } else { read(Side::Upstream, upstream)? };
            let third = match local {
                _ if local == original => first.clone(),
                _ if local == upstream => second.clone(),
                _ => read(Side::Local, local)?,
            };
            Ok([first, second, third])
        };
        let sheets = match all() {
            Ok(sheets) => sheets,
            // One side's file is the answer, whatever is in it.
            Err(Error::Duplicate { .. })
                if upstream == original || local == original || upstream == local =>
            {
                return Ok(Added::No);
            }
            Err(error) => return Err(error),
        };
        let there = [original, upstream, local].map(|file| file.is_some());
        let unread = sheets.iter().zip(there).any(|(sheet, there)| sheet.is_some() != there);
        if unread || sheets.iter().flatten().all(|sheet| sheet.pages.is_empty()) {
            return Ok(Added::No);
        }
        let [original, upstream, local] = sheets;
        self.original.extend(original.map(|sheet| (path.clone(), sheet)));
        self.upstream.extend(upstream.map(|sheet| (path.clone(), sheet)));
        self.local.extend(local.map(|sheet| (path.clone(), sheet)));
        Ok(Added::Yes)
    }

    /// Takes a file apart that is where one side has a file and the other one a folder. One that gave way is not written;
    /// it is there so that a resource which was moved there or from there is recognised.
    ///
    /// # Errors
    /// Those of [`Sheets::add`]; a file that gave way may have anything in it.
    pub fn add_taken(
        &mut self,
        path: &SafePath,
        versions: Versions<'_>,
        taken: Side,
        limits: &Limits,
    ) -> Result<(), Error> {
        if versions.is_taken(taken) {
            return self.add(path, versions, limits).map(|_| ());
        }
        match self.add(path, versions, limits) {
            Ok(Added::Yes) => _ = self.gave_way.insert(path.clone()),
            Ok(Added::No) | Err(Error::Duplicate { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub fn paths(&self) -> BTreeSet<&SafePath> {
        self.original.keys().chain(self.upstream.keys()).chain(self.local.keys()).collect()
    }

    pub fn has(&self, path: &SafePath) -> bool {
        self.original.contains_key(path) || self.upstream.contains_key(path) || self.local.contains_key(path)
    }

    /// Whether a file is where a folder of the path would be, or a folder where the path is.
    pub fn is_blocked(&self, path: &SafePath) -> bool {
        let mut folder = path.parent();
        while let Some(at) = folder {
            if self.files.contains(&at) {
                return true;
            }
            folder = at.parent();
        }
        let below = Folder::At(path.clone());
        self.files.iter().any(|file| below.holds(file))
    }

    /// What a match is on each side.
    pub fn leaves(&self, found: &Match) -> [Option<LeafRef<'_>>; 3] {
        [
            leaf_of(&self.original, found.original.as_ref()),
            leaf_of(&self.upstream, found.upstream.as_ref()),
            leaf_of(&self.local, found.local.as_ref()),
        ]
    }

    /// What stands before all documents of a file on each side that has it.
    pub fn preambles(&self, path: &SafePath) -> [Option<&str>; 3] {
        [&self.original, &self.upstream, &self.local]
            .map(|side| side.get(path).map(|sheet| sheet.preamble.as_str()))
    }

    /// Notes the local resources that have another name than upstream.
    pub fn note_renamed(&mut self, roots: &BTreeSet<Folder>) {
        let mut renamed = HashMap::new();
        for (path, identity, place) in pages(&self.local) {
            let here = Identity::here(self.local[path].document(place.at));
            let by_file = is_json(path) || path.file_name() == kptfile::FILE_NAME;
            if !by_file && here.is_named() && here != *identity {
                renamed.insert((owner(roots, path), here), place);
            }
        }
        self.renamed = renamed;
    }

    /// The local resource that was given the name of one that upstream adds to the same package.
    pub fn namesake(&self, roots: &BTreeSet<Folder>, found: &Match) -> Option<&Document> {
        let (None, Some(added), None) = (&found.original, &found.upstream, &found.local) else { return None };
        if self.renamed.is_empty() {
            return None;
        }
        let here = Identity::here(self.upstream[&added.path].document(added.at));
        let place = self.renamed.get(&(owner(roots, &added.path), here))?;
        Some(self.local[&place.path].document(place.at))
    }

    /// Finds the resources that are the same on several sides, in the order of files and documents.
    ///
    /// Original and upstream are paired first, whatever local has, so that the names of conflicts do not depend on it.
    /// In each step a resource in the same file comes before one that moved; and one that moved is recognised only
    /// inside of the package that owns it, and only where there is no doubt.
    pub fn matches(&self, judge: &Judge<'_>, roots: &BTreeSet<Folder>) -> Vec<Match> {
        let mut matches: Vec<Match> = Vec::new();
        let mut homes: HashMap<(&SafePath, &Identity), usize> = HashMap::new();
        for (path, identity, place) in pages(&self.original) {
            homes.insert((path, identity), matches.len());
            matches.push(Match { identity: identity.clone(), original: Some(place), ..Match::default() });
        }
        let mut fresh: Vec<(&SafePath, &Identity, Place)> = Vec::new();
        for (path, identity, place) in pages(&self.upstream) {
            match homes.get(&(path, identity)) {
                Some(at) => matches[*at].upstream = Some(place),
                None => fresh.push((path, identity, place)),
            }
        }
        let lost = |found: &Match| found.upstream.is_none();
        let moves = moves(roots, &matches, lost, fresh.iter().map(|(path, identity, _)| (*path, *identity)));
        let mut theirs: HashMap<(&SafePath, &Identity), usize> = HashMap::new();
        for ((path, identity, place), moved) in fresh.into_iter().zip(moves) {
            let at = moved.unwrap_or_else(|| {
                matches.push(Match { identity: identity.clone(), ..Match::default() });
                matches.len() - 1
            });
            matches[at].upstream = Some(place);
            theirs.insert((path, identity), at);
        }
        self.attach_local(judge, roots, [&homes, &theirs], &mut matches);
        // Conflicts and new documents come in the order in which the files have them.
        matches.sort_by(|left, right| left.order().cmp(&right.order()));
        matches
    }

    fn attach_local(
        &self,
        judge: &Judge<'_>,
        roots: &BTreeSet<Folder>,
        [homes, theirs]: [&HashMap<(&SafePath, &Identity), usize>; 2],
        matches: &mut Vec<Match>,
    ) {
        let names = self.local_names();
        let mut rest = Vec::new();
        for (path, identity, place) in &names {
            match homes.get(&(*path, identity)) {
                Some(at) => matches[*at].local = Some(place.clone()),
                None => rest.push((*path, identity, place.clone())),
            }
        }
        let mut fresh = Vec::new();
        for (path, identity, place) in rest {
            match theirs.get(&(path, identity)) {
                Some(at) if matches[*at].local.is_none() => matches[*at].local = Some(place),
                Some(_) | None => fresh.push((path, identity, place)),
            }
        }
        // One that a resolution removed at home is not looked for elsewhere.
        let decided = |found: &Match| {
            let home = found.original.as_ref().filter(|_| judge.has_pins());
            home.is_some_and(|home| judge.pinned(&names::resource(&home.path, &found.identity)).is_some())
        };
        let lost = |found: &Match| found.original.is_some() && found.local.is_none() && !decided(found);
        let moves = moves(roots, matches, lost, fresh.iter().map(|(path, identity, _)| (*path, *identity)));
        let mut new = new_upstream(roots, matches);
        for ((path, identity, place), moved) in fresh.into_iter().zip(moves) {
            let twin = || {
                let key = (owner(roots, path), identity.clone());
                new.get_mut(&key).and_then(Vec::pop).filter(|_| identity.is_named())
            };
            match moved.or_else(twin) {
                Some(at) => matches[at].local = Some(place),
                None => {
                    matches.push(Match {
                        identity: identity.clone(),
                        local: Some(place),
                        ..Match::default()
                    });
                }
            }
        }
    }

    /// The local resources with what they were called upstream: a name that nobody else knows gives way to the one that
    /// the annotation remembers.
    fn local_names(&self) -> Vec<(&SafePath, Identity, Place)> {
        let known: HashSet<&Identity> =
            pages(&self.original).chain(pages(&self.upstream)).map(|(_, identity, _)| identity).collect();
        let mut taken: HashSet<(&SafePath, &Identity)> =
            pages(&self.local).map(|(path, identity, _)| (path, identity)).collect();
        let mut names = Vec::new();
        for (path, identity, place) in pages(&self.local) {
            let mut name = identity.clone();
            if identity.is_named() && !known.contains(identity) {
                let remembered = Identity::remembered(self.local[path].document(place.at));
                let found = remembered.iter().find_map(|name| known.get(name).copied());
                if let Some(found) = found.filter(|found| taken.insert((path, found))) {
                    name = found.clone();
                }
            }
            names.push((path, name, place));
        }
        names
    }
}

fn leaf_of<'a>(sheets: &'a BTreeMap<SafePath, Rc<Sheet>>, place: Option<&Place>) -> Option<LeafRef<'a>> {
    let place = place?;
    let sheet = &sheets[&place.path];
    Some(LeafRef { document: sheet.document(place.at), remarks: sheet.remarks(place.at) })
}

fn pages(sheets: &BTreeMap<SafePath, Rc<Sheet>>) -> impl Iterator<Item = (&SafePath, &Identity, Place)> {
    sheets.iter().flat_map(|(path, sheet)| {
        let place = |at: usize| Place { path: path.clone(), at };
        sheet.pages.iter().map(move |page| (path, &page.identity, place(page.at)))
    })
}

/// The resources that upstream added and local does not have in the same file, by package and name; the first file last.
fn new_upstream(roots: &BTreeSet<Folder>, matches: &[Match]) -> HashMap<(Folder, Identity), Vec<usize>> {
    let mut new: HashMap<(Folder, Identity), Vec<usize>> = HashMap::new();
    for (at, found) in matches.iter().enumerate().rev() {
        if let (None, Some(place), None) = (&found.original, &found.upstream, &found.local) {
            new.entry((owner(roots, &place.path), found.identity.clone())).or_default().push(at);
        }
    }
    new
}

/// For each resource that a side has in a new place: the match that it was moved from, where exactly one lost it.
fn moves<'a>(
    roots: &BTreeSet<Folder>,
    matches: &[Match],
    lost: impl Fn(&Match) -> bool,
    fresh: impl Iterator<Item = (&'a SafePath, &'a Identity)> + Clone,
) -> Vec<Option<usize>> {
    let mut wanted: HashMap<(Folder, &Identity), Vec<usize>> = HashMap::new();
    for (at, (path, identity)) in fresh.clone().enumerate() {
        if identity.is_named() {
            wanted.entry((owner(roots, path), identity)).or_default().push(at);
        }
    }
    let mut moves = vec![None; fresh.count()];
    if wanted.is_empty() {
        return moves;
    }
    let mut homes: HashMap<(Folder, &Identity), Vec<usize>> = HashMap::new();
    for (at, found) in matches.iter().enumerate().filter(|(_, found)| lost(found)) {
        let Some(place) = found.original.as_ref() else { continue };
        homes.entry((owner(roots, &place.path), &found.identity)).or_default().push(at);
    }
    for (key, places) in wanted {
        if let ([only], Some([home])) = (&places[..], homes.get(&key).map(|homes| &homes[..])) {
            moves[*only] = Some(*home);
        }
    }
    moves
}

/// The package that a path belongs to, of those that any side has.
pub(crate) fn owner(roots: &BTreeSet<Folder>, path: &SafePath) -> Folder {
    let mut folder = Folder::of(path);
    while !roots.contains(&folder) {
        let Some(outer) = folder.parent() else { break };
        folder = outer;
    }
    folder
}

impl Match {
    fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.local, &self.upstream, &self.original].into_iter().flatten()
    }

    pub fn paths(&self) -> impl Iterator<Item = &SafePath> {
        self.places().map(|place| &place.path)
    }

    fn order(&self) -> Option<&Place> {
        self.places().next()
    }

    /// Whether it stands in the same file wherever it is.
    pub fn is_at_home(&self) -> bool {
        let mut paths = self.paths();
        let first = paths.next();
        paths.all(|path| Some(path) == first)
    }
}
