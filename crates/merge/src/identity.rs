//! What a document is called in a merge.

use std::fmt;

use lanai_krm::merge_mark::{MergeMark, UPSTREAM_IDENTIFIER};
use lanai_yaml::{Document, Kind, NodeRef};

/// What identifies a resource on all sides: group, kind, and the name and namespace that it had upstream.
///
/// The version is left out, so that a resource stays the same when its version changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub group: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

impl Identity {
    /// The identity of a document; empty for one that is no resource.
    pub fn of(document: &Document) -> Self {
        let own = Self::here(document);
        match marked(document.root()).filter(|_| !own.kind.is_empty()) {
            Some(MergeMark { namespace, name }) => Self { namespace, name, ..own },
            None => own,
        }
    }

    /// The identity of a document by the name that it has now, whatever it was called upstream.
    pub fn here(document: &Document) -> Self {
        let root = document.root();
        let (api_version, kind) = (text(root.get("apiVersion")), text(root.get("kind")));
        let (Some(api_version), Some(kind)) = (api_version, kind) else { return Self::default() };
        let metadata = root.get("metadata");
        let group = api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
        let field = |key| text(metadata.and_then(|metadata| metadata.get(key))).unwrap_or_default();
        Self { group, kind, namespace: field("namespace"), name: field("name") }
    }

    /// The identities that the annotation of a resource without a mark allows: it has `default` for a namespace that is
    /// left out, too. Nothing for a resource with a mark, or without the annotation.
    pub fn remembered(document: &Document) -> Vec<Self> {
        let root = document.root();
        let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"));
        let identifier = text(annotations.and_then(|all| all.get(UPSTREAM_IDENTIFIER)));
        let Some(identifier) = identifier.filter(|_| !is_marked(root)) else { return Vec::new() };
        let parts: Vec<&str> = identifier.split('|').collect();
        let [group, kind, namespace, name] = parts[..] else { return Vec::new() };
        let of = |namespace: &str| Self {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        if namespace == "default" { vec![of(""), of(namespace)] } else { vec![of(namespace)] }
    }

    /// The identity of a Kptfile: there is one in a folder, whatever its name is.
    pub fn of_kptfile() -> Self {
        Self { group: "kpt.dev".into(), kind: "Kptfile".into(), ..Self::default() }
    }

    /// Whether the document is a resource with a name.
    pub fn is_named(&self) -> bool {
        !self.kind.is_empty() && !self.name.is_empty()
    }
}

/// Whether a comment says what the resource was called upstream.
pub(crate) fn is_marked(root: NodeRef<'_>) -> bool {
    marked(root).is_some()
}

fn marked(root: NodeRef<'_>) -> Option<MergeMark> {
    MergeMark::of(root).filter(|mark| !mark.name.is_empty())
}

fn text(node: Option<NodeRef<'_>>) -> Option<String> {
    let node = node?.target();
    (node.kind() == Kind::Scalar && !node.is_null()).then(|| node.value().into_owned())
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, kind, namespace, name } = self;
        if !group.is_empty() {
            write!(f, "{group}/")?;
        }
        f.write_str(kind)?;
        for part in [namespace, name].into_iter().filter(|part| !part.is_empty()) {
            write!(f, "/{part}")?;
        }
        Ok(())
    }
}
