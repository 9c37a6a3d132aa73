//! Packages: files are told apart, resources are merged and put back into their files.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use lanai_krm::ignore::{Dialect, EntryKind};
use lanai_krm::package::{File, Folder, Mode};
use lanai_krm::{IgnoreRules, Package, ignore, kptfile};
use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{Side, Subject};
use crate::error::Error;
use crate::files::{self, Versions};
use crate::judge::{Case, Judge};
use crate::keys::Schemas;
use crate::matching::{Added, Match, Sheets};
use crate::names::{self, Aspect};
use crate::remarks;
use crate::resources::{self, Book, FileChanges};
use crate::sheets::{Changes, Sheet, compose, is_structured};
use crate::subpackages;

/// Merges resources by fields and other files as they are. A file whose documents cannot be edited so, or cannot stand
/// together, merges as text.
pub(crate) fn merge_resources(
    judge: &mut Judge<'_>,
    sides: [&Package; 3],
    dialect: Dialect,
) -> Result<Package, Error> {
    merge_in_attempts(judge, sides, dialect).map(|done| done.package)
}

/// A merge, and how many attempts it took.
struct Done {
    package: Package,
    #[cfg_attr(not(test), expect(dead_code, reason = "only what it costs is told by it"))]
    attempts: usize,
}

/// Files that merge as text are known when the others were tried: all that show up in one attempt are text in the next.
fn merge_in_attempts(judge: &mut Judge<'_>, sides: [&Package; 3], dialect: Dialect) -> Result<Done, Error> {
    let recorded = judge.recorded();
    let mut as_text = BTreeSet::new();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let failed = match attempt(judge, sides, &as_text, dialect)? {
            Attempt::Done(package) => return Ok(Done { package, attempts }),
            Attempt::Failed(paths) => paths,
        };
        judge.forget_since(recorded);
        if let Some(path) = failed.intersection(&as_text).next() {
            return Err(Error::Composition(path.clone()));
        }
        as_text.extend(failed);
    }
}

/// What comes of trying to merge all files but some by fields.
enum Attempt {
    Done(Package),
    /// Files that cannot be merged so.
    Failed(BTreeSet<SafePath>),
}

