//! A file on one side where the other side has a folder: one of them is taken as a whole.

use lanai_krm::Package;
use lanai_krm::package::{File, Folder};
use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{ConflictKind, Side, Subject};
use crate::error::Error;
use crate::files::{text_of, word};
use crate::judge::{Case, Judge, Rule, Values};
use crate::names::{self, Aspect};
use crate::options::Take;
use crate::subpackages::{file_untouched, listing, replace, untouched};

/// The places where upstream and local do not have the same of file and folder, and those that a resolution of such a
/// conflict, or of one about a package inside the package, is about: when it is applied again, nothing may be left there by
/// which they could be told.
pub(crate) fn candidates(judge: &Judge<'_>, sides: [&Package; 3]) -> Vec<Folder> {
    let [_, upstream, local] = sides;
    let mut found = Vec::new();
    for (one, other) in [(upstream, local), (local, upstream)] {
        let differs = |path: &&SafePath| is_folder(other, path);
        found.extend(one.iter().map(|(path, _)| path).filter(differs).cloned().map(Folder::At));
    }
    if judge.has_pins() {
        let pinned = |path: &SafePath| {
            judge.pinned(&id_of(path)).is_some() || judge.pinned(&names::folder(path)).is_some()
        };
        for (path, _) in sides.into_iter().flat_map(Package::iter) {
            let mut at = Some(path.clone());
            while let Some(path) = at {
                at = path.parent();
                if pinned(&path) {
                    found.push(Folder::At(path));
                }
            }
        }
    }
    found
}

/// What counts more, where nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// A change.
    Change,
    /// What upstream has.
    Upstream,
}

/// Takes the file or the folder of one side; returns whose. `None` where files and folders are the same and no resolution
/// says anything.
///
/// What one side left alone is the other side's. Where both changed it, local keeps what it has; where both added it, the
/// policy decides: both are conflicts.
pub(crate) fn settle(
    judge: &mut Judge<'_>,
    sides: [&Package; 3],
    path: &SafePath,
    precedence: Precedence,
    result: &mut Package,
) -> Result<Option<Side>, Error> {
    let [original, upstream, local] = sides;
    let id = id_of(path);
    let differ = |one: &Package, other: &Package| one.get(path).is_some() && is_folder(other, path);
    let clash = differ(upstream, local) || differ(local, upstream);
    let natural = if !clash {
        None
    } else if left_alone(original, local, path) {
        Some(Take::Upstream)
    } else if precedence == Precedence::Change && left_alone(original, upstream, path) {
        Some(Take::Local)
    } else {
        let is_new = original.get(path).is_none() && !is_folder(original, path);
        let case = Case {
            id: id.clone(),
            path: path.clone(),
            subject: Subject::File,
            field: Path::root(),
            kind: ConflictKind::KindsDiffer,
            values: values(sides, path),
        };
        let rule = match precedence {
            Precedence::Upstream => Rule::Upstream,
            Precedence::Change if is_new => Rule::Policy,
            Precedence::Change => Rule::Local,
        };
        Some(judge.decide(case, rule))
    };
    // Applied again, upstream's or local's is there already, and merges as any other.
    let again = |take: &&Take| clash || !matches!(take, Take::Upstream | Take::Local);
    let Some(take) = judge.pinned(&id).filter(again).cloned().or(natural) else { return Ok(None) };
    let folder = Folder::At(path.clone());
    let (source, side) = match take {
        Take::Upstream => (upstream, Side::Upstream),
        Take::Local => (local, Side::Local),
        Take::Original => (original, Side::Original),
        Take::Value(text) => {
            let nothing = Package::new(*local.limits());
            replace(result, &nothing, &folder)?;
            result.insert(path.clone(), File::from_text(text))?;
            return Ok(Some(Side::Value));
        }
    };
    result.remove(path);
    replace(result, source, &folder)?;
    if let Some(file) = source.get(path) {
        result.insert(path.clone(), file.clone())?;
    }
    Ok(Some(side))
}

fn id_of(path: &SafePath) -> String {
    names::aspect(&names::file(path), Aspect::Folder)
}

fn is_folder(package: &Package, path: &SafePath) -> bool {
    package.below(&Folder::At(path.clone())).next().is_some()
}

/// Whether a side has there what was there before, the marks of a merge aside.
fn left_alone(original: &Package, side: &Package, path: &SafePath) -> bool {
    file_untouched(original, side, path) && untouched(original, side, &Folder::At(path.clone()))
}

/// What a conflict shows: the text of a file, the files of a folder; modes where a file has another mode only.
fn values(sides: [&Package; 3], path: &SafePath) -> Values {
    let contents: Vec<_> = sides.iter().filter_map(|side| side.get(path)).map(File::content).collect();
    let only_mode = contents.len() > 1 && contents.windows(2).all(|pair| pair[0] == pair[1]);
    let show = |file: &File| if only_mode { word(file.mode()).into() } else { text_of(file) };
    let folder = Folder::At(path.clone());
    let [original, upstream, local] =
        sides.map(|side| side.get(path).map(show).or_else(|| listing(side, &folder)));
    Values { original, upstream, local }
}
