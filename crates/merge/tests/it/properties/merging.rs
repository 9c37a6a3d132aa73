//! What holds for any three packages. Each body takes bytes and panics when a promise is broken.

use std::collections::{BTreeSet, HashSet};

use lanai_krm::package::{File, Folder, OtherYaml, ReadOptions};
use lanai_krm::{Package, Resource};
use lanai_merge::{
    Conflict, ConflictKind, Error, Merged, Misfit, Options, Policy, Resolution, Side, Strategy, Take,
    three_way,
};
use lanai_types::Limits;

use super::choices::Choices;
use super::sides::{Edits, Model, sides};
use super::silence::{no_silent_choice, no_two_of_one_kind, values};

/// Any bytes: three small packages, or three texts under one name. Merging ends with a package or an error; no file and no
/// resource goes without a reason; conflicts are real, and what no conflict is about does not depend on who wins.
pub fn merge(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    if choices.byte() == u8::MAX {
        return texts(&bytes[1..]);
    }
    let sides = sides(&mut choices, Edits::Any);
    if ![&sides.original, &sides.upstream, &sides.local].into_iter().all(Model::is_distinct) {
        return;
    }
    let [original, upstream, local] = [&sides.original, &sides.upstream, &sides.local].map(Model::package);
    let all = [&original, &upstream, &local];
    hold(all, &mut choices);
    order_does_not_matter(all);
}

/// What holds for any merge.
pub fn hold(all: [&Package; 3], choices: &mut Choices<'_>) {
    let [original, upstream, local] = all;
    let _shown = Shown(all);
    nothing_changes_nothing(original, upstream, local);
    let theirs = merged(all, Policy::UpstreamWins, &[]);
    let ours = merged(all, Policy::LocalWins, &[]);
    nothing_is_dropped(all, &[&theirs, &ours]);
    no_silent_choice(all, &[&theirs, &ours]);
    for merged in [&theirs, &ours] {
        for (_, resource) in meaning(&merged.package) {
            no_two_of_one_kind(&resource);
        }
    }
    conflicts_are_real(&theirs.conflicts);
    silence_is_agreement(all, &theirs, &ours);
    texts_are_symmetric(all, &theirs);
    resolutions_hold(all, &theirs.conflicts, choices);
    for strategy in [Strategy::FastForward, Strategy::ForceDeleteReplace, Strategy::CopyMerge] {
        let options = Options { strategy, ..Options::default() };
        match three_way(original, upstream, local, &options) {
            Ok(_) | Err(Error::LocallyModified(_)) => {}
            Err(error) => panic!("{strategy}: {error}"),
        }
    }
}

/// The same packages with files under names of another order, put together in another order, give the same under these names.
fn order_does_not_matter(all: [&Package; 3]) {
    let _shown = Shown(all);
    let plain = merged(all, Policy::UpstreamWins, &[]);
    let [original, upstream, local] = all.map(renamed);
    let other = merged([&original, &upstream, &local], Policy::UpstreamWins, &[]);
    let values = |package: &Package| {
        let all = meaning(package).into_iter();
        all.map(|(name, resource)| (name, values(&resource))).collect::<Vec<_>>()
    };
    let found = renamed(&other.package);
    assert_eq!(values(&found), values(&plain.package));
    let others = |package: &Package| {
        let all = package.iter().filter(|(path, _)| !lanai_krm::package::is_resource_name(path.file_name()));
        all.map(|(path, file)| (path.clone(), file.clone())).collect::<Vec<_>>()
    };
    assert_eq!(others(&found), others(&plain.package));
    let ids = |conflicts: &[Conflict], name: fn(&str) -> String| {
        conflicts.iter().map(|one| name(one.id.as_str())).collect::<BTreeSet<_>>()
    };
    assert_eq!(ids(&other.conflicts, swapped), ids(&plain.conflicts, |id| swapped(&swapped(id))));
}

/// The package with `a.yaml` as `b.yaml`, and the other way round, put together from its end.
fn renamed(package: &Package) -> Package {
    let mut files: Vec<_> =
        package.iter().map(|(path, file)| (swapped(path.as_str()), file.clone())).collect();
    files.sort_by(|left, right| right.0.cmp(&left.0));
    Package::from_entries(files, Limits::default()).expect("as many files as before")
}

