//! The resources of a package.

use std::collections::BTreeMap;
use std::sync::Arc;

use lanai_types::SafePath;
use lanai_yaml::{Document, Stream};

use super::{Error, File, Folder, Mode, Package};
use crate::Resource;
use crate::ignore::{self, Dialect, Difference, EntryKind, IgnoreRules};

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

/// What becomes of mappings that lack an `apiVersion` or a `kind`, such as the values of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherYaml {
    /// They stay where they are, and nobody sees them.
    #[default]
    Opaque,
    /// They count as resources.
    Included,
}

/// A resource file, taken apart: its documents in order, and what stands behind them.
pub(super) struct Pages {
    pub pages: Vec<Page>,
    pub tail: String,
}

/// A document of a resource file.
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
            let Some(file) = self.get(path) else { continue };
            for page in self.pages(path, file, options)?.pages {
                let Role::Resource(index) = page.role else { continue };
                let Ok(resource) = Resource::try_from(page.document) else { continue };
                resources.push(Located { resource, path: path.clone(), index });
            }
        }
        Ok(resources)
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
            let found = rules.difference([&inside]);
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
            let role = role(&document, index, options.other_yaml);
            index += usize::from(role != Role::Trivia);
            pages.push(Page { document, role });
        }
        Ok(Pages { pages, tail: text[end..].to_owned() })
    }
}

fn role(document: &Document, index: usize, other: OtherYaml) -> Role {
    if document.is_empty() {
        return Role::Trivia;
    }
    let Ok(resource) = Resource::try_from(document.clone()) else { return Role::Opaque(index) };
    let is_krm = resource.api_version().is_some() && resource.kind().is_some();
    match other {
        OtherYaml::Opaque if !is_krm => Role::Opaque(index),
        OtherYaml::Opaque | OtherYaml::Included => Role::Resource(index),
    }
}

/// The rules of every package, read once.
struct RulesByOwner<'a> {
    package: &'a Package,
    rules: BTreeMap<Folder, IgnoreRules>,
}

impl RulesByOwner<'_> {
    fn ignore(&mut self, path: &SafePath, dialect: Dialect) -> Result<bool, Error> {
        let (inside, rules) = self.of(path)?;
        Ok(rules.matches_in(dialect, &inside, EntryKind::File))
    }

    /// The path as its owner sees it, and the owner's rules.
    fn of(&mut self, path: &SafePath) -> Result<(SafePath, &IgnoreRules), Error> {
        let owner = self.package.owner(path);
        let inside = owner.relative(path).unwrap_or_else(|| path.clone());
        if !self.rules.contains_key(&owner) {
            let rules = self.package.ignore_rules(&owner)?;
            self.rules.insert(owner.clone(), rules);
        }
        Ok((inside, &self.rules[&owner]))
    }
}
