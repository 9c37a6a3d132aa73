//! Our trees in the event notation of the public YAML test suite.

use lanai_yaml::{Kind, NodeRef, Stream, Style};

/// The events of a stream, one a line, as the suite writes them (without indentation).
pub fn of_stream(stream: &Stream) -> String {
    let mut lines = vec!["+STR".to_string()];
    for document in stream.documents() {
        lines.push(if document.has_start_marker() { "+DOC ---".into() } else { "+DOC".into() });
        of_node(document.root(), &mut lines);
        lines.push(if document.has_end_marker() { "-DOC ...".into() } else { "-DOC".into() });
    }
    lines.push("-STR".into());
    lines.join("\n")
}

fn of_node(node: NodeRef<'_>, lines: &mut Vec<String>) {
    let anchor = node.anchor().map_or(String::new(), |anchor| format!(" &{anchor}"));
    let tag = node.full_tag().map_or(String::new(), |tag| format!(" <{tag}>"));
    let properties = anchor + &tag;
    match node.kind() {
        Kind::Alias => lines.push(format!("=ALI *{}", node.value())),
        Kind::Scalar => {
            let style = match node.style() {
                Style::SingleQuoted => '\'',
                Style::DoubleQuoted => '"',
                Style::Literal => '|',
                Style::Folded => '>',
                Style::Plain | Style::Block | Style::Flow => ':',
            };
            lines.push(format!("=VAL{properties} {style}{}", escape(&node.value())));
        }
        Kind::Sequence => {
            let flow = if node.style() == Style::Flow { " []" } else { "" };
            lines.push(format!("+SEQ{flow}{properties}"));
            node.items().for_each(|item| of_node(item, lines));
            lines.push("-SEQ".into());
        }
        Kind::Mapping => {
            let flow = if node.style() == Style::Flow { " {}" } else { "" };
            lines.push(format!("+MAP{flow}{properties}"));
            for (key, value) in node.entries() {
                of_node(key, lines);
                of_node(value, lines);
            }
            lines.push("-MAP".into());
        }
    }
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out
}