/// A path, or a name of a conflict that begins with one, with `a.yaml` and `b.yaml` exchanged.
fn swapped(name: &str) -> String {
    let exchanged = |from: &str, to: &str| {
        let rest = name.strip_prefix(from)?;
        (rest.is_empty() || rest.starts_with([':', '#', '~', '@'])).then(|| format!("{to}{rest}"))
    };
    let name = exchanged("a.yaml", "b.yaml").or_else(|| exchanged("b.yaml", "a.yaml")).unwrap_or(name.into());
    match name.rsplit_once('@') {
        Some((before, "a.yaml")) => format!("{before}@b.yaml"),
        Some((before, "b.yaml")) => format!("{before}@a.yaml"),
        Some(_) | None => name,
    }
}

/// Any bytes: what only upstream and what only local changed arrives, field by field and item by item.
pub fn both_arrive(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let sides = sides(&mut choices, Edits::Apart);
    let expected = both(&sides.original, &sides.upstream, &sides.local);
    let [original, upstream, local] = [&sides.original, &sides.upstream, &sides.local].map(Model::package);
    let merged = merged([&original, &upstream, &local], Policy::Fail, &[]);
    let (found, expected) = (meaning(&merged.package), meaning(&expected.package()));
    assert_eq!(found.len(), expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        assert!(values(found) == values(expected), "{name}:\n{found}\nis not\n{expected}");
    }
}

/// The model with the edits of both sides, which do not touch.
fn both(original: &Model, upstream: &Model, local: &Model) -> Model {
    use super::sides::Content::Resources;
    let mut result = local.clone();
    for (path, content) in &mut result.files {
        let (Resources(all), Some(Resources(before)), Some(Resources(theirs))) =
            (content, original.files.get(path), upstream.files.get(path))
        else {
            continue;
        };
        for ((one, before), theirs) in all.iter_mut().zip(before).zip(theirs) {
            for key in 0..6 {
                let (was, is) = (before.fields.get(&key), theirs.fields.get(&key));
                match is {
                    _ if was == is => {}
                    Some(value) => _ = one.fields.insert(key, *value),
                    None => _ = one.fields.remove(&key),
                }
            }
            let of = |items: &[[usize; 3]], key: usize| items.iter().find(|item| item[0] == key).copied();
            for key in 0..4 {
                let (was, is) = (of(&before.items, key), of(&theirs.items, key));
                let at = one.items.iter().position(|item| item[0] == key);
                match (is, at) {
                    _ if was == is => {}
                    (Some(item), Some(at)) => one.items[at] = item,
                    (Some(item), None) => one.items.push(item),
                    (None, Some(at)) => _ = one.items.remove(at),
                    (None, None) => {}
                }
            }
        }
    }
    result
}

fn texts(bytes: &[u8]) {
    let third = bytes.len() / 3;
    let side = |bytes: &[u8]| {
        let name = if bytes.len().is_multiple_of(2) { "a.yaml" } else { "a.json" };
        Package::from_entries([(name, File::regular(bytes))], Limits::default()).expect("one file")
    };
    let all = [side(&bytes[..third]), side(&bytes[third..2 * third]), side(&bytes[2 * third..])];
    for policy in [Policy::UpstreamWins, Policy::LocalWins, Policy::Fail] {
        let options = Options { policy, ..Options::default() };
        if let Ok(merged) = three_way(&all[0], &all[1], &all[2], &options) {
            conflicts_are_real(&merged.conflicts);
        }
    }
    plain_texts([&bytes[..third], &bytes[third..2 * third], &bytes[2 * third..]]);
}

/// Three texts that are no resources; a side whose text is a single byte, or none, has no file. Only what one side removed and the
/// other left as it was may go without a conflict.
fn plain_texts(texts: [&[u8]; 3]) {
    let side = |text: &[u8]| {
        let file = (text.len() > 1).then(|| ("notes.txt", File::regular(text)));
        Package::from_entries(file, Limits::default()).expect("one file at most")
    };
    let all = texts.map(side);
    let [original, upstream, local] = &all;
    for policy in [Policy::UpstreamWins, Policy::LocalWins] {
        let merged = merged([original, upstream, local], policy, &[]);
        conflicts_are_real(&merged.conflicts);
        for (side, other) in [(upstream, local), (local, upstream)] {
            for (path, file) in side.iter() {
                let removed = original.get(path) == Some(file) && other.get(path).is_none();
                let there = merged.package.get(path).is_some();
                assert!(there || removed || !merged.conflicts.is_empty(), "{path} is gone: {file:?}");
            }
        }
    }
}

