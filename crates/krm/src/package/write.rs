//! Writing resources back into a package.

use std::collections::{BTreeMap, BTreeSet};

use lanai_types::SafePath;

use super::compose::{Composer, FirstMarker, Sheet};
use super::place::{Stripped, default_path, strip};
use super::read::{Page, Pages, ReadFile, ReadOptions, Reading, Role};
use super::unchanged::unchanged;
use super::{Error, File, Mode, Package, Placed, json, parallel};
use crate::Resource;

impl Package {
    /// Makes these the resources of the package, with the options that they were read with.
    ///
    /// A resource that says what the one at its place said leaves its bytes as they are: same values, same order of
    /// keys, same comments. One that differs is written as it is, and the other documents of its file keep their bytes.
    /// A resource that is no longer where it was is removed there with its separator; a file without any is deleted,
    /// unless it never had one. Documents in a file stand in the order of their indices. What has no path gets
    /// [`default_path`]; what has no index gets the highest of its file, the next ones count up, and equal indices keep
    /// the order of the list. A JSON file with one resource stays JSON. Annotations between tools are removed from what
    /// is written.
    ///
    /// # Errors
    /// Two resources with the same path and index, a path that is a folder or not one of a resource file, what
    /// [`Package::resources`] fails on, and limits. The package is then as it was.
    pub fn write_resources(
        &mut self,
        resources: impl IntoIterator<Item: Into<Placed>>,
        options: ReadOptions,
    ) -> Result<(), Error> {
        let reading = self.reading(options)?;
        self.write_over(&reading, resources)
    }

    /// The same for resources of which the files were taken apart before: `reading` is what [`Package::reading`] gave for
    /// this package, as it is.
    ///
    /// # Errors
    /// As [`Package::write_resources`].
    pub fn write_over(
        &mut self,
        reading: &Reading,
        resources: impl IntoIterator<Item: Into<Placed>>,
    ) -> Result<(), Error> {
        let options = reading.options;
        let mut wanted = by_file(resources.into_iter().map(Into::into))?;
        let mut changes = Vec::new();
        let items = |file: &ReadFile| wanted.remove(&file.path).unwrap_or_default();
        let jobs: Vec<_> = reading.files.iter().map(items).zip(&reading.files).collect();
        let package = &*self;
        let rewritten = parallel::each(jobs, |(items, ReadFile { path, pages })| {
            let Some(file) = package.get(path) else { return Ok(None) };
            let change = rewrite(path, file, pages.as_ref().map_err(Clone::clone)?, items)?;
            Ok::<_, Error>(change.map(|change| (path.clone(), change)))
        });
        for change in rewritten {
            changes.extend(change?);
        }
        for (path, items) in wanted {
            if self.get(&path).is_some() || !self.could_be_resource_file(&path, options)? {
                return Err(Error::NotAResourceFile(path));
            }
            let nothing = Pages { pages: Vec::new(), tail: String::new() };
            if let Some(change) = rewrite(&path, &File::from_text(""), &nothing, items)? {
                changes.push((path, change));
            }
        }
        *self = self.with_changes(changes)?;
        Ok(())
    }

    /// Removals come first, so that a file can take the place of a folder that goes.
    fn with_changes(&self, changes: Vec<(SafePath, Change)>) -> Result<Self, Error> {
        let mut package = self.clone();
        let mut written = Vec::new();
        for (path, change) in changes {
            match change {
                Change::Delete => drop(package.remove(&path)),
                Change::Write(file) => {
                    // Growing files must not meet those that shrink later.
                    package.remove(&path);
                    written.push((path, file));
                }
            }
        }
        for (path, file) in written {
            let inserted = package.insert(path, file);
            inserted.map_err(|error| match error {
                Error::IsFolder { path, .. } => Error::PathIsFolder(path.to_string()),
                other => other,
            })?;
        }
        Ok(package)
    }
}

enum Change {
    Write(File),
    Delete,
}

/// A resource that is to be in a file.
struct Item {
    resource: Resource,
    /// The place that it asks for.
    place: Option<usize>,
    /// What it is sorted by.
    index: usize,
}

/// What is to be in which file, by index.
fn by_file(resources: impl Iterator<Item = Placed>) -> Result<BTreeMap<SafePath, Vec<Item>>, Error> {
    let mut files: BTreeMap<SafePath, Vec<Placed>> = BTreeMap::new();
    for mut placed in resources {
        let path = match placed.path.take() {
            Some(path) => path,
            None => default_path(&placed.resource, None)?,
        };
        files.entry(path).or_default().push(placed);
    }
    files.into_iter().map(|(path, placed)| Ok((path.clone(), indexed(&path, placed)?))).collect()
}

fn indexed(path: &SafePath, placed: Vec<Placed>) -> Result<Vec<Item>, Error> {
    let mut taken = BTreeSet::new();
    for index in placed.iter().filter_map(|placed| placed.index) {
        if !taken.insert(index) {
            return Err(Error::PlaceTaken { path: path.clone(), index });
        }
    }
    let mut next = taken.last().copied().unwrap_or(0);
    let mut items = Vec::with_capacity(placed.len());
    for Placed { resource, index: place, .. } in placed {
        let index = place.unwrap_or_else(|| {
            let index = next;
            next = next.saturating_add(1);
            index
        });
        items.push(Item { resource, place, index });
    }
    items.sort_by_key(|item| item.index);
    Ok(items)
}

