//! Names of the API objects that stand for packages and their revisions.

use std::{fmt, str::FromStr};

use crate::{
    PackageName, RepositoryName, WorkspaceName, dns, quote::Quoted, text::text_forms,
    workspace_name::is_version,
};

/// `metadata.name` of a package revision: repository, folders, package and workspace between dots.
///
/// `blueprints.platform.dns.v1` is the revision `v1` of the package `platform/dns` in the repository `blueprints`. The
/// workspace begins after the last dot, unless the name ends like a version: `blueprints.dns.v1.2.3` has the workspace
/// `v1.2.3`.
///
/// A name and its parts determine each other: `parse` returns the parts that `compose` took, and `compose` refuses parts
/// whose name would be read differently. That is so for a package called `v1` with a workspace of digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    name: String,
    repository: RepositoryName,
    package: PackageName,
    workspace: WorkspaceName,
}

/// `metadata.name` of a package: repository, folders and package between dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageObjectName {
    name: String,
    repository: RepositoryName,
    package: PackageName,
}

/// Why a text is not the name of such an object. `Display` is Porch's text, over several lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Some parts are missing or break the rules for them.
    #[error("{kind} kubernetes resource name invalid:\n{}", Lines(parts))]
    Parts {
        /// What the name is for.
        kind: Kind,
        /// The bad parts, from left to right; at least one.
        parts: Vec<BadPart>,
    },
    /// The parts are fine, and the name that they make is not.
    #[error(
        "{kind} kubernetes resource name invalid:\n{kind} kubernetes name {} invalid\n{kind} kubernetes name {name} \
         invalid: {problems}\n",
        Quoted(name)
    )]
    Whole {
        /// What the name is for.
        kind: Kind,
        /// The whole name.
        name: String,
        /// What is wrong with it.
        problems: dns::Problems,
    },
    /// The name would be read as that of another package and workspace.
    #[error(
        "package revision kubernetes resource name invalid:\nworkspace {} of package {} makes the name {}, which reads as \
         a version of another package; choose a workspace that has more than digits\n",
        Quoted(workspace.as_str()), Quoted(package.as_str()), Quoted(name)
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// The package that was meant.
        package: PackageName,
        /// The workspace that was meant.
        workspace: WorkspaceName,
    },
}

/// What a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`PackageObjectName`].
    Package,
    /// [`ObjectName`].
    PackageRevision,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Package => "package",
            Self::PackageRevision => "package revision",
        })
    }
}

/// A part of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Before the first dot.
    Repository,
    /// The folders above the package.
    Path,
    /// The package's own name.
    Package,
    /// The end.
    Workspace,
}

/// A part that breaks the rules. `Display` is two lines without a newline at the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} invalid\n{} {value} invalid: {problems}", self.place(), self.noun())]
pub struct BadPart {
    /// Which one.
    pub part: Part,
    /// What it is in this name; folders are separated by slashes.
    pub value: String,
    /// What is wrong with it.
    pub problems: dns::Problems,
}

impl BadPart {
    fn place(&self) -> String {
        let value = Quoted(&self.value);
        match self.part {
            Part::Repository => format!("repository part {value} of object name"),
            Part::Path => format!("package path part {value} of object name"),
            Part::Package => format!("package name part {value} of object name"),
            Part::Workspace => format!("workspace name part {value} of package revision name"),
        }
    }

    fn noun(&self) -> &'static str {
        match self.part {
            Part::Repository => "repository name",
            Part::Path => "path",
            Part::Package => "package name",
            Part::Workspace => "workspace name",
        }
    }
}

struct Lines<'a>(&'a [BadPart]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| writeln!(f, "{part}"))
    }
}

impl ObjectName {
    /// Makes the name of a revision. Fails where it is longer than 253 characters, or would be read differently.
    pub fn compose(
        repository: &RepositoryName,
        package: &PackageName,
        workspace: &WorkspaceName,
    ) -> Result<Self, Error> {
        let name = format!("{repository}.{}.{workspace}", package.as_str().replace('/', "."));
        let ambiguous = || Error::Ambiguous {
            name: name.clone(),
            package: package.clone(),
            workspace: workspace.clone(),
        };
        let read = match Self::parse(&name) {
            Ok(read) => read,
            Err(Error::Parts { .. }) => return Err(ambiguous()),
            Err(error @ (Error::Whole { .. } | Error::Ambiguous { .. })) => return Err(error),
        };
        let is_same = read.package == *package && read.workspace == *workspace;
        if is_same { Ok(read) } else { Err(ambiguous()) }
    }

