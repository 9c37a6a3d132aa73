//! The text that functions in other processes get and answer.
//!
//! On the wire a resource says where it stands and which one it is in annotations, under the current names and the legacy ones.
//! What comes back is brought into the resources as they were sent: see [`lanai_krm::adopt`].

use std::borrow::Cow;
use std::collections::HashMap;

use lanai_krm::resource::annotation;
use lanai_krm::{Resource, ResourceId, ResourceList, adopt, resource_list};
use lanai_yaml::{Content, Document, NodeMut, NodeRef, SequenceIndent, detect_sequence_indent, edit};

use crate::error::Failing;

/// A list that is on its way to a function.
#[derive(Clone, Debug)]
pub struct Sent {
    text: String,
    items: Vec<Item>,
}

#[derive(Clone, Debug)]
struct Item {
    resource: Resource,
    path: Place,
    index: Place,
}

/// What an annotation with two names said when it was sent.
#[derive(Clone, Debug)]
struct Place(Option<String>);

/// Why an answer cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no content, though there were resources.
    #[error("the function wrote nothing; one that keeps no resource writes a list without items")]
    Nothing,
    /// It is no list of resources.
    #[error(transparent)]
    List(#[from] resource_list::Error),
    /// The same thing was changed to two different values, under its two names. The text is kpt's.
    #[error("resource input to function has mismatched legacy and internal {what} annotations")]
    Mismatched {
        /// `path` or `index`.
        what: &'static str,
    },
    /// The annotations of a resource cannot be edited.
    #[error("the annotations of {resource} cannot be edited: {cause}")]
    Annotations {
        /// The resource.
        resource: String,
        /// Why.
        cause: edit::Error,
    },
}

/// Makes the text of a list for a function in another process.
///
/// # Errors
/// When the annotations of a resource cannot be written, because they are no mapping.
pub fn send(list: &ResourceList) -> Result<Sent, Error> {
    let mut items = Vec::with_capacity(list.items.len());
    let mut dressed = Vec::with_capacity(list.items.len());
    for (number, resource) in list.items.iter().enumerate() {
        let item = Item::new(resource)?;
        dressed.push(item.dressed(resource, Some(number))?);
        items.push(item);
    }
    let function_config = match &list.function_config {
        Some(config) if config.origin().is_some() => Some(Item::new(config)?.dressed(config, None)?),
        config => config.clone(),
    };
    let list = ResourceList {
        items: dressed,
        function_config,
        results: list.results.clone(),
        others: list.others.clone(),
    };
    Ok(Sent { text: list.to_string(), items })
}

impl From<Error> for Failing {
    fn from(error: Error) -> Self {
        match error {
            Error::Nothing => Self::Silent,
            Error::List(_) | Error::Mismatched { .. } | Error::Annotations { .. } => {
                Self::Output(error.to_string())
            }
        }
    }
}

impl Sent {
    /// What the function reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads what the function wrote.
    ///
    /// A resource that was sent comes back as it was but for what the function changed, with its origin; a new place that the
    /// function gave it is an annotation, and an empty index says that it has none in its new file. A function that forgets
    /// where a resource stands changes nothing. Of several that claim to be the same resource the first is it; the others
    /// are new, and say where they stand as the function left it.
    ///
    /// # Errors
    /// When it is no list, or contradicts itself. A text without content is a list only where there were no resources: a program
    /// that was not made to be a function must not delete a package.
    pub fn receive(&self, text: &str) -> Result<ResourceList, Error> {
        let mut list = match text.trim() {
            "" if self.items.is_empty() => ResourceList::default(),
            "" => return Err(Error::Nothing),
            _ => ResourceList::parse(text)?,
        };
        let mut left: HashMap<usize, &Item> = self.items.iter().enumerate().collect();
        for resource in &mut list.items {
            let number = [annotation::ID, annotation::LEGACY_ID]
                .into_iter()
                .find_map(|key| resource.annotation(key)?.parse::<usize>().ok()?.checked_sub(1));
            match number.and_then(|number| left.remove(&number)) {
                Some(item) => *resource = item.answered(resource.clone())?,
                None => remove(resource, &IDS)?,
            }
        }
        known_by_name(&mut list.items, left)?;
        Ok(list)
    }
}

/// Takes resources that say nothing about where they stand for those that were sent and did not come back, where type and name
/// leave no doubt: the function has forgotten all annotations between tools, not the resource.
fn known_by_name(items: &mut [Resource], left: HashMap<usize, &Item>) -> Result<(), Error> {
    let mut sent: HashMap<ResourceId, Option<&Item>> = HashMap::new();
    for item in left.into_values() {
        sent.entry(item.resource.id()).and_modify(|only| *only = None).or_insert(Some(item));
    }
    let is_lost = |resource: &Resource| resource.origin().is_none() && resource.path().is_none();
    let mut counts: HashMap<ResourceId, usize> = HashMap::new();
    for resource in items.iter().filter(|resource| is_lost(resource)) {
        *counts.entry(resource.id()).or_default() += 1;
    }
    for resource in items.iter_mut().filter(|resource| is_lost(resource)) {
        let id = resource.id();
        if let (Some(1), Some(Some(item))) = (counts.get(&id), sent.get(&id)) {
            *resource = item.answered(resource.clone())?;
        }
    }
    Ok(())
}

/// The annotations that number resources.
const IDS: [&str; 4] =
    [annotation::ID, annotation::LEGACY_ID, annotation::MIGRATION_ID, annotation::SELECTION_ID];
