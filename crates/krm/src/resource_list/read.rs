//! From the wire.

use lanai_yaml::{Content, Document, Kind, NodeRef, Stream, edit};

use super::{API_VERSION, Error, KIND, ResourceList, cut};
use crate::resource::{self, Resource, describe, same, text};
use crate::result;

/// An older `apiVersion`, which means the same.
const OLD_API_VERSION: &str = "config.kubernetes.io/v1beta1";

impl ResourceList {
    /// Reads a text that holds one `ResourceList` or one `List`.
    ///
    /// # Errors
    /// When it is not YAML, not of these types, or when items, function config or results have the wrong shape.
    pub fn parse(text: &str) -> Result<Self, Error> {
        read(text, &Document::parse(text)?)
    }

    /// Reads a text that holds one list, or plain resources one after another, which become the items.
    ///
    /// # Errors
    /// When it is not YAML, or when what is in it has the wrong shape.
    pub fn parse_any(text: &str) -> Result<Self, Error> {
        let stream = Stream::parse(text)?;
        match stream.documents() {
            [document] if is_list(document.root()) => read(text, document),
            _ => {
                let documents = stream.into_documents().into_iter();
                let items = documents.filter(|document| !document.root().is_null()).map(Resource::try_from);
                Ok(Self { items: items.collect::<Result<_, _>>()?, ..Self::default() })
            }
        }
    }
}

impl TryFrom<&Document> for ResourceList {
    type Error = Error;

    fn try_from(document: &Document) -> Result<Self, Error> {
        Self::parse(&document.to_string())
    }
}

/// Reads the document that was read from `source`.
fn read(source: &str, document: &Document) -> Result<ResourceList, Error> {
    let root = document.root();
    if root.target().kind() != Kind::Mapping {
        return Err(not_a_mapping(root));
    }
    let field = |key| root.get(key).and_then(text).unwrap_or_default().into_owned();
    let (api_version, kind) = (field("apiVersion"), field("kind"));
    let known = match kind.as_str() {
        KIND => api_version == API_VERSION || api_version == OLD_API_VERSION,
        "List" => api_version == "v1",
        _ => false,
    };
    if !known {
        return Err(Error::WrongType { api_version, kind });
    }
    let mut list = ResourceList::default();
    for (key, value) in root.entries() {
        match &*key.target().value() {
            "apiVersion" | "kind" => {}
            "items" => list.items = items(source, key, value)?,
            "functionConfig" if value.is_null() => {}
            "functionConfig" => list.function_config = Some(resource(value, None)?),
            "results" => list.results = result::read(value)?,
            other => list.others.push((other.into(), Content::from(value))),
        }
    }
    Ok(list)
}

/// Whether a document wraps resources.
fn is_list(root: NodeRef<'_>) -> bool {
    let kind = root.get("kind").and_then(text);
    let has_content = root.get("items").is_some() || root.get("functionConfig").is_some();
    has_content && kind.is_some_and(|kind| kind == KIND || kind == "List")
}

fn items(source: &str, key: NodeRef<'_>, value: NodeRef<'_>) -> Result<Vec<Resource>, Error> {
    let list = value.target();
    if list.is_null() {
        return Ok(Vec::new());
    }
    if list.kind() != Kind::Sequence {
        return Err(Error::ItemsNotAList { line: list.position().line, found: describe(list) });
    }
    let texts = cut::items(source, key, value).unwrap_or_default();
    let texts = texts.into_iter().map(Some).chain(std::iter::repeat(None));
    list.items().zip(texts).map(|(item, text)| resource(item, text)).collect()
}

/// Makes a part of a document a resource of its own: with the text that was cut out for it, else with the excerpt that
/// the document gives, else with a copy that is laid out anew. The first that means the same is taken.
fn resource(node: NodeRef<'_>, cut: Option<String>) -> Result<Resource, Error> {
    if node.target().kind() != Kind::Mapping {
        return Err(not_a_mapping(node));
    }
    let stands_alone = |text: String| {
        let document = Document::parse(text).ok()?;
        same(document.root(), node).then_some(document)
    };
    let document = match cut.and_then(stands_alone).or_else(|| stands_alone(excerpt(node)?)) {
        Some(document) => document,
        None => copy(node).map_err(|cause| Error::TooLarge { line: node.position().line, cause })?,
    };
    Ok(Resource::try_from(document)?)
}

/// The text of the node with the comments above and below it; `None` when it was edited.
fn excerpt(node: NodeRef<'_>) -> Option<String> {
    let lines = |comment: Option<String>| comment.map(|comment| comment + "\n").unwrap_or_default();
    Some(lines(node.head_comment()) + &node.excerpt()? + &lines(node.foot_comment()))
}

/// A copy of the node, laid out anew.
fn copy(node: NodeRef<'_>) -> Result<Document, edit::Error> {
    let mut document = Document::from_serialize(&()).expect("nothing is too deep");
    document.root_mut().set(Content::from(node.target()))?;
    // Written and read again, so that it has a text of its own.
    Ok(Document::parse(document.to_string()).unwrap_or(document))
}

fn not_a_mapping(node: NodeRef<'_>) -> Error {
    resource::Error::NotAMapping { line: node.position().line, found: describe(node) }.into()
}
