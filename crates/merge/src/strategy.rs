//! The strategies.

use std::collections::BTreeSet;

use lanai_krm::Package;
use lanai_krm::package::Folder;
use lanai_types::SafePath;

use crate::conflict::{Conflict, Decider, Side};
use crate::error::Error;
use crate::judge::Judge;
use crate::options::{Options, Policy, Strategy};
use crate::packages::merge_resources;
use crate::shapes::{self, Precedence};
use crate::subpackages::file_untouched;

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
/// [`Error::Duplicate`] for a resource that a changed file holds twice; a result that breaks the rules of packages.
pub fn three_way(
    original: &Package,
    upstream: &Package,
    local: &Package,
    options: &Options,
) -> Result<Merged, Error> {
    let mut judge = Judge::new(options);
    let package = match options.strategy {
        Strategy::ResourceMerge => merge_resources(&mut judge, [original, upstream, local])?,
        Strategy::FastForward => {
            let modified = modified(original, local);
            if !modified.is_empty() {
                return Err(Error::LocallyModified(modified));
            }
            with_kptfile(&mut judge, [original, upstream, local], upstream.clone())?
        }
        Strategy::ForceDeleteReplace => {
            with_kptfile(&mut judge, [original, upstream, local], upstream.clone())?
        }
        Strategy::CopyMerge => {
            let copied = copy(&mut judge, [original, upstream, local])?;
            with_kptfile(&mut judge, [original, upstream, local], copied)?
        }
    };
    let conflicts = judge.conflicts;
    let open = conflicts.iter().any(|conflict| conflict.decided_by == Decider::Policy);
    if options.policy == Policy::Fail && open {
        let is_open = |conflict: &Conflict| conflict.decided_by == Decider::Policy;
        return Err(Error::Conflicts(conflicts.into_iter().filter(is_open).collect()));
    }
    Ok(Merged { package, conflicts })
}

/// The files that local changed, added or removed.
fn modified(original: &Package, local: &Package) -> Vec<SafePath> {
    let mut paths: Vec<&SafePath> = original.iter().chain(local.iter()).map(|(path, _)| path).collect();
    paths.sort();
    paths.dedup();
    let changed = paths.into_iter().filter(|path| {
        let new_kptfile = path.as_str() == KPTFILE && original.get(path).is_none();
        !new_kptfile && !file_untouched(original, local, path)
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

const KPTFILE: &str = "Kptfile";

/// Gives a package the merged Kptfile.
fn with_kptfile(judge: &mut Judge<'_>, sides: [&Package; 3], mut result: Package) -> Result<Package, Error> {
    let path: SafePath = KPTFILE.parse().map_err(lanai_krm::package::Error::from)?;
    let mut alone = Vec::new();
    for side in sides {
        let mut package = Package::new(*side.limits());
        if let Some(file) = side.get(&path) {
            package.insert(path.clone(), file.clone())?;
        }
        alone.push(package);
    }
    let [original, upstream, local] = &alone[..] else { return Ok(result) };
    let merged = merge_resources(judge, [original, upstream, local])?;
    // A package that has a Kptfile keeps one, also when upstream is a plain folder.
    match merged.get(&path).or_else(|| local.get(&path)) {
        Some(file) => result.insert(path, file.clone())?,
        None => result.remove(&path),
    };
    Ok(result)
}
