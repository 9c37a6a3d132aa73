//! Streams and documents.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use lanai_types::YamlLimits;

use crate::emit;
use crate::error::{Cause, Error, Position};
use crate::node::NodeRef;
use crate::syntax::{self, token::Span};
use crate::tree::{Kind, NOWHERE, Tree};

/// A YAML stream: documents one after another, as in a file.
///
/// `Display` writes it. What was not edited is written byte for byte as it was read: separators, comments between
/// documents and a missing final line break included.
#[derive(Clone, Debug)]
pub struct Stream {
    source: Arc<str>,
    documents: Vec<Document>,
    /// What stands behind the last document: comments only, or nothing.
    tail: Span,
    given: Given,
}

/// Whether somebody could edit the documents of a stream. Where nobody could, no document has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    ToRead,
    ToEdit,
}

impl Stream {
    /// Reads a stream within the default limits.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, Error> {
        Self::parse_within(text, &YamlLimits::default())
    }

    /// Reads a stream within limits.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place. A limit is noticed before memory is spent on what exceeds it.
    pub fn parse_within(text: impl AsRef<str> + Into<Arc<str>>, limits: &YamlLimits) -> Result<Self, Error> {
        syntax::check_size(text.as_ref(), limits)?;
        let source: Arc<str> = text.into();
        let parsed = syntax::parse(&source, limits)?;
        let documents = parsed
            .trees
            .into_iter()
            .map(|tree| Document { source: Arc::clone(&source), tree: Arc::new(tree), proofs: Proofs::Each })
            .collect();
        Ok(Self { source, documents, tail: parsed.tail, given: Given::ToRead })
    }

    /// Reads a stream from bytes, which must be UTF-8.
    ///
    /// # Errors
    /// As [`Stream::parse`], and for bytes that are not UTF-8.
    pub fn parse_bytes(bytes: &[u8], limits: &YamlLimits) -> Result<Self, Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse_within(text, limits),
            Err(error) => {
                let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
                let what = if wide { "the text is UTF-16" } else { "the text is not UTF-8" };
                let hint = Some("save the file as UTF-8");
                Err(Error::new(&good, good.len(), Cause::Encoding(what.into()), hint))
            }
        }
    }

    /// The documents, in order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The documents, to edit them.
    pub fn documents_mut(&mut self) -> &mut [Document] {
        self.given = Given::ToEdit;
        &mut self.documents
    }

    /// Takes the documents out.
    pub fn into_documents(self) -> Vec<Document> {
        self.documents
    }

    /// The comments of the text that was read, in order, each from its `#` to the end of its line.
    pub fn comments(&self) -> Vec<&str> {
        let all = Span::new(0, self.source.len());
        syntax::comments_within(&self.source, all, all)
            .into_iter()
            .map(|span| span.of(&self.source))
            .collect()
    }

    /// Whether any document was edited.
    pub fn is_edited(&self) -> bool {
        self.given == Given::ToEdit && self.documents.iter().any(Document::is_edited)
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_edited() {
            return f.write_str(&self.source);
        }
        for document in &self.documents {
            fmt::Display::fmt(document, f)?;
        }
        f.write_str(self.tail.of(&self.source))
    }
}

/// One YAML document: a tree of nodes over the text that it was read from.
///
/// Cloning is cheap, the clone shares everything until one of the two is edited. `Display` writes the document with
/// its markers and all comments: byte for byte what was read, but for the entries that were edited.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) source: Arc<str>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) proofs: Proofs,
}

/// When edits of a delicate document are proved. A copy of a document begins anew.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Proofs {
    /// Each one.
    #[default]
    Each,
    /// Several as one, see [`Document::edit_together`].
    Together,
}

impl Clone for Proofs {
    fn clone(&self) -> Self {
        Self::Each
    }
}

/// A key that stands in a mapping more than once. Look-ups see the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// Where it stands first.
    pub first: Position,
    /// Where it stands again.
    pub again: Position,
}