fn merged([original, upstream, local]: [&Package; 3], policy: Policy, resolutions: &[Resolution]) -> Merged {
    let options = Options { policy, resolutions: resolutions.to_vec(), ..Options::default() };
    three_way(original, upstream, local, &options).unwrap_or_else(|error| panic!("{error}"))
}

fn nothing_changes_nothing(original: &Package, upstream: &Package, local: &Package) {
    for (sides, expected) in [
        ([original, original, local], local),
        ([original, upstream, original], upstream),
        ([original, upstream, upstream], upstream),
    ] {
        let merged = merged(sides, Policy::UpstreamWins, &[]);
        assert_eq!(merged.conflicts, []);
        same_package(&merged.package, expected);
    }
}

fn show(package: &Package) -> String {
    let text = |file: &File| String::from_utf8_lossy(file.content()).into_owned();
    package
        .iter()
        .flat_map(|(path, file)| ["== ".into(), path.to_string(), "\n".into(), text(file)])
        .collect()
}

/// Shows the packages when a promise is broken.
struct Shown<'a>([&'a Package; 3]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", show_all(&self.0));
        }
    }
}

fn show_all(packages: &[&Package]) -> String {
    packages.iter().flat_map(|package| ["\n======\n".into(), show(package)]).collect()
}

fn same_package(found: &Package, expected: &Package) {
    if found != expected {
        assert_eq!(show(found), show(expected));
        panic!("the modes differ");
    }
}

/// The resources of a package with what names them in a merge.
fn meaning(package: &Package) -> Vec<(String, Resource)> {
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    let mut readable = package.clone();
    readable.remove(&"data.json".parse().expect("a path"));
    let found = readable.resources(options).unwrap_or_default();
    let mut all: Vec<_> = found
        .into_iter()
        .map(|found| (format!("{} {}", found.path, name(&found.resource)), found.resource))
        .collect();
    all.sort_by(|left, right| left.0.cmp(&right.0));
    all
}

fn name(resource: &Resource) -> String {
    let text = resource.to_string();
    let mark = text.split_once("# kpt-merge: /").and_then(|(_, rest)| rest.lines().next());
    let kind = resource.kind().unwrap_or_default();
    // A document that is no resource is called by its file.
    if !text.contains("apiVersion: ") {
        return kind.into_owned();
    }
    format!("{kind} {}", mark.map_or_else(|| resource.name().unwrap_or_default().into_owned(), Into::into))
}

/// The resources of a package, by the package inside it that they belong to and their name.
fn named(package: &Package, roots: &BTreeSet<Folder>) -> Vec<(String, String)> {
    let owned = |(path, resource): (String, Resource)| {
        let holds =
            |root: &&Folder| root.holds(&path.split(' ').next().unwrap_or_default().parse().expect("a path"));
        let owner = roots.iter().rfind(holds).map_or_else(String::new, ToString::to_string);
        (path, format!("{owner} {}", name(&resource)))
    };
    meaning(package).into_iter().map(owned).collect()
}

/// Each file and each resource of local and upstream is in the result, or was there before and the other side removed it.
fn nothing_is_dropped(sides: [&Package; 3], merges: &[&Merged]) {
    let [original, upstream, local] = sides;
    let roots: BTreeSet<Folder> = sides.into_iter().flat_map(Package::package_roots).collect();
    let [originals, theirs, ours] = sides.map(|side| named(side, &roots));
    let has = |all: &[(String, String)], name: &str| all.iter().any(|(_, one)| one == name);
    for merged in merges {
        let result = named(&merged.package, &roots);
        let settled = |path: &str| merged.conflicts.iter().any(|one| path.starts_with(one.path.as_str()));
        for (side, other, names, others) in
            [(local, upstream, &ours, &theirs), (upstream, local, &theirs, &ours)]
        {
            // What one side ignores is no resource there; and of a package that is only referred to, no content comes.
            let counts = |path: &str| {
                let path = path.split(' ').next().unwrap_or_default().parse().expect("a path");
                let bare = |root: &&Folder| {
                    let alone = |side: &Package| side.below(root).count() == 1;
                    root.holds(&path) && **root != Folder::Root && (alone(upstream) || alone(local))
                };
                path.as_str() != "ignored.yaml" && !roots.iter().any(|root| bare(&root))
            };
            for (path, name) in names.iter().filter(|(path, _)| counts(path)) {
                let removed = has(&originals, name) && (!has(others, name) || side == upstream);
                let twice = originals.iter().filter(|(_, one)| one == name).count() > 1;
                assert!(has(&result, name) || removed || settled(path) || twice, "{path} is gone");
            }
            for (path, file) in
                side.iter().filter(|(path, _)| !lanai_krm::package::is_resource_name(path.file_name()))
            {
                let removed = original.get(path) == Some(file) && other.get(path).is_none();
                let there = merged.package.get(path).is_some();
                assert!(there || removed || settled(path.as_str()), "{path} is gone: {file:?}");
            }
        }
    }
}

