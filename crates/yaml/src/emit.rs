//! Writing documents: the source, and splices where something was edited.

use crate::document::Document;
use crate::syntax;
use crate::tree::Comment;

/// The text of a comment; `None` where there is none, or where it was removed.
pub(crate) fn comment_text(source: &str, comment: Option<&Comment>) -> Option<String> {
    let comment = comment?;
    match &comment.text {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.to_string()),
        None => Some(syntax::comment_text(source, comment.span)),
    }
}

/// Writes an edited document.
pub(crate) fn lossless(document: &Document) -> String {
    document.source().into()
}
