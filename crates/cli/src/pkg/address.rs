//! `REPO_URI[.git]/PKG_PATH[@VERSION]`, and `PKG_PATH[@VERSION]`.

use std::path::Path;

use lanai_krm::package::Folder;
use lanai_types::quote::Quoted;

use crate::failure::{Code, Failure};

/// A folder of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The repository as it was named, without `.git` where that leaves no doubt: this is what a Kptfile keeps.
    pub repo: String,
    pub folder: Folder,
    pub version: Version,
}

/// Which version is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// The one that is named: a branch, a tag or a commit.
    Named(String),
    /// None was named.
    Unnamed,
    /// A web page of a branch: the first part of this path is the branch, the rest the folder. Which part, the
    /// repository knows.
    InPath(String),
}

/// A package on disk and perhaps a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub path: String,
    pub version: Option<String>,
}

impl Address {
    /// Reads what people type. `is_repository` tells whether a path on this machine is a repository.
    ///
    /// # Errors
    /// When it cannot be told where the repository ends, or the folder or version is none.
    pub fn parse(text: &str, is_repository: impl Fn(&Path) -> bool) -> Result<Self, Failure> {
        if text.is_empty() || text.starts_with('-') {
            return Err(Failure::of(Code::Address, format!("{} is no address of a package", Quoted(text))));
        }
        if let Some((repo, rest)) = split_at_git(text) {
            let whole = &text[..text.len() - rest.len()];
            let is_here = |repo: &str| is_repository(Path::new(repo.strip_prefix("file://").unwrap_or(repo)));
            // A work tree often stands beside its bare clone; what was named is meant.
            let repo = if is_here(whole) && is_here(repo) { whole } else { repo };
            return Self::of(repo, rest);
        }
        if let Some(path) = text.split_once("github.com/").map(|(_, path)| path) {
            return Self::on_github(text, path);
        }
        let (path, version) = split_version(text)?;
        let is_path = !path.contains("://") && !is_scp(path);
        let found = Path::new(path).ancestors().find(|outer| is_path && is_repository(outer));
        let Some(repo) = found.and_then(Path::to_str) else {
            return Err(Failure::of(Code::Address, "ambiguous repo/dir@version specify '.git' in argument")
                .hint("write it as REPO.git/FOLDER@VERSION"));
        };
        let folder = folder_of(&path[repo.len()..])?;
        Ok(Self { repo: repo.into(), folder, version: named(version) })
    }

    fn of(repo: &str, rest: &str) -> Result<Self, Failure> {
        let (path, version) = split_version(rest)?;
        let (repo, folder) = (repo.trim_end_matches('/').into(), folder_of(path)?);
        Ok(Self { repo, folder, version: named(version) })
    }

    /// `github.com/owner/repository[/tree/branch[/folder]]`, as browsers show it, or `…/repository/folder`.
    fn on_github(text: &str, path: &str) -> Result<Self, Failure> {
        let (path, version) = split_version(path)?;
        let start = &text[..text.find("github.com/").unwrap_or_default()];
        let mut parts = path.splitn(3, '/');
        let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if owner.is_empty() || name.is_empty() {
            return Err(Failure::of(Code::Address, format!("{} names no repository", Quoted(text)))
                .hint("write it as https://github.com/OWNER/REPOSITORY.git/FOLDER@VERSION"));
        }
        let repo = format!("{start}github.com/{owner}/{name}");
        let rest = parts.next().unwrap_or_default();
        match rest.strip_prefix("tree/") {
            Some(inside) => Ok(Self {
                repo,
                folder: Folder::Root,
                version: Version::InPath(inside.trim_matches('/').into()),
            }),
            None => Ok(Self { repo, folder: folder_of(rest)?, version: named(version) }),
        }
    }

    /// The last part of the folder, or of the repository for its root.
    pub fn name(&self) -> &str {
        match &self.folder {
            Folder::At(path) => path.file_name(),
            Folder::Root => self.repo.rsplit(['/', ':']).next().unwrap_or_default(),
        }
    }
}

impl Target {
    /// Reads `PKG_PATH[@VERSION]`.
    ///
    /// # Errors
    /// When there are two versions, or an empty one.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (path, version) = split_version(text)?;
        let path = if path.is_empty() { "." } else { path };
        Ok(Self { path: path.into(), version: version.map(String::from) })
    }
}

/// The folder of a repository as Kptfiles name it: from its root, with a slash.
pub(super) fn directory(folder: &Folder) -> String {
    match folder {
        Folder::Root => "/".into(),
        Folder::At(path) => format!("/{path}"),
    }
}

/// The folder in an address that people typed.
fn folder_of(text: &str) -> Result<Folder, Failure> {
    folder(text).map_err(|error| Failure::of(Code::Address, format!("the folder in the address: {error}")))
}

/// The folder that a text names from the root of a repository, dots and double slashes aside.
pub(super) fn folder(text: &str) -> Result<Folder, lanai_types::safe_path::Error> {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() {
        return Ok(Folder::Root);
    }
    parts.join("/").parse().map(Folder::At)
}

