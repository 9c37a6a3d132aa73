//! Packages inside the package that one side removed as a whole.

use lanai_krm::Package;
use lanai_krm::package::Folder;
use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{ConflictKind, Subject};
use crate::document::is_untouched;
use crate::error::Error;
use crate::judge::{Case, Judge, Values};
use crate::options::Take;
use crate::sheets::{Sheet, is_structured};

/// Decides about packages that one side removed. Returns the folders that need no more merging; `result` has what they
/// hold.
pub(crate) fn settle(
    judge: &mut Judge<'_>,
    [original, upstream, local]: [&Package; 3],
    result: &mut Package,
) -> Result<Vec<Folder>, Error> {
    let mut settled: Vec<Folder> = Vec::new();
    for folder in original.package_roots() {
        let Folder::At(path) = &folder else { continue };
        if settled.iter().any(|outer| outer.holds(path)) {
            continue;
        }
        let gone = |package: &Package| package.below(&folder).next().is_none();
        let id = format!("{path}/");
        let (kind, changed) = match (gone(upstream), gone(local)) {
            (false, false) if judge.pinned(&id).is_none() => continue,
            (true, true) | (false, false) => (None, false),
            (true, false) => {
                (Some(ConflictKind::RemovedUpstreamChangedLocally), !untouched(original, local, &folder))
            }
            (false, true) => {
                (Some(ConflictKind::RemovedLocallyChangedUpstream), !untouched(original, upstream, &folder))
            }
        };
        let take = match kind.filter(|_| changed) {
            Some(kind) => judge.keep_local(Case {
                id,
                path: path.clone(),
                subject: Subject::Subpackage,
                field: Path::root(),
                kind,
                values: Values::default(),
            }),
            None => judge.pinned(&id).cloned().unwrap_or(match kind {
                Some(ConflictKind::RemovedUpstreamChangedLocally) => Take::Upstream,
                Some(_) | None => Take::Local,
            }),
        };
        let source = match take {
            Take::Local | Take::Value(_) => local,
            Take::Upstream => upstream,
            Take::Original => original,
        };
        replace(result, source, &folder)?;
        settled.push(folder);
    }
    Ok(settled)
}

fn replace(result: &mut Package, source: &Package, folder: &Folder) -> Result<(), Error> {
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
fn untouched(original: &Package, other: &Package, folder: &Folder) -> bool {
    let count = |package: &Package| package.below(folder).count();
    count(original) == count(other)
        && original.below(folder).all(|(path, _)| file_untouched(original, other, path))
}

/// Whether a file means what it meant, the marks of a merge aside.
pub(crate) fn file_untouched(original: &Package, other: &Package, path: &SafePath) -> bool {
    use crate::conflict::Side;
    let (before, after) = (original.get(path), other.get(path));
    if before == after {
        return true;
    }
    let (Some(before), Some(after)) = (before, after) else { return false };
    if before.mode() != after.mode() || !is_structured(path) {
        return false;
    }
    let sheets = (Sheet::read(Side::Original, path, before), Sheet::read(Side::Local, path, after));
    let (Ok(Some(before)), Ok(Some(after))) = sheets else { return false };
    before.pages.len() == after.pages.len()
        && before.documents().zip(after.documents()).all(|(before, after)| {
            if path.file_name() == "Kptfile" {
                let content = crate::document::kptfile_content;
                is_untouched(&content(before), &content(after))
            } else {
                is_untouched(before, after)
            }
        })
}
