//! What kyaml's package writer leaves out of a document, on top of what go-yaml does.
//!
//! While it reads a package it notes in the annotations of every resource where it came from, and clears that again
//! when it writes. The clearing is thorough: it takes what the user wrote too, if it is empty or has the name of a note.
//! Documents that are sequences cannot carry annotations; they are wrapped meanwhile and lose their own comments.

use std::collections::HashSet;

use crate::document::Document;
use crate::node::NodeRef;
use crate::tree::{Kind, NodeId};

/// The annotations that the reader sets and the writer clears.
const NOTES: [&str; 5] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];

/// What is not written of a document.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Keys that are left out with their values and comments.
    keys: HashSet<NodeId>,
    /// Whether the comments of the document itself are left out.
    pub document_comments: bool,
}

impl LeftOut {
    /// Whether a key is left out.
    pub fn has(&self, key: NodeId) -> bool {
        self.keys.contains(&key)
    }

    fn is_empty(&self, value: NodeRef<'_>) -> bool {
        match value.kind() {
            Kind::Mapping => value.entries().all(|(key, _)| self.has(key.id)),
            Kind::Sequence => value.is_empty(),
            Kind::Scalar => value.is_null() || value.value().is_empty(),
            Kind::Alias => false,
        }
    }
}

/// As kyaml's package writer clears annotations: notes, then `annotations` without any, then `metadata` without any.
pub(super) fn left_out(document: &Document) -> LeftOut {
    let root = document.root();
    let mut out = LeftOut { keys: HashSet::new(), document_comments: root.kind() == Kind::Sequence };
    if root.kind() != Kind::Mapping {
        return out;
    }
    let mut cleaned = false;
    for (key, metadata) in root.entries().filter(|(key, _)| is_named(*key, "metadata")) {
        if !cleaned && metadata.kind() == Kind::Mapping {
            clear_annotations(metadata, &mut out);
        }
        if out.is_empty(metadata) {
            out.keys.insert(key.id);
        } else {
            cleaned = true;
        }
    }
    out
}

/// Only the first `annotations` that have any are searched for notes, as a look-up finds no others.
fn clear_annotations(metadata: NodeRef<'_>, out: &mut LeftOut) {
    let mut cleaned = false;
    for (key, annotations) in metadata.entries().filter(|(key, _)| is_named(*key, "annotations")) {
        if !cleaned && annotations.kind() == Kind::Mapping {
            for note in NOTES {
                out.keys.extend(
                    annotations.entries().find(|(key, _)| is_named(*key, note)).map(|(key, _)| key.id),
                );
            }
        }
        if out.is_empty(annotations) {
            out.keys.insert(key.id);
        } else {
            cleaned = true;
        }
    }
}

fn is_named(key: NodeRef<'_>, name: &str) -> bool {
    key.kind() == Kind::Scalar && key.value() == name
}