fn conflicts_are_real(conflicts: &[Conflict]) {
    let mut names = HashSet::new();
    for one in conflicts {
        assert!(names.insert(one.id.clone()), "{} twice", one.id);
        assert_ne!(one.upstream, one.local, "{one:?}");
        // What was moved changed by that.
        let gone_here = one.kind == ConflictKind::RemovedLocallyChangedUpstream;
        let moved = gone_here && !one.id.as_str().starts_with(one.path.as_str());
        assert!(moved || one.original != one.upstream, "{one:?}");
        let moved = one.kind == ConflictKind::MovedApart || one.id.as_str().contains('@');
        // A comment of upstream's that has no place here is told, though local changed nothing.
        let left_out = one.kind == ConflictKind::CommentsDiffer && one.chosen == Side::Local;
        assert!(moved || left_out || one.original != one.local, "{one:?}");
    }
}

/// Deciding each conflict of one policy as the other does gives what the other gives.
fn silence_is_agreement(sides: [&Package; 3], theirs: &Merged, ours: &Merged) {
    let ids = |merged: &Merged| merged.conflicts.iter().map(|one| one.id.clone()).collect::<HashSet<_>>();
    // What is in a file or a folder that gave way to the other side's has no conflicts of its own.
    if !theirs.conflicts.iter().any(|one| one.id.as_str().ends_with("~folder")) {
        assert_eq!(ids(theirs), ids(ours));
    }
    let resolutions: Vec<_> = ours
        .conflicts
        .iter()
        .map(|one| {
            let take = if one.chosen == Side::Upstream { Take::Upstream } else { Take::Local };
            Resolution { conflict: one.id.clone(), take }
        })
        .collect();
    same_package(&merged(sides, Policy::UpstreamWins, &resolutions).package, &ours.package);
}

/// A text that merges without a conflict is the same whichever side is called upstream.
fn texts_are_symmetric([original, upstream, local]: [&Package; 3], one: &Merged) {
    let other = merged([original, local, upstream], Policy::UpstreamWins, &[]);
    let path = "README.md".parse().expect("a path");
    let settled = |merged: &Merged| merged.conflicts.iter().any(|one| one.path == path);
    if !settled(one) && !settled(&other) {
        assert_eq!(one.package.get(&path), other.package.get(&path));
    }
}

/// Applying resolutions to the result again changes nothing.
fn resolutions_hold(sides: [&Package; 3], conflicts: &[Conflict], choices: &mut Choices<'_>) {
    let mut resolutions: Vec<_> = conflicts
        .iter()
        .map(|one| {
            let value = matches!(one.kind, ConflictKind::BothChanged | ConflictKind::AddedOnBoth)
                && one.field.segments().len() > 1
                && !one.id.as_str().ends_with(']')
                && !one.id.as_str().ends_with("~variant");
            let take = match choices.below(if value { 4 } else { 3 }) {
                0 => Take::Upstream,
                1 => Take::Local,
                2 => Take::Original,
                _ => Take::Value("{chosen: [1]}".into()),
            };
            Resolution { conflict: one.id.clone(), take }
        })
        .collect();
    let [original, upstream, local] = sides;
    let first = loop {
        let options = Options { resolutions: resolutions.clone(), ..Options::default() };
        match three_way(original, upstream, local, &options) {
            Ok(first) => break first,
            Err(Error::PlaceTaken(_) | Error::OtherKey(_)) => return,
            // A comment that has no place stays away.
            Err(Error::Unfit { conflict, why: Misfit::NoPlace }) => {
                let refused = resolutions.iter_mut().find(|one| one.conflict == conflict);
                let refused = refused.filter(|one| one.take != Take::Local).expect("local's is always taken");
                refused.take = Take::Local;
            }
            Err(error) => panic!("{error}"),
        }
    };
    let again = merged([original, upstream, &first.package], Policy::UpstreamWins, &resolutions);
    same_package(&again.package, &first.package);
}
