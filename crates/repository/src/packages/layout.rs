//! Which ref means what: the layout that Porch uses.

use std::fmt;

use lanai_krm::package::Folder;
use lanai_types::{PackageName, RefName, RevisionNumber, WorkspaceName};

/// Where the packages of a repository are: below a folder, published on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The branch with what is published, `main` for most.
    pub branch: Branch,
    /// The folder that holds the packages.
    pub directory: Folder,
}

/// The name of a branch, without `refs/heads/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch(RefName);

/// A name that git allows no branch to have, or one that the layout needs for itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is no name of a branch for published packages: {why}", lanai_types::quote::Quoted(.raw))]
pub struct BranchError {
    /// The text.
    pub raw: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a ref is for a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The branch with what is published.
    Main,
    /// `drafts/P/W`.
    Draft(Place<WorkspaceName>),
    /// `proposed/P/W`.
    Proposed(Place<WorkspaceName>),
    /// `deletionProposed/P/X`, where `X` is `vN` or a workspace.
    DeletionMark(Place<String>),
    /// Tag `P/X`, where `X` is `vN` or anything that somebody else chose.
    Tag(Place<String>),
    /// Nothing to us: a branch of others, a tag without a slash, a path outside of the directory.
    Foreign,
    /// It looks like one of ours, and its name cannot be a package's or a workspace's.
    Odd(String),
}

/// A package and what follows it in the name of a ref.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place<T> {
    /// The package, as its repository names it: without the directory.
    pub package: PackageName,
    /// The last segment.
    pub last: T,
}

impl Branch {
    /// The branch by its full name.
    pub fn ref_name(&self) -> &RefName {
        &self.0
    }

    /// The name without `refs/heads/`.
    pub fn as_str(&self) -> &str {
        self.0.branch_name().unwrap_or_default()
    }
}

impl std::str::FromStr for Branch {
    type Err = BranchError;