    /// Reads the parts out of a name.
    pub fn parse(raw: &str) -> Result<Self, Error> {
        let (front, workspace) = split_workspace(raw);
        let (repository, path, package) = split_package(front);
        let mut bad = bad_package_parts(repository, &path, package);
        bad.extend(bad_part(Part::Workspace, workspace, dns::check_label(&workspace.replace('.', "-"))));
        check(Kind::PackageRevision, raw, bad)?;
        Ok(Self {
            name: raw.to_owned(),
            repository: RepositoryName::checked(repository),
            package: PackageName::checked(&path, package),
            workspace: WorkspaceName::checked(workspace),
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The repository.
    pub fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    /// The package.
    pub fn package(&self) -> &PackageName {
        &self.package
    }

    /// The workspace.
    pub fn workspace(&self) -> &WorkspaceName {
        &self.workspace
    }
}

impl PackageObjectName {
    /// Makes the name of a package. Fails where it is longer than 253 characters.
    pub fn compose(repository: &RepositoryName, package: &PackageName) -> Result<Self, Error> {
        Self::parse(&format!("{repository}.{}", package.as_str().replace('/', ".")))
    }

    /// Reads the parts out of a name.
    pub fn parse(raw: &str) -> Result<Self, Error> {
        let (repository, path, package) = split_package(raw);
        check(Kind::Package, raw, bad_package_parts(repository, &path, package))?;
        Ok(Self {
            name: raw.to_owned(),
            repository: RepositoryName::checked(repository),
            package: PackageName::checked(&path, package),
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The repository.
    pub fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    /// The package.
    pub fn package(&self) -> &PackageName {
        &self.package
    }
}

macro_rules! name_forms {
    ($type:ty) => {
        impl FromStr for $type {
            type Err = Error;

            fn from_str(raw: &str) -> Result<Self, Error> {
                Self::parse(raw)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.name
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.name)
            }
        }

        text_forms!($type, Error);
    };
}

name_forms!(ObjectName);
name_forms!(PackageObjectName);

/// Cuts a name before its workspace; without a dot there is none.
fn split_workspace(name: &str) -> (&str, &str) {
    let version = name.rfind(".v").filter(|dot| is_version(&name[dot + 1..]));
    match version.or_else(|| name.rfind('.')) {
        Some(dot) => (&name[..dot], &name[dot + 1..]),
        None => (name, ""),
    }
}

/// Cuts what stands before the workspace into repository, path with slashes, and package.
fn split_package(front: &str) -> (&str, String, &str) {
    let (repository, rest) = front.split_once('.').unwrap_or((front, ""));
    let (path, package) = rest.rsplit_once('.').unwrap_or(("", rest));
    (repository, path.replace('.', "/"), package)
}

fn bad_package_parts(repository: &str, path: &str, package: &str) -> Vec<BadPart> {
    let is_at_top = path.chars().all(|c| c == '/');
    let checked_path = if is_at_top { Ok(()) } else { dns::check_path(path) };
    let parts = [
        bad_part(Part::Repository, repository, dns::check_label(repository)),
        bad_part(Part::Path, path, checked_path),
        bad_part(Part::Package, package, dns::check_label(package)),
    ];
    parts.into_iter().flatten().collect()
}

fn bad_part(part: Part, value: &str, checked: Result<(), dns::Problems>) -> Option<BadPart> {
    checked.err().map(|problems| BadPart { part, value: value.to_owned(), problems })
}

fn check(kind: Kind, name: &str, parts: Vec<BadPart>) -> Result<(), Error> {
    if !parts.is_empty() {
        return Err(Error::Parts { kind, parts });
    }
    dns::check_subdomain(name).map_err(|problems| Error::Whole { kind, name: name.to_owned(), problems })
}
