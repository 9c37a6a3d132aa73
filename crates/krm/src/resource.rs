//! One resource: a lossless document that is a mapping.

pub mod annotation;
mod check;
mod id;
mod origin;
mod same;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use lanai_yaml::{Content, Document, Kind, NodeRef, Stream, edit};

pub use check::NotKrm;
pub use id::ResourceId;
pub(crate) use id::split_api_version;
pub use origin::Origin;
pub(crate) use same::same;

/// One resource, as it is written.
///
/// Cloning is cheap. Every setter edits the text where it must and nowhere else; `Display` writes the document with its
/// markers and comments, byte for byte as it was read but for what was set.
#[derive(Clone, Debug)]
pub struct Resource {
    document: Document,
    origin: Option<Arc<Origin>>,
}

/// Why a text or a document is not a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not YAML.
    #[error(transparent)]
    Yaml(#[from] lanai_yaml::Error),
    /// The document is something else than a mapping.
    #[error("line {line}: a resource is a mapping, this is {found}")]
    NotAMapping {
        /// The line on which the document's content begins.
        line: usize,
        /// What the document is, in words.
        found: &'static str,
    },
}

/// Where a resource stands in its package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, with slashes, relative to the package.
    pub path: String,
    /// The place among the resources of the file, from 0.
    pub index: usize,
}