/// One document of the new file.
enum Part<'a> {
    /// As it was.
    Kept(&'a Page),
    /// In the place of another one, with its text.
    Changed(Resource, &'a Page, String),
    New(Resource),
}

/// What has to be done to a file, so that the items are its resources; `None` when nothing has.
fn rewrite(path: &SafePath, file: &File, old: &Pages, items: Vec<Item>) -> Result<Option<Change>, Error> {
    let parts = arrange(old, items)?;
    let kept = parts.iter().filter(|part| matches!(part, Part::Kept(_))).count();
    // Kept documents are never out of order, so equal numbers mean equal files.
    if kept == old.pages.len() && kept == parts.len() {
        return Ok(None);
    }
    let has_content = |part: &Part<'_>| !matches!(part, Part::Kept(page) if page.role == Role::Trivia);
    if !parts.iter().any(has_content) {
        return Ok(Some(Change::Delete));
    }
    let text = match parts.as_slice() {
        [Part::Changed(resource, _, _) | Part::New(resource)] if json::is_json_name(path) => {
            json::text(path, resource)?
        }
        parts => compose(file, old, parts),
    };
    check(path, &text, &parts)?;
    let mode = if file.mode() == Mode::Executable { Mode::Executable } else { Mode::Regular };
    Ok(Some(Change::Write(File::new(text.into_bytes(), mode))))
}

/// The documents of the new file in order: by index, what is not a resource before what is new there, and documents
/// without content behind the one that they followed.
fn arrange(old: &Pages, items: Vec<Item>) -> Result<Vec<Part<'_>>, Error> {
    let mut parts: Vec<((Option<usize>, usize), Part<'_>)> = Vec::new();
    let mut resources: BTreeMap<usize, &Page> = BTreeMap::new();
    let mut last = None;
    for page in &old.pages {
        match page.role {
            Role::Resource(index) => {
                resources.insert(index, page);
                last = Some(index);
            }
            Role::Opaque(index) => {
                parts.push(((Some(index), 0), Part::Kept(page)));
                last = Some(index);
            }
            Role::Trivia => parts.push(((last, usize::MAX), Part::Kept(page))),
        }
    }
    for (order, Item { mut resource, place, index }) in items.into_iter().enumerate() {
        let page = place.and_then(|place| resources.remove(&place));
        let part = if let Some(page) = page {
            match changed(&mut resource, page)? {
                None => Part::Kept(page),
                Some(text) => Part::Changed(resource, page, text),
            }
        } else {
            strip(&mut resource)?;
            Part::New(resource)
        };
        parts.push(((Some(index), order + 1), part));
    }
    parts.sort_by_key(|(key, _)| *key);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

/// The text of a resource, if it is not what the page holds. Its annotations between tools are gone then.
fn changed(resource: &mut Resource, page: &Page) -> Result<Option<String>, Error> {
    let document = resource.document();
    let before = if document.is_edited() { document.to_string() } else { document.source().to_owned() };
    if before == page.document.source() {
        return Ok(None);
    }
    let stripped = strip(resource)?;
    if let Ok(mut old) = Resource::try_from(page.document.clone()) {
        strip(&mut old)?;
        if unchanged(resource, &old) {
            return Ok(None);
        }
    }
    Ok(Some(match stripped {
        Stripped::Nothing => before,
        Stripped::Some => resource.to_string(),
    }))
}

fn compose(file: &File, old: &Pages, parts: &[Part<'_>]) -> String {
    let first = old.pages.first().map(|page| Sheet::new(page.document.source()));
    let keeps_first = old.pages.first().is_some_and(|first| parts.iter().any(|part| part.holds(first)));
    let marker = match &first {
        Some(first) if first.begins_with_marker() => FirstMarker::Keep,
        Some(_) | None => FirstMarker::Drop,
    };
    // Comments before all documents are the file's, and stay when the first document goes.
    let head = match &first {
        None => old.tail.as_str(),
        Some(first) if !keeps_first => first.comments_before().unwrap_or_default(),
        Some(_) => "",
    };
    let tail = if old.pages.is_empty() { "" } else { old.tail.as_str() };
    let like = file.text().unwrap_or_default();
    let mut composer = Composer::new(head, like, marker);
    for part in parts {
        match part {
            Part::Kept(page) => composer.push(&Sheet::new(page.document.source())),
            Part::Changed(_, page, text) => {
                let old = Sheet::new(page.document.source());
                composer.push(&Sheet::new(text).in_place_of(&old));
            }
            Part::New(resource) => composer.push_new(Sheet::new(&resource.to_string())),
        }
    }
    composer.finish(tail)
}

impl Part<'_> {
    /// Whether the part stands where the page stood.
    fn holds(&self, page: &Page) -> bool {
        match self {
            Self::Kept(at) | Self::Changed(_, at, _) => std::ptr::eq(*at, page),
            Self::New(_) => false,
        }
    }
}

/// Reads the text again: it must hold what was put together.
fn check(path: &SafePath, text: &str, parts: &[Part<'_>]) -> Result<(), Error> {
    let differs = || Error::Composition(path.clone());
    let stream = lanai_yaml::Stream::parse(text).map_err(|_| differs())?;
    let found: Vec<_> = stream.documents().iter().filter(|document| !document.is_empty()).collect();
    let wanted: Vec<_> = parts.iter().map(Part::document).filter(|document| !document.is_empty()).collect();
    let same = found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(found, wanted)| crate::resource::same(found.root(), wanted.root()));
    if same { Ok(()) } else { Err(differs()) }
}

impl Part<'_> {
    fn document(&self) -> &lanai_yaml::Document {
        match self {
            Self::Kept(page) => &page.document,
            Self::Changed(resource, _, _) | Self::New(resource) => resource.document(),
        }
    }
}