/// Splits behind the first `.git` that ends a part of the path.
fn split_at_git(text: &str) -> Option<(&str, &str)> {
    let mut ends = text.match_indices(".git").map(|(at, found)| (at, at + found.len()));
    let (at, end) = ends.find(|(_, end)| text[*end..].is_empty() || text[*end..].starts_with(['/', '@']))?;
    Some((&text[..at], &text[end..]))
}

fn split_version(text: &str) -> Result<(&str, Option<&str>), Failure> {
    // The name of a user stands before the host: ssh://git@host/…
    let start =
        text.find("://").map_or(0, |at| text[at + 3..].find('/').map_or(text.len(), |slash| at + 3 + slash));
    let start = if is_scp(text) { text.find(':').unwrap_or(0) } else { start };
    let Some(at) = text[start..].find('@').map(|at| start + at) else { return Ok((text, None)) };
    let version = &text[at + 1..];
    if version.contains('@') {
        return Err(Failure::of(Code::Address, "at most 1 version permitted"));
    }
    if version.is_empty() {
        return Err(Failure::of(Code::Address, "there is no version behind the @")
            .hint("leave the @ out, or name a branch, a tag or a commit"));
    }
    Ok((&text[..at], Some(version)))
}

/// `user@host:path`
fn is_scp(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    !text.contains("://") && host.contains(':') && host.contains('@')
}

fn named(version: Option<&str>) -> Version {
    version.map_or(Version::Unnamed, |version| Version::Named(version.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, repo: &str, folder: &str, version: &str) {
        let found = Address::parse(text, |path| path == Path::new("/srv/repo")).unwrap();
        let shown = match &found.version {
            Version::Named(version) => version.clone(),
            Version::Unnamed => String::new(),
            Version::InPath(path) => format!("?{path}"),
        };
        assert_eq!(
            (found.repo.as_str(), directory(&found.folder).as_str(), shown.as_str()),
            (repo, folder, version),
            "{text}"
        );
    }

    #[test]
    fn addresses_are_taken_apart() {
        check("https://h/o/r.git/a/b@v1", "https://h/o/r", "/a/b", "v1");
        check("https://h/o/r.git/@v1", "https://h/o/r", "/", "v1");
        check("https://h/o/r.git@v1", "https://h/o/r", "/", "v1");
        check("https://h/o/r.git", "https://h/o/r", "/", "");
        check("https://h/o/r.git//a/./b/", "https://h/o/r", "/a/b", "");
        check("https://x.github.io/r.git/a", "https://x.github.io/r", "/a", "");
        check("git@h:o/r.git/a@a/v1", "git@h:o/r", "/a", "a/v1");
        check("ssh://git@h:22/o/r.git/a@v1", "ssh://git@h:22/o/r", "/a", "v1");
        check("file:///srv/r.git/a", "file:///srv/r", "/a", "");
        check("./r.git/a@v1", "./r", "/a", "v1");
        check("https://github.com/o/r/a/b@v1", "https://github.com/o/r", "/a/b", "v1");
        check("https://github.com/o/r", "https://github.com/o/r", "/", "");
        check("https://github.com/o/r/tree/main/a", "https://github.com/o/r", "/", "?main/a");
        check("/srv/repo/a@v1", "/srv/repo", "/a", "v1");
        check("/srv/repo", "/srv/repo", "/", "");
    }

    #[test]
    fn of_two_repositories_side_by_side_the_named_one_is_meant() {
        let check = |text: &str, there: &[&str], repo: &str| {
            let found =
                Address::parse(text, |path| there.iter().any(|there| Path::new(there) == path)).unwrap();
            assert_eq!(found.repo, repo, "{text} beside {there:?}");
        };
        check("/srv/up.git/web@v3", &["/srv/up", "/srv/up.git"], "/srv/up.git");
        check("file:///srv/up.git/web", &["/srv/up", "/srv/up.git"], "file:///srv/up.git");
        check("/srv/up.git/web", &["/srv/up.git"], "/srv/up");
        check("/srv/up.git/web", &["/srv/up"], "/srv/up");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let check = |text: &str, expected: &str| {
            let Err(Failure::Told(message)) = Address::parse(text, |_| false) else { panic!("{text}") };
            assert!(message.to_string().contains(expected), "{text}: {message}");
        };
        check("https://h/o/r/a", "ambiguous repo/dir@version specify '.git' in argument");
        check("/srv/repo/a", "ambiguous");
        check("r.git/a@v1@v2", "at most 1 version permitted");
        check("r.git/a@", "no version behind the @");
        check("", "no address");
        check("r.git/../a", "the folder in the address: path \"../a\"");
        check("--upload-pack=x.git", "no address");
        check("https://github.com/o", "names no repository");
    }

    #[test]
    fn targets_are_taken_apart() {
        let check = |text: &str, path: &str, version: Option<&str>| {
            let expected = Target { path: path.into(), version: version.map(String::from) };
            assert_eq!(Target::parse(text).unwrap(), expected, "{text}");
        };
        check("a/b@v1", "a/b", Some("v1"));
        check("@v1", ".", Some("v1"));
        check(".", ".", None);
        assert!(Target::parse("a@b@c").is_err());
        assert!(Target::parse("a@").is_err());
    }
}
