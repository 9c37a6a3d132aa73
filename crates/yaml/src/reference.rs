//! The reference format: documents written byte for byte as kyaml writes them after reading them.
//!
//! Only for output that is compared with kyaml's. `Display` keeps what was read; this format loses blank lines,
//! columns and a few comments, because the reference does.
//!
//! | module | what it knows |
//! |---|---|
//! | [`emitter`] | how go-yaml walks a tree, and where it writes which comment |
//! | [`printer`] | lines, columns and the gaps between tokens |
//! | [`package`] | what kyaml's package writer leaves out |

mod emitter;
mod package;
mod printer;

use crate::document::{Document, Stream};
use emitter::Emitter;

/// Where the dashes of a sequence stand that is the value of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SequenceIndent {
    /// In the column of the key.
    #[default]
    Compact,
    /// Two columns to the right of the key.
    Wide,
}

/// The sequence indentation of a document, found in its text as kyaml finds it.
///
/// What counts is the first line with a dash and a space below a line that is a key and a colon, comments skipped:
/// in the key's column it is compact, two columns further right wide; any other distance is passed over. Block
/// scalars are searched like everything else. Where there is no such line, compact.
pub fn detect_sequence_indent(text: &str) -> SequenceIndent {
    let mut above = "";
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let content = line.trim_start_matches(' ');
        if content.starts_with('#') {
            continue;
        }
        if content.starts_with("- ") {
            let dash = line.len() - content.len();
            match key_column(above).and_then(|key| dash.checked_sub(key)) {
                Some(0) => return SequenceIndent::Compact,
                Some(2) => return SequenceIndent::Wide,
                _ => {}
            }
        }
        above = line;
    }
    SequenceIndent::Compact
}

/// The column of the key on a line that holds nothing but a key, its colon and a comment.
fn key_column(line: &str) -> Option<usize> {
    let line = line.split_once('#').map_or(line, |(before, _)| before);
    let key = line.trim_matches(' ');
    let is_key = key.ends_with(':') && key.matches(':').count() == 1;
    is_key.then(|| line.len() - line.trim_start_matches(' ').len())
}

/// Writes a document as kyaml's package writer does: as [`encode_document`], without the annotations that its reader
/// sets, without empty `metadata.annotations` and `metadata`, and, where the whole document is a sequence, without the
/// comments of the document itself.
pub fn format_document(document: &Document, indent: SequenceIndent) -> String {
    let mut emitter = Emitter::default();
    emitter.document(document, indent, &package::left_out(document));
    emitter.finish()
}

/// Writes a document as go-yaml does with kyaml's settings, and nothing else: what other tools print of a single node.
pub fn encode_document(document: &Document, indent: SequenceIndent) -> String {
    let mut emitter = Emitter::default();
    emitter.document(document, indent, &package::LeftOut::default());
    emitter.finish()
}

/// Writes a stream as kyaml does after reading it from the file of a package: documents separated by `---`, each with
/// the sequence indentation of its own text; documents that are null or hold only comments are left out. Where none
/// is left, kyaml does not touch the file, and the stream is written as it is.
///
/// Where kyaml loses or adds content it is not followed: a document behind `...` without `---` is kept, an empty
/// sequence as a whole document stays `[]`, annotations that are an alias or a text are kept, and `config.k8s.io/id`
/// gets no twin. Documents that are scalars, which kyaml refuses, are written like all others.
pub fn format_stream(stream: &Stream) -> String {
    let mut emitter = Emitter::default();
    let mut any = false;
    for document in stream.documents().iter().filter(|document| !document.root().is_null()) {
        let indent = detect_sequence_indent(document.source());
        emitter.document(document, indent, &package::left_out(document));
        any = true;
    }
    if any { emitter.finish() } else { stream.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_indent(text: &str, expected: SequenceIndent) {
        assert_eq!(detect_sequence_indent(text), expected, "{text:?}");
    }

    #[test]
    fn the_first_key_with_a_dash_below_decides() {
        use SequenceIndent::{Compact, Wide};
        check_indent("a: 1\n", Compact);
        check_indent("a:\n- 1\nb:\n  - 2\n", Compact);
        check_indent("a:\n  - 1\nb:\n- 2\n", Wide);
        check_indent("a:\r\n  - 1\r\n", Wide);
        check_indent("a: # c\n  # d\n  - 1\n", Wide);
        check_indent("a:\n    - 1\nb:\n  - 2\n", Wide);
        check_indent("a:\n   - 1\n", Compact);
        check_indent("a:\n\n  - 1\n", Compact);
        check_indent("a: &x\n  - 1\n", Compact);
        check_indent("a: |\n  key:\n    - x\n", Wide);
        check_indent("a:b:\n  - 1\n", Compact);
        check_indent("a:\n  -\n    - 1\n", Compact);
        check_indent("  a:\n- 1\n", Compact);
    }

    fn check(text: &str, expected: &str) {
        let stream = Stream::parse(text).unwrap();
        assert_eq!(format_stream(&stream), expected, "{text:?}");
    }

    #[test]
    fn streams() {
        check("---\na:   1\n---\n# only\n---\nb:\n    - 2", "a: 1\n---\nb:\n- 2\n");
        check("# nothing\n---\n", "# nothing\n---\n");
        check("", "");
        check("a: 1\n...\nb:  2\n", "a: 1\n---\nb: 2\n");
        check("[]\n", "[]\n");
    }

    #[test]
    fn the_package_writer_leaves_out_empty_annotations() {
        check("a: 1\nmetadata:\n  annotations: {}\n  name: x\n", "a: 1\nmetadata:\n  name: x\n");
        check("metadata: {annotations: {}}\n", "{}\n");
        check("a: 1\nmetadata:\n", "a: 1\n");
        check(
            "metadata:\n  annotations:\n    config.kubernetes.io/index: '1'\n    x: y\n",
            "metadata:\n  annotations:\n    x: y\n",
        );
        check("x: &x {a: b}\nmetadata: {annotations: *x}\n", "x: &x {a: b}\nmetadata: {annotations: *x}\n");
        let document = Document::parse("metadata: {annotations: {}}\n").unwrap();
        assert_eq!(encode_document(&document, SequenceIndent::Compact), "metadata: {annotations: {}}\n");
    }
}
