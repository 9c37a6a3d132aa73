//! Packages inside the package that have an upstream of their own.

use std::collections::VecDeque;
use std::path::Path;

use lanai_krm::package::{File, Folder};
use lanai_krm::{Kptfile, Package};
use lanai_merge::{Conflict, Options, Policy, three_way};
use lanai_repository::{Revision, Want};
use lanai_types::quote::Quoted;
use lanai_types::{Limits, SafePath};

use super::conflicts::{self, Entry, Open};
use super::kptfile::{self, Source};
use super::upstream::{Repositories, shown};
use crate::failure::{Code, Failure};
use crate::io::Io;

/// How many packages one command fetches. Packages can name each other in a circle.
pub(super) const MAX_PACKAGES: usize = 500;

/// The files below a folder, as a package of their own.
pub(super) fn cut(tree: &Package, folder: &Folder) -> Package {
    let mut package = Package::new(*tree.limits());
    for (path, file) in tree.below(folder) {
        if let Some(inside) = folder.relative(path) {
            let _ = package.insert(inside, file.clone()).expect("a part of a package is a package");
        }
    }
    package
}

/// Makes the files below a folder those of a package.
///
/// # Errors
/// When the whole becomes too large, or a path too long.
pub(super) fn graft(tree: &mut Package, folder: &Folder, package: &Package) -> Result<(), Failure> {
    let refused = |error: &dyn std::fmt::Display| unfitting(folder, error);
    let old: Vec<SafePath> = tree.below(folder).map(|(path, _)| path.clone()).collect();
    for path in old {
        tree.remove(&path);
    }
    for (path, file) in package.iter() {
        let path = match folder {
            Folder::Root => path.clone(),
            Folder::At(outer) => outer.join(path).map_err(|error| refused(&error))?,
        };
        tree.insert(path, file.clone()).map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// The packages inside that have an upstream and were never fetched.
pub(super) fn unfetched(tree: &Package) -> Vec<Folder> {
    let roots = tree.package_roots().into_iter().filter(|folder| *folder != Folder::Root);
    roots
        .filter(|folder| parsed(tree, folder).is_some_and(|kptfile| kptfile::is_unfetched(&kptfile)))
        .collect()
}

/// A Kptfile that may be unreadable: whoever needs it says so.
fn parsed(tree: &Package, folder: &Folder) -> Option<Kptfile> {
    Kptfile::parse(tree.get(&kptfile::path(folder).ok()?)?.text()?).ok()
}

/// Fetches the packages inside that were never fetched, and those inside of them. Returns how many there were.
///
/// # Errors
/// When one cannot be fetched; more than [`MAX_PACKAGES`].
pub(super) fn fetch_all(
    tree: &mut Package,
    root: &Path,
    repositories: &mut Repositories,
    io: &mut Io<'_>,
) -> Result<usize, Failure> {
    let mut count = 0;
    let mut open = VecDeque::from(unfetched(tree));
    while let Some(folder) = open.pop_front() {
        count += 1;
        if count > MAX_PACKAGES {
            return Err(too_many());
        }
        let shown = root.join(folder.to_string());
        io.tell(&format!("\nPackage {}:", Quoted(&shown.display().to_string())));
        fetch_one(tree, &folder, root, repositories, io)?;
        for inner in unfetched(&cut(tree, &folder)) {
            open.push_back(below(&folder, &inner)?);
        }
    }
    Ok(count)
}

/// The folder of a folder, seen from the root.
pub(super) fn below(outer: &Folder, inner: &Folder) -> Result<Folder, Failure> {
    match (outer, inner) {
        (Folder::Root, _) => Ok(inner.clone()),
        (_, Folder::Root) => Ok(outer.clone()),
        (Folder::At(outer), Folder::At(inner)) => {
            outer.join(inner).map(Folder::At).map_err(|error| unfitting(&Folder::At(outer.clone()), &error))
        }
    }
}

/// Files of a package that have no place in the one around it.
pub(super) fn unfitting(folder: &Folder, error: &dyn std::fmt::Display) -> Failure {
    match folder {
        Folder::Root => Failure::of(Code::Kptfile, error.to_string()),
        Folder::At(path) => Failure::of(Code::Kptfile, format!("package {}: {error}", Quoted(path.as_str()))),
    }
}

/// More than [`MAX_PACKAGES`].
pub(super) fn too_many() -> Failure {
    Failure::of(
        Code::Limit,
        format!("there are more than the {MAX_PACKAGES} packages that one command may fetch"),
    )
    .hint("packages that name each other have no end")
}

/// Fetches the package that a Kptfile inside the package names.
pub(super) fn fetch_one(
    tree: &mut Package,
    folder: &Folder,
    root: &Path,
    repositories: &mut Repositories,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let Some(local) = kptfile::read(tree, folder, root)? else { return Ok(()) };
    let Some(source) = local.source()? else { return Ok(()) };
    let (mut fetched, found, commit) = fetch(&source, repositories, io)?;
    let theirs = kptfile::read_fetched(&fetched, &source)?;
    let mut kptfile = match &theirs {
        Some(theirs) => merged_kptfile(theirs, &local, folder, io)?,
        None => local.into(),
    };
    kptfile::set_origin(&mut kptfile, &source, &found, commit)?;
    kptfile::write(&mut fetched, &Folder::Root, &kptfile)?;
    let mut both = cut(tree, folder);
    for (path, file) in fetched.iter() {
        both.insert(path.clone(), file.clone()).map_err(|error| unfitting(folder, &error))?;
    }
    graft(tree, folder, &both)
}

/// The revision that a source names; the default branch where it names none.
pub(super) fn revision(source: &Source) -> Result<Revision, Failure> {
    if source.reference.is_empty() {
        return Ok(Revision::DefaultBranch);
    }
    source.reference.parse().map_err(|error| {
        Failure::of(
            Code::Kptfile,
            format!("the version of repository {}: {error}", Quoted(&shown(&source.repo))),
        )
    })
}

/// Reads a folder of a repository, and says so. Returns what was found under which name, and the commit.
pub(super) fn fetch(
    source: &Source,
    repositories: &mut Repositories,
    io: &mut Io<'_>,
) -> Result<(Package, String, lanai_types::CommitId), Failure> {
    let revision = revision(source)?;
    io.tell(&format!("Fetching {}@{}", shown(&source.repo), source.reference));
    let found = repositories.find(&source.repo, &revision, &source.folder, io)?;
    let want = Want { commit: found.resolved.commit, folder: source.folder.clone() };
    let mut contents = repositories.read(&found.remote, &[want], io)?;
    let package = contents.pop().ok_or_else(|| {
        Failure::of(Code::GitMissing, format!("repository {} gave no package", Quoted(&shown(&source.repo))))
    })?;
    let name = match &source.folder {
        Folder::Root => "",
        Folder::At(path) => path.file_name(),
    };
    io.tell(&format!("Adding package {}.", Quoted(name)));
    Ok((package, found.resolved.name, found.resolved.commit))
}

/// The Kptfile that came, with what the one that was there says. Where both say something else, that is told.
fn merged_kptfile(
    theirs: &Kptfile,
    local: &Kptfile,
    folder: &Folder,
    io: &mut Io<'_>,
) -> Result<Kptfile, Failure> {
    let name = kptfile::path(&Folder::Root)?;
    let mut sides = [(); 3].map(|()| Package::new(Limits::default()));
    let [_, upstream, ours] = &mut sides;
    let refused = |error: &dyn std::fmt::Display| {
        Failure::of(Code::Kptfile, format!("the Kptfile of {}: {error}", Quoted(local.name())))
    };
    upstream.insert(name.clone(), File::from_text(theirs.to_string())).map_err(|error| refused(&error))?;
    ours.insert(name.clone(), File::from_text(local.to_string())).map_err(|error| refused(&error))?;
    let options = Options { policy: Policy::LocalWins, ..Options::default() };
    let [original, upstream, ours] = &sides;
    let merged = three_way(original, upstream, ours, &options).map_err(|error| refused(&error))?;
    for conflict in merged.conflicts.iter().filter(|conflict| !is_own_name(conflict)) {
        io.tell(&format!("note: {}", conflicts::sentence(&Entry::new(folder, conflict, Open::Decided))));
    }
    let text = merged.package.get(&name).and_then(File::text).unwrap_or_default();
    Kptfile::parse(text).map_err(|error| refused(&error))
}

/// Whether a conflict is about what the package is called: a package inside has a name of its own.
fn is_own_name(conflict: &Conflict) -> bool {
    conflict.field.to_string() == "metadata.name"
}

/// Three versions of a package, to be merged.
pub(super) struct Sides {
    pub original: Package,
    pub upstream: Package,
    pub local: Package,
}

impl Sides {
    /// Takes out what is not to be merged: of packages that upstream only names, all but their Kptfiles; and packages with
    /// an upstream of their own that were added here. Returns what was taken out of the local one.
    pub fn set_aside(&mut self) -> Aside {
        let mut aside = Aside::default();
        for folder in unfetched(&self.upstream) {
            aside
                .named
                .extend(take(&mut self.local, &folder).into_iter().map(|entry| (folder.clone(), entry)));
            take(&mut self.original, &folder);
            take(&mut self.upstream, &folder);
        }
        for folder in self.local.package_roots() {
            let is_ours =
                [&self.original, &self.upstream].iter().all(|side| side.below(&folder).next().is_none());
            let has_upstream =
                || parsed(&self.local, &folder).is_some_and(|found| found.fields().upstream.is_some());
            if folder != Folder::Root && is_ours && has_upstream() {
                aside.ours.extend(take(&mut self.local, &folder));
                let kptfile = kptfile::path(&folder).ok();
                let kptfile = kptfile.and_then(|path| self.local.remove(&path).map(|file| (path, file)));
                aside.ours.extend(kptfile);
            }
        }
        aside
    }

    /// Brings the `upstream` of packages inside along where it changed upstream and not here.
    ///
    /// # Errors
    /// When a Kptfile cannot be edited.
    pub fn follow(&self, merged: &mut Package) -> Result<(), Failure> {
        for folder in merged.package_roots() {
            if folder == Folder::Root {
                continue;
            }
            let all = [&self.original, &self.upstream, &self.local].map(|side| parsed(side, &folder));
            let [Some(original), Some(upstream), Some(local)] = all else { continue };
            let Some(mut kptfile) = parsed(merged, &folder) else { continue };
            let (before, theirs, ours) = (original.fields(), upstream.fields(), local.fields());
            let source = ours.upstream == before.upstream && theirs.upstream != before.upstream;
            let lock = ours.upstream_lock == before.upstream_lock
                && theirs.upstream_lock != before.upstream_lock
                && theirs.upstream_lock.is_some();
            let edited = kptfile.edit(|fields| {
                if source {
                    fields.upstream.clone_from(&theirs.upstream);
                }
                if lock {
                    fields.upstream_lock.clone_from(&theirs.upstream_lock);
                }
            });
            edited.map_err(|error| kptfile::uneditable(&kptfile, &error))?;
            if source || lock {
                kptfile::write(merged, &folder, &kptfile)?;
            }
        }
        Ok(())
    }
}

/// Files that are not merged, and come back behind the merge.
#[derive(Default)]
pub(super) struct Aside {
    /// Of packages that upstream names, with the folders of these.
    named: Vec<(Folder, (SafePath, File))>,
    /// Of packages that were added here.
    ours: Vec<(SafePath, File)>,
}

impl Aside {
    /// Puts the files back. A package that the merge took away stays away.
    ///
    /// # Errors
    /// When something else is in their place.
    pub fn put_back(self, merged: &mut Package) -> Result<(), Failure> {
        let named = self.named.into_iter().filter(|(folder, _)| merged.is_package(folder));
        let named: Vec<_> = named.map(|(_, entry)| entry).collect();
        for (path, file) in named.into_iter().chain(self.ours) {
            let folder = Folder::of(&path);
            merged.insert(path, file).map_err(|error| unfitting(&folder, &error))?;
        }
        Ok(())
    }
}

/// Takes all files below a folder out, but for its Kptfile.
fn take(package: &mut Package, folder: &Folder) -> Vec<(SafePath, File)> {
    let kptfile = kptfile::path(folder).ok();
    let paths = package.below(folder).map(|(path, _)| path.clone());
    let paths: Vec<SafePath> = paths.filter(|path| Some(path) != kptfile.as_ref()).collect();
    paths.into_iter().filter_map(|path| package.remove(&path).map(|file| (path, file))).collect()
}

/// The version to which a package inside moves with the one around it: when both were at the same one of the same
/// repository, and it comes from a folder inside.
pub(super) fn moves_with(outer: &Source, inner: &Source, to: &str) -> Option<String> {
    let inside = match &inner.folder {
        Folder::Root => false,
        Folder::At(path) => outer.folder.holds(path),
    };
    (inner.repo == outer.repo && inner.reference == outer.reference && inside).then(|| to.to_owned())
}