impl Document {
    /// Reads a text that holds one document; one without content counts as one that is null.
    ///
    /// # Errors
    /// As [`Stream::parse`], and when there is a second document.
    pub fn parse(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, Error> {
        let text: Arc<str> = text.into();
        let mut stream = Stream::parse(Arc::clone(&text))?;
        if let Some(second) = stream.documents.get(1) {
            let offset = second.tree.span.start as usize;
            return Err(Error::new(
                &text,
                offset,
                Cause::Syntax("a second document begins here, where one is expected".into()),
                None,
            ));
        }
        match stream.documents.pop() {
            Some(mut document) => {
                Arc::make_mut(&mut document.tree).span.end = Span::new(0, text.len()).end;
                Ok(document)
            }
            None => Ok(Self {
                tree: Arc::new(Tree::empty(Span::new(0, text.len()))),
                source: text,
                proofs: Proofs::Each,
            }),
        }
    }

    /// A document that was made, not read.
    pub(crate) fn of_tree(tree: Tree) -> Self {
        Self { source: "".into(), tree: Arc::new(tree), proofs: Proofs::Each }
    }

    /// Whether the whole document was made, not read.
    pub(crate) fn is_made(&self) -> bool {
        self.tree.node(self.tree.root).state == crate::tree::State::New
    }

    /// The outermost node.
    pub fn root(&self) -> NodeRef<'_> {
        NodeRef::new(self, self.tree.root)
    }

    /// The comments of the document itself: what stands above the first node, set off by a blank line.
    pub fn head_comment(&self) -> Option<String> {
        emit::comment_text(&self.source, self.tree.own.head.as_ref())
    }

    /// The comments before the `---` that the document begins with, which kyaml loses.
    pub fn preface(&self) -> Option<String> {
        emit::comment_text(&self.source, self.tree.preface.as_ref())
    }

    /// The comment behind all content.
    pub fn foot_comment(&self) -> Option<String> {
        emit::comment_text(&self.source, self.tree.own.foot.as_ref())
    }

    /// Whether the document begins with `---`.
    pub fn has_start_marker(&self) -> bool {
        self.tree.start_mark != NOWHERE
    }

    /// Whether the document ends with `...`.
    pub fn has_end_marker(&self) -> bool {
        self.tree.end_mark != NOWHERE
    }

    /// Whether there is no content at all, not even a null.
    pub fn is_empty(&self) -> bool {
        let root = self.root();
        root.kind() == Kind::Scalar && root.is_absent()
    }

    /// The text that the document was read from, markers and comments included.
    pub fn source(&self) -> &str {
        self.tree.span.of(&self.source)
    }

    /// Whether anything was edited since the document was read.
    pub fn is_edited(&self) -> bool {
        self.tree.is_edited()
    }

    /// The keys that occur more than once in their mapping, in order. They are kept as they are.
    pub fn duplicate_keys(&self) -> Vec<DuplicateKey> {
        let mut found: Vec<(String, NodeRef<'_>, NodeRef<'_>)> = Vec::new();
        for id in self.tree.subtree(self.tree.root) {
            if self.tree.node(id).kind != Kind::Mapping {
                continue;
            }
            let mapping = NodeRef::new(self, id);
            let mut seen = HashMap::new();
            for (key, _) in mapping.entries().filter(|(key, _)| key.kind() == Kind::Scalar) {
                let name = key.value();
                if let Some(first) = seen.get(&name).copied() {
                    found.push((name.into_owned(), first, key));
                } else {
                    seen.insert(name, key);
                }
            }
        }
        let offsets = found.iter().flat_map(|(_, first, again)| [first.offset(), again.offset()]).collect();
        let positions = Position::of_all(&self.source, offsets);
        let place =
            |node: NodeRef<'_>| positions.get(&node.offset()).copied().unwrap_or_else(|| node.position());
        let duplicate = |(key, first, again)| DuplicateKey { key, first: place(first), again: place(again) };
        found.into_iter().map(duplicate).collect()
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_edited() {
            return f.write_str(self.source());
        }
        f.write_str(&emit::lossless(self))
    }
}