/// Notes a file that is to be merged as text.
///
/// # Errors
/// The error, where it is about something else, or about a file that cannot merge as text.
fn or_text<T>(
    judge: &Judge<'_>,
    merged: Result<T, Error>,
    failed: &mut BTreeSet<SafePath>,
) -> Result<Option<T>, Error> {
    match merged {
        Ok(merged) => Ok(Some(merged)),
        Err(Error::Composition(path) | Error::Edit { path, .. }) if may_be_text(judge, &path) => {
            failed.insert(path);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether a file may merge as text: a Kptfile has fields that are local's, and resolutions may be about fields.
fn may_be_text(judge: &Judge<'_>, path: &SafePath) -> bool {
    path.file_name() != kptfile::FILE_NAME && !judge.has_about_inside(path)
}

fn attempt(
    judge: &mut Judge<'_>,
    sides: [&Package; 3],
    as_text: &BTreeSet<SafePath>,
    dialect: Dialect,
) -> Result<Attempt, Error> {
    let [original, upstream, local] = sides;
    let mut result = local.clone();
    let settled = subpackages::settle(judge, sides, &mut result)?;
    let versions = |path: &SafePath| {
        let all =
            Versions { original: original.get(path), upstream: upstream.get(path), local: local.get(path) };
        settled.shape(path).map_or(all, |side| all.where_taken(side))
    };
    let mut ignored = Ignored::new(sides, dialect);
    let mut sheets = Sheets { references: settled.kptfiles(), ..Sheets::default() };
    if judge.has_pins() {
        sheets.files =
            [upstream, local].into_iter().flat_map(Package::iter).map(|(path, _)| path.clone()).collect();
    }
    let mut plain = Vec::new();
    for path in changed(sides) {
        let fields = is_structured(path) && !as_text.contains(path) && !ignored.ignores(path)?;
        if settled.covers(path) {
            if let Some(side) = settled.shape(path).filter(|_| fields) {
                sheets.add_taken(path, versions(path), side, local.limits())?;
            }
            continue;
        }
        if !fields || sheets.add(path, versions(path), local.limits())? == Added::No {
            plain.push(path);
        }
    }
    let roots: BTreeSet<Folder> = sides.into_iter().flat_map(Package::package_roots).collect();
    sheets.note_renamed(&roots);
    let matches = sheets.matches(judge, &roots);
    let book = Book { sheets: &sheets, roots: &roots };
    let whole = taken_whole(judge, &book, &matches, versions);
    let schemas = schemas(sides);
    let mut changes = FileChanges::new();
    let mut failed = BTreeSet::new();
    for found in &matches {
        if !found.paths().any(|path| whole.contains(path)) {
            let merged = resources::merge(judge, &schemas, &book, found, &mut changes);
            or_text(judge, merged, &mut failed)?;
        }
    }
    // What goes makes room for what comes: a file may take the place of a folder.
    let mut incoming: Vec<(SafePath, File)> = Vec::new();
    let mut finish = |path: &SafePath, file: Option<File>| match file {
        Some(file) => incoming.push((path.clone(), file)),
        None => {
            result.remove(path);
        }
    };
    for path in sheets.paths().into_iter().filter(|path| !sheets.gave_way.contains(*path)) {
        let versions = versions(path);
        if whole.contains(path) {
            finish(path, versions.upstream.cloned());
            continue;
        }
        let mut changes = changes.remove(path).unwrap_or_default();
        changes.preamble = preamble(judge, path, &sheets);
        let written = written(judge, path, &sheets, &changes, versions);
        if let Some(file) = or_text(judge, written, &mut failed)? {
            finish(path, file);
        }
    }
    if !failed.is_empty() {
        return Ok(Attempt::Failed(failed));
    }
    for path in plain {
        let file = files::merge(judge, path, versions(path));
        finish(path, file);
    }
    for (path, file) in incoming {
        if result.get(&path) != Some(&file) {
            result.insert(path, file)?;
        }
    }
    Ok(Attempt::Done(result))
}

/// The files that are not the same on all sides.
fn changed([original, upstream, local]: [&Package; 3]) -> BTreeSet<&SafePath> {
    let all = [original, upstream, local].into_iter().flat_map(Package::iter);
    let same = |path: &SafePath| {
        let file = original.get(path);
        upstream.get(path) == file && local.get(path) == file
    };
    all.map(|(path, _)| path).filter(|path| !same(path)).collect()
}

/// The files that become upstream's as they are: nothing local is in them, no resolution is about them, no resource
/// moved between them and a file that is merged, and none of upstream's has the name of a local one.
fn taken_whole<'a>(
    judge: &Judge<'_>,
    book: &Book<'a>,
    matches: &'a [Match],
    versions: impl Fn(&SafePath) -> Versions<'a>,
) -> BTreeSet<&'a SafePath> {
    let Book { sheets, roots } = *book;
    let mut whole = sheets.paths();
    whole.retain(|path| {
        let versions = versions(path);
        // A Kptfile that local has keeps what is local's in it.
        let kept =
            path.file_name() == kptfile::FILE_NAME && versions.upstream.is_some() && versions.local.is_some();
        // What upstream has there, and is not taken, may have come from a file that must not lose it.
        let gave_way = versions.upstream.is_some() && sheets.gave_way.contains(*path);
        versions.local == versions.original && !kept && !gave_way && !judge.has_about(path)
    });
    let mut beside: HashMap<&SafePath, Vec<&Match>> = HashMap::new();
    let mut torn: Vec<&SafePath> = Vec::new();
    for found in matches.iter().filter(|found| sheets.namesake(roots, found).is_some()) {
        torn.extend(found.paths().filter(|path| whole.remove(path)));
    }
    for found in matches.iter().filter(|found| !found.is_at_home()) {
        for path in found.paths() {
            beside.entry(path).or_default().push(found);
            if !whole.contains(path) {
                torn.push(path);
            }
        }
    }
    // A file that is merged pulls in those that share a resource with it.
    while let Some(path) = torn.pop() {
        for neighbour in beside.remove(path).into_iter().flatten().flat_map(Match::paths) {
            if whole.remove(neighbour) || beside.contains_key(neighbour) {
                torn.push(neighbour);
            }
        }
    }
    whole
}

/// The table of list keys, with the definitions that the local package and upstream have.
fn schemas([_, upstream, local]: [&Package; 3]) -> Cow<'static, Schemas> {
    let mut schemas = Cow::Borrowed(Schemas::built_in());
    for package in [upstream, local] {
        for (path, file) in package.iter() {
            let defines = is_structured(path)
                && file.text().is_some_and(|text| text.contains("CustomResourceDefinition"));
            if !defines {
                continue;
            }
            // Which side has a definition twice is said where the file is merged.
            let sheet = Sheet::read(Side::Local, path, file, package.limits()).ok().flatten();
            for document in sheet.iter().flat_map(Sheet::documents) {
                schemas.to_mut().add_definition(document);
            }
        }
    }
    schemas
}

