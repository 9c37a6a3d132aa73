//! Documents as wholes.

use lanai_krm::{Resource, ResourceId};
use lanai_yaml::path::Segment;
use lanai_yaml::{Document, Path};

use crate::compare::exact;
use crate::conflict::Subject;
use crate::identity::is_marked;

/// The annotation that remembers where a resource came from. Its absence is no change.
const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";

/// What a document is, for a conflict.
pub(crate) fn subject(document: &Document) -> Subject {
    match Resource::try_from(document.clone()) {
        Ok(resource) if resource.id() != ResourceId::default() => Subject::Resource(resource.id()),
        Ok(_) | Err(_) => Subject::File,
    }
}

/// Whether a document is written as it was, layout and the marks of a merge aside. Comments count: someone wrote them.
pub(crate) fn is_untouched(original: &Document, local: &Document) -> bool {
    let (original, local) = (unmarked(original), unmarked(local));
    exact(Some(original.root()), Some(local.root()))
}

fn unmarked(document: &Document) -> Document {
    let Ok(mut resource) = Resource::try_from(document.clone()) else { return document.clone() };
    // What cannot be edited is compared as it is.
    let unmarked = resource.remove_annotation(UPSTREAM_IDENTIFIER).is_ok();
    let mut document = if unmarked { resource.into_document() } else { document.clone() };
    if is_marked(document.root()) {
        let path: Path = [Segment::Key("metadata".into())].into_iter().collect();
        // What cannot be edited is compared as it is.
        let _ = document.set_line_comment(&path, "");
    }
    document
}

/// A Kptfile without what is local's alone: its name, where it came from, and what the last render said.
pub(crate) fn kptfile_content(document: &Document) -> Document {
    let mut content = unmarked(document);
    for path in ["upstream", "upstreamLock", "metadata.name", "status"] {
        let removed = Path::parse(path).map(|path| content.remove(&path));
        // What is not there or cannot be removed is compared as it is.
        let _ = removed;
    }
    content
}
