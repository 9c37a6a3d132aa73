//! The strategies.

use std::collections::BTreeSet;

use lanai_krm::ignore::Dialect;
use lanai_krm::package::{File, Folder};
use lanai_krm::{Package, kptfile};
use lanai_types::SafePath;

use crate::conflict::{Conflict, Decider, Side};
use crate::error::Error;
use crate::judge::Judge;
use crate::options::{Options, Policy, Strategy};
use crate::packages::merge_resources;
use crate::shapes::{self, Precedence};
use crate::subpackages::{Content, fetched_here, file_untouched};

/// A merged package.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The local package with upstream's changes.
    pub package: Package,
    /// Where both sides changed the same, and whose value was taken: by file, then by place in the file.
    pub conflicts: Vec<Conflict>,
}

/// Merges what became of a package upstream into what became of it locally.
///
/// Both began with `original`, which is empty when they have nothing in common. The result does not depend on the order
/// of files, and is the local package byte for byte where upstream changed nothing. Every place in which both sides
/// changed the same to different values is a conflict; there is no other.
///
/// # Errors
/// [`Error::Conflicts`] under [`Policy::Fail`]; [`Error::LocallyModified`] for a fast-forward that is none;
/// [`Error::Unfit`] and [`Error::TwoResolutions`] for resolutions that cannot be followed, whether there is such a conflict
/// or not; [`Error::Duplicate`] for a resource that a changed file holds twice; a result that breaks the rules of packages.
pub fn three_way(
    original: &Package,
    upstream: &Package,
    local: &Package,
    options: &Options,
) -> Result<Merged, Error> {
    let mut judge = Judge::new(options)?;
    let package = match options.strategy {
        Strategy::ResourceMerge => {
            merge_resources(&mut judge, [original, upstream, local], options.ignore_dialect)?
        }
        Strategy::FastForward => {
            let modified = modified([original, upstream, local]);
            if !modified.is_empty() {
                return Err(Error::LocallyModified(modified));
            }
            with_kptfiles(&mut judge, [original, upstream, local], upstream.clone())?
        }
        Strategy::ForceDeleteReplace => {
            with_kptfiles(&mut judge, [original, upstream, local], upstream.clone())?
        }
        Strategy::CopyMerge => {
            let copied = copy(&mut judge, [original, upstream, local])?;
            with_kptfiles(&mut judge, [original, upstream, local], copied)?
        }
    };
    let conflicts = judge.into_conflicts();
    let open = conflicts.iter().any(|conflict| conflict.decided_by == Decider::Policy);
    if options.policy == Policy::Fail && open {
        let is_open = |conflict: &Conflict| conflict.decided_by == Decider::Policy;
        return Err(Error::Conflicts(conflicts.into_iter().filter(is_open).collect()));
    }
    Ok(Merged { package, conflicts })
}

/// The files that local changed, added or removed. What no strategy takes away does not count: packages inside that were
/// fetched here, and that upstream only names.
fn modified([original, upstream, local]: [&Package; 3]) -> Vec<SafePath> {
    let mut paths: Vec<&SafePath> = original.iter().chain(local.iter()).map(|(path, _)| path).collect();
    paths.sort();
    paths.dedup();
    let fetched = fetched_here(upstream, local);
    let stays = |path: &SafePath| {
        fetched
            .iter()
            .any(|one| one.kptfile == *path || one.content == Content::Local && one.folder.holds(path))
    };
    let changed = paths.into_iter().filter(|path| {
        let new_kptfile = path.as_str() == kptfile::FILE_NAME && original.get(path).is_none();
        !new_kptfile && !stays(path) && !file_untouched(original, local, path)
    });
    changed.cloned().collect()
}

/// Upstream's files over the local ones, without those that upstream removed. Where that takes local files away, since they
/// are in a folder where upstream has a file, or the other way round, it is a conflict.
fn copy(judge: &mut Judge<'_>, sides: [&Package; 3]) -> Result<Package, Error> {
    let [original, upstream, local] = sides;
    let mut result = local.clone();
    for (path, _) in original.iter() {
        if upstream.get(path).is_none() {
            result.remove(path);
        }
    }
    let mut kept: Vec<Folder> = Vec::new();
    let holds = |kept: &[Folder], path: &SafePath| {
        kept.iter().any(|folder| folder.holds(path) || *folder == Folder::At(path.clone()))
    };
    for folder in BTreeSet::from_iter(shapes::candidates(judge, sides)) {
        let Folder::At(path) = &folder else { continue };
        if holds(&kept, path) {
            continue;
        }
        match shapes::settle(judge, sides, path, Precedence::Upstream, &mut result)? {
            Some(Side::Upstream) | None => {}
            Some(Side::Local | Side::Original | Side::Value) => kept.push(folder),
        }
    }
    for (path, file) in upstream.iter().filter(|(path, _)| !holds(&kept, path)) {
        result.insert(path.clone(), file.clone())?;
    }
    Ok(result)
}

/// Gives a package its merged Kptfile, and packages inside that were fetched here what is theirs.
fn with_kptfiles(judge: &mut Judge<'_>, sides: [&Package; 3], mut result: Package) -> Result<Package, Error> {
    let [_, upstream, local] = sides;
    let path: SafePath = kptfile::FILE_NAME.parse().map_err(lanai_krm::package::Error::from)?;
    // A package that has a Kptfile keeps one, also when upstream is a plain folder.
    match merged_alone(judge, sides, &path)?.or_else(|| local.get(&path).cloned()) {
        Some(file) => _ = result.insert(path, file)?,
        None => _ = result.remove(&path),
    }
    for fetched in fetched_here(upstream, local) {
        if result.get(&fetched.kptfile).is_none() {
            continue;
        }
        let content = local.below(&fetched.folder).filter(|_| fetched.content == Content::Local);
        for (path, file) in content.filter(|(path, _)| **path != fetched.kptfile) {
            result.insert(path.clone(), file.clone())?;
        }
        if let Some(file) = merged_alone(judge, sides, &fetched.kptfile)? {
            result.insert(fetched.kptfile, file)?;
        }
    }
    Ok(result)
}

/// A Kptfile, merged without what is around it.
fn merged_alone(judge: &mut Judge<'_>, sides: [&Package; 3], path: &SafePath) -> Result<Option<File>, Error> {
    let mut alone = Vec::new();
    for side in sides {
        let mut package = Package::new(*side.limits());
        if let Some(file) = side.get(path) {
            package.insert(path.clone(), file.clone())?;
        }
        alone.push(package);
    }
    let [original, upstream, local] = &alone[..] else { return Ok(None) };
    // Alone, there is no `.krmignore`.
    let merged = merge_resources(judge, [original, upstream, local], Dialect::default())?;
    Ok(merged.get(path).cloned())
}