/// What stands before all documents of a file after the merge; `None` where local's does.
fn preamble(judge: &mut Judge<'_>, path: &SafePath, sheets: &Sheets) -> Option<String> {
    let sides = sheets.preambles(path);
    let id = names::aspect(&names::file(path), Aspect::Preamble);
    let case = |kind, values| Case {
        id: id.clone(),
        path: path.clone(),
        subject: Subject::File,
        field: Path::root(),
        kind,
        values,
    };
    let merged = remarks::merge(judge, sides, &id, case);
    (merged != sides[2].unwrap_or_default()).then_some(merged)
}

/// The file after the merge.
fn written(
    judge: &mut Judge<'_>,
    path: &SafePath,
    sheets: &Sheets,
    changes: &Changes,
    versions: Versions<'_>,
) -> Result<Option<File>, Error> {
    let text = if changes.is_empty() {
        versions.local.map(|file| file.content().to_vec())
    } else {
        let sheet = sheets.local.get(path).map(|sheet| &**sheet);
        compose(path, sheet, changes)?.map(String::into_bytes)
    };
    let Some(text) = text else { return Ok(None) };
    let mode = files::mode(judge, path, Subject::File, versions);
    let either = || versions.local.or(versions.upstream).map_or(Mode::Regular, File::mode);
    Ok(Some(File::new(text, mode.unwrap_or_else(either))))
}

/// What the `.krmignore` files say; one side's word is enough.
struct Ignored<'a> {
    dialect: Dialect,
    sides: Vec<(&'a Package, BTreeMap<Folder, IgnoreRules>)>,
}

impl<'a> Ignored<'a> {
    fn new(sides: [&'a Package; 3], dialect: Dialect) -> Self {
        let has_rules =
            |package: &&Package| package.iter().any(|(path, _)| path.file_name() == ignore::FILE_NAME);
        let sides = sides.into_iter().filter(has_rules).map(|side| (side, BTreeMap::new())).collect();
        Self { dialect, sides }
    }

    /// Whether a side ignores the file, which is then no resource file. A Kptfile always is one.
    fn ignores(&mut self, path: &SafePath) -> Result<bool, Error> {
        if path.file_name() == kptfile::FILE_NAME {
            return Ok(false);
        }
        for (package, rules) in &mut self.sides {
            let owner = package.owner(path);
            let Some(inside) = owner.relative(path) else { continue };
            let rules = match rules.entry(owner) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let rules = package.ignore_rules(place.key())?;
                    place.insert(rules)
                }
            };
            let ignores = rules.matches_in(self.dialect, &inside, EntryKind::File);
            let too_slow = |_| lanai_krm::package::Error::IgnoreTooSlow { path: path.clone() };
            if ignores.map_err(too_slow)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use lanai_types::Limits;

    use super::*;
    use crate::options::Options;

    /// Each file has a value that cannot be copied, for it contains itself.
    #[test]
    fn many_files_that_merge_as_text_cost_one_more_attempt() {
        let side = |text: &str| {
            let files = (0..20).map(|at| (format!("{at}.yaml"), File::from_text(text)));
            Package::from_entries(files, Limits::default()).unwrap()
        };
        let circle = "a: 1\nb: &x [*x]\n\n\n\n\nc: 1\n";
        let [original, upstream, local] = ["a: 1\n\n\n\n\nc: 1\n", circle, "a: 1\n\n\n\n\nc: 2\n"].map(side);
        let options = Options::default();
        let mut judge = Judge::new(&options).unwrap();
        let done = merge_in_attempts(&mut judge, [&original, &upstream, &local], Dialect::default()).unwrap();
        assert_eq!(done.attempts, 2);
        assert_eq!(done.package, side(&circle.replace("c: 1", "c: 2")));
        assert_eq!(judge.into_conflicts(), []);
    }
}