impl Resource {
    /// Reads a text that holds one resource.
    ///
    /// # Errors
    /// When the text is not YAML, holds several documents, or is not a mapping.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::try_from(Document::parse(text)?)
    }

    /// Reads all resources of a stream. Documents without content are passed over.
    ///
    /// # Errors
    /// When the text is not YAML, or a document is something else than a mapping.
    pub fn parse_stream(text: &str) -> Result<Vec<Self>, Error> {
        let documents = Stream::parse(text)?.into_documents();
        documents.into_iter().filter(|document| !document.root().is_null()).map(Self::try_from).collect()
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Takes the document out.
    pub fn into_document(self) -> Document {
        self.document
    }

    /// The outermost mapping.
    pub fn root(&self) -> NodeRef<'_> {
        self.document.root()
    }

    /// Edits the document freely. The resource keeps what it was when it is no mapping afterwards, which is an error.
    ///
    /// # Errors
    /// What `change` returns, and [`edit::Error::WrongKind`] when the root is no mapping any more.
    pub fn edit(
        &mut self,
        change: impl FnOnce(&mut Document) -> Result<(), edit::Error>,
    ) -> Result<(), edit::Error> {
        let mut document = self.document.clone();
        change(&mut document)?;
        let found = document.root().target().kind();
        if found != Kind::Mapping {
            return Err(edit::Error::WrongKind { needed: Kind::Mapping, found });
        }
        self.document = document;
        Ok(())
    }

    /// Whether both mean the same: equal values under equal keys, lists in equal order. Comments, quoting, layout and
    /// the order of keys do not count; aliases count as what they stand for.
    pub fn means_the_same(&self, other: &Self) -> bool {
        same(self.root(), other.root())
    }

    // ---- what it says

    /// Type and name.
    pub fn id(&self) -> ResourceId {
        let api_version = self.api_version().unwrap_or_default();
        let (group, version) = split_api_version(&api_version);
        ResourceId {
            group: group.into(),
            version: version.into(),
            kind: self.kind().unwrap_or_default().into_owned(),
            namespace: self.namespace().unwrap_or_default().into_owned(),
            name: self.name().unwrap_or_default().into_owned(),
        }
    }

    /// `apiVersion`, unless it is absent or no scalar.
    pub fn api_version(&self) -> Option<Cow<'_, str>> {
        text_at(self.root(), "apiVersion")
    }

    /// `kind`, unless it is absent or no scalar.
    pub fn kind(&self) -> Option<Cow<'_, str>> {
        text_at(self.root(), "kind")
    }

    /// `metadata.name`, unless it is absent or no scalar.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        text_at(self.metadata()?, "name")
    }

    /// `metadata.namespace`, unless it is absent or no scalar.
    pub fn namespace(&self) -> Option<Cow<'_, str>> {
        text_at(self.metadata()?, "namespace")
    }

    /// The labels, in order.
    pub fn labels(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        self.pairs("labels")
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        text_at(self.metadata()?.get("labels")?, key)
    }

    /// The annotations, in order.
    pub fn annotations(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        self.pairs("annotations")
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        text_at(self.metadata()?.get("annotations")?, key)
    }

    /// Whether the resource is for tools only: it has the annotation, and the annotation is not `false`.
    pub fn is_local_config(&self) -> bool {
        self.annotation(annotation::LOCAL_CONFIG).is_some_and(|value| value != "false")
    }

    /// The file that the resource is in, by its annotation: the current one, else the legacy one; else by its origin.
    pub fn path(&self) -> Option<Cow<'_, str>> {
        let annotated =
            self.annotation(annotation::PATH).or_else(|| self.annotation(annotation::LEGACY_PATH));
        annotated.or_else(|| Some(self.origin()?.path.as_str().into()))
    }

    /// The place in its file, by its annotation: the current one, else the legacy one; else by its origin. `None` when it is
    /// no number, too.
    pub fn index(&self) -> Option<usize> {
        let annotated =
            self.annotation(annotation::INDEX).or_else(|| self.annotation(annotation::LEGACY_INDEX));
        match annotated {
            Some(index) => index.parse().ok(),
            None => self.origin()?.index,
        }
    }

    /// Where it comes from, if somebody said so.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Says where it comes from. The text stays as it is.
    pub fn set_origin(&mut self, origin: Option<Origin>) {
        self.origin = origin.map(Arc::new);
    }

    fn metadata(&self) -> Option<NodeRef<'_>> {
        self.root().get("metadata")
    }

    fn pairs(&self, field: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let mapping = self.metadata().and_then(|metadata| metadata.get(field));
        let entries = mapping.into_iter().flat_map(NodeRef::entries);
        entries.filter_map(|(key, value)| Some((text(key)?, text(value)?)))
    }

    // ---- setting it

    /// Sets `metadata.name`.
    ///
    /// # Errors
    /// When `metadata` is something else than a mapping.
    pub fn set_name(&mut self, name: &str) -> Result<(), edit::Error> {
        self.set_metadata("name", name)
    }

    /// Sets `metadata.namespace`.
    ///
    /// # Errors
    /// When `metadata` is something else than a mapping.
    pub fn set_namespace(&mut self, namespace: &str) -> Result<(), edit::Error> {
        self.set_metadata("namespace", namespace)
    }

    /// Removes `metadata.namespace`; tells whether it was there.
    ///
    /// # Errors
    /// When `metadata` is something else than a mapping.
    pub fn remove_namespace(&mut self) -> Result<bool, edit::Error> {
        if self.metadata().is_none_or(|metadata| metadata.own_entry("namespace").is_none()) {
            return Ok(false);
        }
        self.document.root_mut().get_mut("metadata")?.remove("namespace")
    }

    /// Sets a label.
    ///
    /// # Errors
    /// When `metadata` or `metadata.labels` is something else than a mapping.
    pub fn set_label(&mut self, key: &str, value: &str) -> Result<(), edit::Error> {
        self.set_pair("labels", key, value)
    }

    /// Removes a label; tells whether it was there. With the last one goes the empty mapping.
    ///
    /// # Errors
    /// When `metadata` or `metadata.labels` is something else than a mapping.
    pub fn remove_label(&mut self, key: &str) -> Result<bool, edit::Error> {
        self.remove_pair("labels", key)
    }

    /// Sets an annotation.
    ///
    /// # Errors
    /// When `metadata` or `metadata.annotations` is something else than a mapping.
    pub fn set_annotation(&mut self, key: &str, value: &str) -> Result<(), edit::Error> {
        self.set_pair("annotations", key, value)
    }

    /// Removes an annotation; tells whether it was there. With the last one goes the empty mapping.
    ///
    /// # Errors
    /// When `metadata` or `metadata.annotations` is something else than a mapping.
    pub fn remove_annotation(&mut self, key: &str) -> Result<bool, edit::Error> {
        self.remove_pair("annotations", key)
    }

    /// Records where the resource stands, under the legacy names and the current ones.
    ///
    /// # Errors
    /// When `metadata` or `metadata.annotations` is something else than a mapping.
    pub fn set_location(&mut self, location: &Location) -> Result<(), edit::Error> {
        let index = location.index.to_string();
        self.set_annotation(annotation::LEGACY_INDEX, &index)?;
        self.set_annotation(annotation::LEGACY_PATH, &location.path)?;
        self.set_annotation(annotation::INDEX, &index)?;
        self.set_annotation(annotation::PATH, &location.path)
    }

    /// Removes what [`Resource::set_location`] sets.
    ///
    /// # Errors
    /// When `metadata` or `metadata.annotations` is something else than a mapping.
    pub fn remove_location(&mut self) -> Result<(), edit::Error> {
        for key in [annotation::LEGACY_INDEX, annotation::LEGACY_PATH, annotation::INDEX, annotation::PATH] {
            self.remove_annotation(key)?;
        }
        Ok(())
    }

    fn set_metadata(&mut self, field: &str, value: &str) -> Result<(), edit::Error> {
        if self.metadata().and_then(|metadata| text_at(metadata, field)).is_some_and(|is| is == value) {
            return Ok(());
        }
        need_mapping(self.metadata())?;
        self.document.edit_together(|document| {
            let mut metadata = open(document.root_mut(), "metadata", behind_type)?;
            if metadata.read().own_entry(field).is_some() {
                return metadata.insert(field, value);
            }
            let place = position(metadata.read(), "name").map_or(0, |at| at + 1);
            metadata.insert_at(place, field, value)
        })
    }

    fn set_pair(&mut self, field: &str, key: &str, value: &str) -> Result<(), edit::Error> {
        need_mapping(self.metadata())?;
        need_mapping(self.metadata().and_then(|metadata| metadata.get(field)))?;
        self.document.edit_together(|document| {
            let metadata = open(document.root_mut(), "metadata", behind_type)?;
            open(metadata, field, |_| usize::MAX)?.insert(key, value)
        })
    }

    fn remove_pair(&mut self, field: &str, key: &str) -> Result<bool, edit::Error> {
        let pairs = self.metadata().and_then(|metadata| metadata.get(field));
        if pairs.is_none_or(|pairs| pairs.own_entry(key).is_none()) {
            return Ok(false);
        }
        self.document.edit_together(|document| {
            let mut metadata = document.root_mut().get_mut("metadata")?;
            let mut pairs = metadata.reborrow().get_mut(field)?;
            pairs.remove(key)?;
            if !pairs.read().is_empty() {
                return Ok(true);
            }
            metadata.remove(field)?;
            if metadata.read().is_empty() {
                document.root_mut().remove("metadata")?;
            }
            Ok(true)
        })
    }
}

