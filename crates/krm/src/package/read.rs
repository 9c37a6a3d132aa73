//! The resources of a package.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use lanai_types::SafePath;
use lanai_yaml::{Document, Stream};

use super::{Error, File, Folder, Mode, Package, parallel};
use crate::ignore::{self, Dialect, Difference, EntryKind, IgnoreRules};
use crate::resource::{self, Resource};

/// A resource and where it stands.
#[derive(Clone, Debug)]
pub struct Located {
    /// The resource.
    pub resource: Resource,
    /// Its file.
    pub path: SafePath,
    /// Its place among the documents of the file that have content, from 0.
    pub index: usize,
}

/// What counts as a resource when a package is read. Writing back takes the same, or it would delete what reading
/// left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Mappings that are not resources.
    pub other_yaml: OtherYaml,
    /// Whose reading of `.krmignore` decides.
    pub ignore: Dialect,
}

/// What becomes of documents that are no resources, such as the values of a chart. Documents that are null stay where they
/// are in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherYaml {
    /// They stay where they are, and nobody sees them.
    #[default]
    Opaque,
    /// Mappings that lack an `apiVersion` or a `kind` count as resources. Lists and scalars stay where they are.
    Included,
    /// Mappings count as resources, so that whoever gets them can say what they lack. Lists and scalars are an error.
    Refused,
}

/// What a resource file holds.
#[derive(Clone, Debug)]
pub struct FileResources {
    /// The file.
    pub path: SafePath,
    /// Its resources by index, or why it cannot be read.
    pub resources: Result<Vec<Located>, Error>,
}

/// The resource files of a package, taken apart once: for whoever reads resources and writes them back.
#[derive(Clone, Debug)]
pub struct Reading {
    pub(super) files: Vec<ReadFile>,
    pub(super) options: ReadOptions,
}

/// A resource file, or why it cannot be read.
#[derive(Clone, Debug)]
pub(super) struct ReadFile {
    pub path: SafePath,
    pub pages: Result<Pages, Error>,
}

impl Reading {
    /// What [`Package::resources_by_file`] gives. The resources share their documents with this until they are edited.
    pub fn resources_by_file(&self) -> Vec<FileResources> {
        let read = |file: &ReadFile| FileResources {
            path: file.path.clone(),
            resources: file.pages.as_ref().map(|pages| located(&file.path, pages)).map_err(Clone::clone),
        };
        self.files.iter().map(read).collect()
    }
}

/// The resources of a file.
fn located(path: &SafePath, pages: &Pages) -> Vec<Located> {
    let resources = pages.pages.iter().filter_map(|page| match page.role {
        Role::Resource(index) => {
            let resource = Resource::try_from(page.document.clone()).ok()?;
            Some(Located { resource, path: path.clone(), index })
        }
        Role::Opaque(_) | Role::Trivia => None,
    });
    resources.collect()
}

/// A resource file, taken apart: its documents in order, and what stands behind them.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub pages: Vec<Page>,
    pub tail: String,
}

/// A document of a resource file.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub document: Document,
    pub role: Role,
}

/// What a document of a resource file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A resource with its index.
    Resource(usize),
    /// Something else with content, with its index: it is counted, but neither shown nor touched.
    Opaque(usize),
    /// Nothing, or comments only. It has no index.
    Trivia,
}

