//! Which ref a name means.

use lanai_krm::package::Folder;
use lanai_types::RefName;

use crate::revision::Name;

/// The refs that a name can mean for a package in a folder, the first to exist counts.
///
/// A tag may carry the folder of its package in front, or a part of it from the root: for `a/b` and `v1` that is
/// `a/b/v1`, then `a/v1`. Then come the branch and the tag of that very name. A full name means itself.
pub(crate) fn candidates(name: &Name, folder: &Folder) -> Vec<RefName> {
    let name = name.as_str();
    if name.starts_with("refs/") {
        return name.parse().into_iter().collect();
    }
    let mut found = Vec::new();
    let mut at = Some(folder.clone());
    while let Some(Folder::At(path)) = at {
        found.extend(RefName::tag(&format!("{path}/{name}")).ok());
        at = Folder::At(path).parent();
    }
    found.extend(RefName::branch(name).ok());
    found.extend(RefName::tag(name).ok());
    found
}

/// A ref's name as people write it.
pub(crate) fn short(name: &str) -> &str {
    let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"));
    short.unwrap_or(name)
}

/// The names that somebody may have meant, the nearest first.
pub(crate) fn near<'a>(wanted: &str, folder: &Folder, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let prefix = match folder {
        Folder::Root => String::new(),
        Folder::At(path) => format!("{path}/"),
    };
    let visible = names.filter(|name| name.starts_with("refs/heads/") || name.starts_with("refs/tags/"));
    let mut rated: Vec<(f64, &str)> = visible
        .map(|name| {
            let name = short(name);
            let inside = name.strip_prefix(&prefix).unwrap_or(name);
            let last = inside.rsplit('/').next().unwrap_or(inside);
            let likeness = |text: &str| strsim::jaro_winkler(&text.to_lowercase(), &wanted.to_lowercase());
            (likeness(inside).max(likeness(last)), name)
        })
        .filter(|(likeness, _)| *likeness >= ENOUGH)
        .collect();
    rated.sort_by(|(left, one), (right, other)| right.total_cmp(left).then_with(|| one.cmp(other)));
    rated.dedup_by(|left, right| left.1 == right.1);
    rated.into_iter().take(MAX_NEAR).map(|(_, name)| name.to_owned()).collect()
}

/// How alike a name must be to be worth a mention, between nothing and one.
const ENOUGH: f64 = 0.7;

/// How many names are mentioned.
const MAX_NEAR: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    fn name(text: &str) -> Name {
        match text.parse().unwrap() {
            Revision::Name(name) => name,
            Revision::DefaultBranch | Revision::Commit(_) => panic!("{text}"),
        }
    }

    #[test]
    fn tags_of_the_folder_come_first() {
        let folder = Folder::At("a/b".parse().unwrap());
        let found = candidates(&name("v1"), &folder);
        let found: Vec<_> = found.iter().map(RefName::as_str).collect();
        assert_eq!(found, ["refs/tags/a/b/v1", "refs/tags/a/v1", "refs/heads/v1", "refs/tags/v1"]);
        let found = candidates(&name("refs/changes/1"), &folder);
        assert_eq!(found.iter().map(RefName::as_str).collect::<Vec<_>>(), ["refs/changes/1"]);
    }

    #[test]
    fn near_names_are_those_that_look_alike() {
        let names = ["refs/heads/main", "refs/tags/a/v1.2", "refs/tags/v1.20", "refs/changes/v1.2"];
        let folder = Folder::At("a".parse().unwrap());
        assert_eq!(near("v1.3", &folder, names.into_iter()), ["a/v1.2", "v1.20"]);
        assert_eq!(near("maine", &folder, names.into_iter()), ["main"]);
        assert_eq!(near("zzz", &folder, names.into_iter()), [""; 0]);
    }
}