/// Checks, before anything is edited, that what gets an entry is a mapping or not there at all.
fn need_mapping(node: Option<NodeRef<'_>>) -> Result<(), edit::Error> {
    match node.map(NodeRef::target) {
        Some(node) if node.kind() != Kind::Mapping && !node.is_null() => {
            Err(edit::Error::WrongKind { needed: Kind::Mapping, found: node.kind() })
        }
        Some(_) | None => Ok(()),
    }
}

/// The value of a key, to edit it; an empty mapping at `place` where there is none.
fn open<'a>(
    mut node: edit::NodeMut<'a>,
    key: &str,
    place: impl FnOnce(NodeRef<'_>) -> usize,
) -> Result<edit::NodeMut<'a>, edit::Error> {
    match node.read().get(key) {
        None => {
            let place = place(node.read());
            node.insert_at(place, key, Content::mapping())?;
        }
        Some(value) if value.is_null() => node.insert(key, Content::mapping())?,
        Some(_) => {}
    }
    node.get_mut(key)
}

/// The place behind `kind` and `apiVersion`.
fn behind_type(root: NodeRef<'_>) -> usize {
    position(root, "kind").max(position(root, "apiVersion")).map_or(0, |at| at + 1)
}

fn position(mapping: NodeRef<'_>, key: &str) -> Option<usize> {
    mapping.entries().position(|(name, _)| name.target().value() == key)
}

/// The text of a scalar that is not null, whatever its type.
pub(crate) fn text(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    let node = node.target();
    (node.kind() == Kind::Scalar && !node.is_null()).then(|| node.value())
}

fn text_at<'a>(mapping: NodeRef<'a>, key: &str) -> Option<Cow<'a, str>> {
    text(mapping.get(key)?)
}

/// What a node is, in words.
pub(crate) fn describe(node: NodeRef<'_>) -> &'static str {
    match node.target().kind() {
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Scalar if node.is_null() => "null",
        Kind::Scalar => "a scalar",
        Kind::Alias => "an alias that leads in a circle",
    }
}

impl TryFrom<Document> for Resource {
    type Error = Error;

    fn try_from(document: Document) -> Result<Self, Error> {
        let root = document.root();
        if root.target().kind() != Kind::Mapping {
            return Err(Error::NotAMapping { line: root.position().line, found: describe(root) });
        }
        Ok(Self { document, origin: None })
    }
}

impl From<Resource> for Document {
    fn from(resource: Resource) -> Self {
        resource.document
    }
}

impl From<Resource> for Content {
    fn from(resource: Resource) -> Self {
        resource.document.into()
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.document, f)
    }
}