/// Whether a file of this name holds resources: `Kptfile`, `*.yaml`, `*.yml`, `*.json`.
pub fn is_resource_name(name: &str) -> bool {
    name == "Kptfile" || [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

impl Package {
    /// The resource files in the order of [`Package::walk`]: files (not symbolic links) of the right name that the
    /// `.krmignore` of the package that owns them does not ignore.
    ///
    /// # Errors
    /// A `.krmignore` that is refused.
    pub fn resource_files(&self, options: ReadOptions) -> Result<Vec<&SafePath>, Error> {
        let mut rules = RulesByOwner { package: self, rules: BTreeMap::new() };
        let mut files = Vec::new();
        for (path, file) in self.walk() {
            let candidate = file.mode() != Mode::Symlink && is_resource_name(path.file_name());
            if candidate && !rules.ignore(path, options.ignore)? {
                files.push(path);
            }
        }
        Ok(files)
    }

    /// All resources, packages inside the package included: files in the order of [`Package::walk`], then by index.
    ///
    /// # Errors
    /// The first file that is not YAML, with the place in it; a `.krmignore` that is refused.
    pub fn resources(&self, options: ReadOptions) -> Result<Vec<Located>, Error> {
        let mut resources = Vec::new();
        for path in self.resource_files(options)? {
            resources.extend(self.resources_of(path, options)?);
        }
        Ok(resources)
    }

    /// What [`Package::resources`] gives, file by file: a file that cannot be read does not hide the others.
    ///
    /// # Errors
    /// A `.krmignore` that is refused.
    pub fn resources_by_file(&self, options: ReadOptions) -> Result<Vec<FileResources>, Error> {
        Ok(self.reading(options)?.resources_by_file())
    }

    /// Takes all resource files apart, in the order of [`Package::walk`].
    ///
    /// # Errors
    /// A `.krmignore` that is refused. Why a file cannot be read is found with the file.
    pub fn reading(&self, options: ReadOptions) -> Result<Reading, Error> {
        let files = self.resource_files(options)?;
        let files = parallel::each(files, |path| {
            let pages = self.pages(path, self.get(path)?, options);
            Some(ReadFile { path: path.clone(), pages })
        });
        Ok(Reading { files: files.into_iter().flatten().collect(), options })
    }

    fn resources_of(&self, path: &SafePath, options: ReadOptions) -> Result<Vec<Located>, Error> {
        let Some(file) = self.get(path) else { return Ok(Vec::new()) };
        Ok(located(path, &self.pages(path, file, options)?))
    }

    /// The rules of a package: its `.krmignore`, or none. A symbolic link of that name does not count.
    ///
    /// # Errors
    /// Rules that are refused.
    pub fn ignore_rules(&self, package: &Folder) -> Result<IgnoreRules, Error> {
        let name = format!("{}{}", package.prefix(), ignore::FILE_NAME);
        let file = self.files.get_key_value(name.as_str());
        let Some((key, file)) = file.filter(|(_, file)| file.mode() != Mode::Symlink) else {
            return Ok(IgnoreRules::default());
        };
        let text = String::from_utf8_lossy(file.content());
        IgnoreRules::parse(&text).map_err(|cause| Error::Ignore { path: key.0.clone(), cause })
    }

    /// Where kpt would read the `.krmignore` files of the package otherwise. The paths are whole ones.
    ///
    /// # Errors
    /// A `.krmignore` that is refused.
    pub fn ignore_differences(&self) -> Result<Vec<Difference>, Error> {
        let mut rules = RulesByOwner { package: self, rules: BTreeMap::new() };
        let mut differences = Vec::new();
        for (path, _) in self.walk() {
            let (inside, rules) = rules.of(path)?;
            let found =
                rules.difference([&inside]).map_err(|_| Error::IgnoreTooSlow { path: path.clone() })?;
            differences
                .extend(found.into_iter().map(|difference| Difference { path: path.clone(), ..difference }));
        }
        Ok(differences)
    }

    /// Whether a new file of this path would be read as a resource file.
    pub(super) fn could_be_resource_file(
        &self,
        path: &SafePath,
        options: ReadOptions,
    ) -> Result<bool, Error> {
        let mut rules = RulesByOwner { package: self, rules: BTreeMap::new() };
        Ok(is_resource_name(path.file_name()) && !rules.ignore(path, options.ignore)?)
    }

    /// Takes a resource file apart.
    pub(super) fn pages(&self, path: &SafePath, file: &File, options: ReadOptions) -> Result<Pages, Error> {
        let unreadable = |cause| Error::Unreadable { path: path.clone(), cause: Box::new(cause) };
        let limits = &self.limits.yaml;
        let (text, stream) = match std::str::from_utf8(file.content()) {
            Ok(text) => {
                let text: Arc<str> = text.into();
                (Arc::clone(&text), Stream::parse_within(text, limits).map_err(unreadable)?)
            }
            Err(_) => ("".into(), Stream::parse_bytes(file.content(), limits).map_err(unreadable)?),
        };
        let mut index = 0;
        let mut end = 0;
        let mut pages = Vec::new();
        for document in stream.into_documents() {
            end += document.source().len();
            let role = role(&document, index, options.other_yaml).map_err(|cause| Error::NotAResource {
                path: path.clone(),
                line: cause.line,
                found: cause.found,
            })?;
            index += usize::from(role != Role::Trivia);
            pages.push(Page { document, role });
        }
        Ok(Pages { pages, tail: text[end..].to_owned() })
    }
}

/// A document that is neither a mapping nor null.
struct NotAMapping {
    line: usize,
    found: &'static str,
}

fn role(document: &Document, index: usize, other: OtherYaml) -> Result<Role, NotAMapping> {
    if document.is_empty() {
        return Ok(Role::Trivia);
    }
    let resource = match Resource::try_from(document.clone()) {
        Ok(resource) => resource,
        Err(resource::Error::NotAMapping { line, found })
            if other == OtherYaml::Refused && !document.root().is_null() =>
        {
            return Err(NotAMapping { line, found });
        }
        Err(_) => return Ok(Role::Opaque(index)),
    };
    let is_krm = || resource.api_version().is_some() && resource.kind().is_some();
    Ok(match other {
        OtherYaml::Opaque if !is_krm() => Role::Opaque(index),
        OtherYaml::Opaque | OtherYaml::Included | OtherYaml::Refused => Role::Resource(index),
    })
}

/// The rules of every package, read once.
struct RulesByOwner<'a> {
    package: &'a Package,
    rules: BTreeMap<Folder, IgnoreRules>,
}

impl RulesByOwner<'_> {
    fn ignore(&mut self, path: &SafePath, dialect: Dialect) -> Result<bool, Error> {
        let (inside, rules) = self.of(path)?;
        let ignores = rules.matches_in(dialect, &inside, EntryKind::File);
        ignores.map_err(|_| Error::IgnoreTooSlow { path: path.clone() })
    }

    /// The path as its owner sees it, and the owner's rules.
    fn of(&mut self, path: &SafePath) -> Result<(SafePath, &mut IgnoreRules), Error> {
        let owner = self.package.owner(path);
        let inside = owner.relative(path).unwrap_or_else(|| path.clone());
        let rules = match self.rules.entry(owner) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let rules = self.package.ignore_rules(place.key())?;
                place.insert(rules)
            }
        };
        Ok((inside, rules))
    }
}