    fn from_str(raw: &str) -> Result<Self, BranchError> {
        let refuse = |why: String| BranchError { raw: raw.to_owned(), why };
        let name = RefName::branch(raw).map_err(|cause| refuse(cause.to_string()))?;
        let first = raw.split('/').next().unwrap_or_default();
        if [DRAFTS, PROPOSED, DELETION_PROPOSED].contains(&first) {
            return Err(refuse(format!("branches below \"{first}/\" have a meaning of their own")));
        }
        Ok(Self(name))
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const DRAFTS: &str = "drafts";
const PROPOSED: &str = "proposed";
const DELETION_PROPOSED: &str = "deletionProposed";

impl Layout {
    /// What a ref is.
    pub fn meaning(&self, name: &RefName) -> Meaning {
        if name == self.branch.ref_name() {
            return Meaning::Main;
        }
        if let Some(tag) = name.tag_name() {
            return self.tag(tag);
        }
        let Some((kind, rest)) = name.branch_name().and_then(|branch| branch.split_once('/')) else {
            return Meaning::Foreign;
        };
        if ![DRAFTS, PROPOSED, DELETION_PROPOSED].contains(&kind) {
            return Meaning::Foreign;
        }
        let (package, last) = match self.split(rest) {
            Ok(Some(parts)) => parts,
            Ok(None) => return Meaning::Foreign,
            Err(why) => return Meaning::Odd(why),
        };
        if kind == DELETION_PROPOSED {
            return Meaning::DeletionMark(Place { package, last: last.to_owned() });
        }
        match WorkspaceName::imported(last) {
            Ok(last) if kind == DRAFTS => Meaning::Draft(Place { package, last }),
            Ok(last) => Meaning::Proposed(Place { package, last }),
            Err(cause) => Meaning::Odd(format!("\"{last}\" is no name of a workspace: {cause}")),
        }
    }

    fn tag(&self, tag: &str) -> Meaning {
        match self.split(tag) {
            Ok(Some((package, last))) => Meaning::Tag(Place { package, last: last.to_owned() }),
            Ok(None) => Meaning::Foreign,
            Err(why) => Meaning::Odd(why),
        }
    }

    /// The package and the last segment; `None` outside of the directory.
    fn split<'a>(&self, rest: &'a str) -> Result<Option<(PackageName, &'a str)>, String> {
        let Some((path, last)) = rest.rsplit_once('/') else { return Ok(None) };
        let below = match &self.directory {
            Folder::Root => Some(path),
            Folder::At(directory) => {
                path.strip_prefix(directory.as_str()).and_then(|path| path.strip_prefix('/'))
            }
        };
        let Some(below) = below else { return Ok(None) };
        let package = PackageName::imported(below)
            .map_err(|cause| format!("\"{below}\" is no name of a package: {cause}"))?;
        Ok(Some((package, last)))
    }

    /// The path of a package in trees and in names of refs: with the directory.
    pub fn path(&self, package: &PackageName) -> String {
        match &self.directory {
            Folder::Root => package.as_str().to_owned(),
            Folder::At(directory) => format!("{directory}/{package}"),
        }
    }

    /// The workspace of packages that are on the branch without a revision: its name, with other signs for slashes.
    pub fn placeholder(&self) -> String {
        self.branch.as_str().replace('/', "-")
    }

    /// `refs/heads/drafts/P/W`; `None` where no ref can be called so, which depends on the directory.
    pub fn draft(&self, package: &PackageName, workspace: &WorkspaceName) -> Option<RefName> {
        self.branch_below(DRAFTS, package, workspace.as_str())
    }

    /// `refs/heads/proposed/P/W`.
    pub fn proposed(&self, package: &PackageName, workspace: &WorkspaceName) -> Option<RefName> {
        self.branch_below(PROPOSED, package, workspace.as_str())
    }

    /// `refs/heads/deletionProposed/P/X`.
    pub fn deletion_mark(&self, package: &PackageName, last: &str) -> Option<RefName> {
        self.branch_below(DELETION_PROPOSED, package, last)
    }

    /// What the names of all refs of a package begin with.
    pub(crate) fn prefixes(&self, package: &PackageName) -> [String; 4] {
        let path = self.path(package);
        [
            format!("refs/tags/{path}/"),
            format!("refs/heads/{DRAFTS}/{path}/"),
            format!("refs/heads/{PROPOSED}/{path}/"),
            format!("refs/heads/{DELETION_PROPOSED}/{path}/"),
        ]
    }

    /// `refs/tags/P/X`.
    pub fn tag_name(&self, package: &PackageName, last: &str) -> Option<RefName> {
        RefName::tag(&format!("{}/{last}", self.path(package))).ok()
    }

    fn branch_below(&self, kind: &str, package: &PackageName, last: &str) -> Option<RefName> {
        RefName::branch(&format!("{kind}/{}/{last}", self.path(package))).ok()
    }
}

/// The number that the last segment of a tag stands for, as Porch reads it: `7` means what `v7` means.
pub(crate) fn number_of(last: &str) -> RevisionNumber {
    match RevisionNumber::of_tag(last) {
        RevisionNumber::UNNUMBERED => RevisionNumber::of_tag(&format!("v{last}")),
        number => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(directory: &str) -> Layout {
        let directory =
            if directory.is_empty() { Folder::Root } else { Folder::At(directory.parse().unwrap()) };
        Layout { branch: "main".parse().unwrap(), directory }
    }

    fn check(directory: &str, name: &str, expected: &str) {
        let shown = match layout(directory).meaning(&name.parse().unwrap()) {
            Meaning::Main => "main".to_owned(),
            Meaning::Draft(at) => format!("draft {} {}", at.package, at.last),
            Meaning::Proposed(at) => format!("proposed {} {}", at.package, at.last),
            Meaning::DeletionMark(at) => format!("mark {} {}", at.package, at.last),
            Meaning::Tag(at) => format!("tag {} {}", at.package, at.last),
            Meaning::Foreign => "foreign".to_owned(),
            Meaning::Odd(_) => "odd".to_owned(),
        };
        assert_eq!(shown, expected, "{name}");
    }

    #[test]
    fn refs_mean_what_porch_takes_them_for() {
        check("", "refs/heads/main", "main");
        check("", "refs/heads/drafts/a/b/w", "draft a/b w");
        check("", "refs/heads/proposed/a/w", "proposed a w");
        check("", "refs/heads/deletionProposed/a/v3", "mark a v3");
        check("", "refs/tags/a/v3", "tag a v3");
        check("", "refs/tags/a/b/anything", "tag a/b anything");
        check("", "refs/tags/v7", "foreign");
        check("", "refs/heads/feature/x", "foreign");
        check("", "refs/heads/drafts/w", "foreign");
        check("", "refs/heads/drafts/A_B/w", "odd");
        check("dir/sub", "refs/tags/dir/sub/a/v1", "tag a v1");
        check("dir/sub", "refs/tags/dir/a/v1", "foreign");
        check("dir/sub", "refs/tags/dir/subset/a/v1", "foreign");
        check("dir/sub", "refs/heads/drafts/dir/sub/a/w", "draft a w");
        check("", "refs/notes/commits", "foreign");
    }

    #[test]
    fn names_that_are_made_are_read_back() {
        for directory in ["", "dir"] {
            let layout = layout(directory);
            let (package, workspace) = ("a/b".parse().unwrap(), "w1".parse().unwrap());
            let place = Place { package, last: workspace };
            let draft = layout.draft(&place.package, &place.last).unwrap();
            assert_eq!(layout.meaning(&draft), Meaning::Draft(place.clone()));
            assert_eq!(
                layout.meaning(&layout.proposed(&place.package, &place.last).unwrap()),
                Meaning::Proposed(place.clone())
            );
        }
    }

    #[test]
    fn the_branch_of_a_repository_is_none_that_means_something_else() {
        for bad in ["", "drafts/x", "proposed/x", "deletionProposed/x", "a..b", "-"] {
            assert_eq!(bad.parse::<Branch>().is_err(), bad != "-", "{bad}");
        }
        assert_eq!("release/1".parse::<Branch>().unwrap().as_str(), "release/1");
    }

    #[test]
    fn numbers_are_read_with_and_without_their_letter() {
        for (last, expected) in
            [("v7", 7), ("7", 7), ("v07", -1), ("v0", -1), ("vv7", -1), ("v1.2", -1), ("x", -1)]
        {
            assert_eq!(number_of(last).get(), expected, "{last}");
        }
    }
}