/// All annotations that are put in for the way.
const ON_THE_WAY: [&str; 10] = [
    annotation::LEGACY_INDEX,
    annotation::LEGACY_PATH,
    annotation::INDEX,
    annotation::PACKAGE_PATH,
    annotation::PATH,
    annotation::SEQUENCE_INDENT,
    annotation::SELECTION_ID,
    annotation::MIGRATION_ID,
    annotation::ID,
    annotation::LEGACY_ID,
];

impl Item {
    fn new(resource: &Resource) -> Result<Self, Error> {
        let mut plain = resource.clone();
        remove(&mut plain, &ON_THE_WAY)?;
        Ok(Self {
            resource: plain,
            path: Place(resource.path().map(Cow::into_owned)),
            index: Place(resource.index().map(|index| index.to_string())),
        })
    }

    /// The resource as the wire has it.
    fn dressed(&self, resource: &Resource, number: Option<usize>) -> Result<Resource, Error> {
        let mut dressed = self.resource.clone();
        let indent = match detect_sequence_indent(&dressed.to_string()) {
            SequenceIndent::Wide => "wide",
            SequenceIndent::Compact => "compact",
        };
        let origin = resource.origin();
        let package = origin.map(|origin| origin.package.to_string());
        let package = package.or_else(|| Some(resource.annotation(annotation::PACKAGE_PATH)?.into_owned()));
        let serial = origin.and_then(|origin| origin.serial);
        let values = [
            (annotation::LEGACY_INDEX, self.index.0.clone()),
            (annotation::LEGACY_PATH, self.path.0.clone()),
            (annotation::INDEX, self.index.0.clone()),
            (annotation::PACKAGE_PATH, package),
            (annotation::PATH, self.path.0.clone()),
            (annotation::SEQUENCE_INDENT, Some(indent.to_owned())),
            (annotation::SELECTION_ID, serial.map(|serial| serial.to_string())),
            (annotation::MIGRATION_ID, number.map(|number| number.to_string())),
            (annotation::ID, number.map(|number| (number + 1).to_string())),
            (annotation::LEGACY_ID, number.map(|number| (number + 1).to_string())),
        ];
        let values = values.into_iter().filter_map(|(key, value)| Some((key, value?)));
        annotate(&mut dressed, values)?;
        Ok(dressed)
    }

    /// The resource after the function.
    fn answered(&self, mut after: Resource) -> Result<Resource, Error> {
        let path = self.path.changed(&after, "path", annotation::PATH, annotation::LEGACY_PATH)?;
        let mut index = self.index.changed(&after, "index", annotation::INDEX, annotation::LEGACY_INDEX)?;
        let has_index = [annotation::INDEX, annotation::LEGACY_INDEX]
            .into_iter()
            .any(|key| after.annotation(key).is_some());
        if path.is_some() && !has_index {
            index = Some(String::new());
        }
        remove(&mut after, &ON_THE_WAY)?;
        let mut answered = adopt(&self.resource, &after);
        answered.set_origin(self.resource.origin().cloned());
        let values = [(annotation::PATH, path), (annotation::INDEX, index)];
        let values = values.into_iter().filter_map(|(key, value)| Some((key, value?)));
        annotate(&mut answered, values)?;
        Ok(answered)
    }
}

impl Place {
    /// What the function made of it, if it changed it.
    fn changed(
        &self,
        after: &Resource,
        what: &'static str,
        current: &str,
        legacy: &str,
    ) -> Result<Option<String>, Error> {
        let changed = |key: &str| {
            let now = after.annotation(key)?.into_owned();
            (self.0.as_ref() != Some(&now)).then_some(now)
        };
        match (changed(current), changed(legacy)) {
            (Some(one), Some(other)) if one != other => Err(Error::Mismatched { what }),
            (one, other) => Ok(one.or(other)),
        }
    }
}

/// Sets annotations, all at once: each edit of its own would copy the resource.
fn annotate(
    resource: &mut Resource,
    values: impl Iterator<Item = (&'static str, String)>,
) -> Result<(), Error> {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let set = |document: &mut Document| {
        let metadata = opened(document.root_mut(), "metadata")?;
        let mut annotations = opened(metadata, "annotations")?;
        for (key, value) in values {
            annotations.insert(key, Content::string(value))?;
        }
        Ok(())
    };
    let done = resource.edit(|document| document.edit_together(set));
    done.map_err(|cause| Error::Annotations { resource: resource.id().to_string(), cause })
}

/// The mapping under a key, which is made where there is none.
fn opened<'a>(mut node: NodeMut<'a>, key: &str) -> Result<NodeMut<'a>, edit::Error> {
    if node.read().get(key).is_none_or(NodeRef::is_null) {
        node.insert(key, Content::mapping())?;
    }
    node.get_mut(key)
}

/// Removes annotations, all at once; with the last one goes the mapping, and with it what held nothing else.
fn remove(resource: &mut Resource, keys: &[&str]) -> Result<(), Error> {
    let annotations = resource.root().get("metadata").and_then(|metadata| metadata.get("annotations"));
    let Some(annotations) = annotations else { return Ok(()) };
    let found: Vec<&str> = keys.iter().copied().filter(|key| annotations.own_entry(key).is_some()).collect();
    if found.is_empty() {
        return Ok(());
    }
    let cut = |document: &mut Document| {
        let mut metadata = document.root_mut().get_mut("metadata")?;
        let mut annotations = metadata.reborrow().get_mut("annotations")?;
        for key in found {
            annotations.remove(key)?;
        }
        if !annotations.read().is_empty() {
            return Ok(());
        }
        metadata.remove("annotations")?;
        if metadata.read().is_empty() {
            document.root_mut().remove("metadata")?;
        }
        Ok(())
    };
    let done = resource.edit(|document| document.edit_together(cut));
    done.map_err(|cause| Error::Annotations { resource: resource.id().to_string(), cause })
}
