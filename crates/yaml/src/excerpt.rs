//! A piece of the source by itself.

use crate::node::NodeRef;
use crate::tree::{Kind, NodeId, State, Style, Tree};

impl NodeRef<'_> {
    /// The text of the node as it stands in the source, moved to the left margin, with a line break at its end; where it ends
    /// in a block scalar, with the line breaks that this has.
    ///
    /// Spelling, quotes, blank lines and the comments in it stay; aliases in it stay aliases, but a node that is an alias
    /// itself gives the text of its target, without the anchor. Anchor and tag of the node come first.
    ///
    /// Returns `None` when the node, or something in it, was edited: there is no source of it then.
    pub fn excerpt(self) -> Option<String> {
        let node = self.target();
        let tree = &node.document.tree;
        if tree.node(node.id).state != State::Clean {
            return None;
        }
        let source: &str = &node.document.source;
        let own = if self.kind() == Kind::Alias { Own::Tag } else { Own::Properties };
        let (start, end) = (start(tree, node.id, own), end(tree, node.id, source));
        let text = &source[start..end.max(start)];
        let mut lines = text.split_inclusive(['\n', '\r']);
        let mut out = String::with_capacity(text.len() + 1);
        if let (Own::Tag, Some(tag)) = (own, node.tag()) {
            out.push_str(tag);
            out.push(if node.style() == Style::Block { '\n' } else { ' ' });
        }
        out.push_str(lines.next().unwrap_or_default());
        let margin = margin(node, text);
        for line in lines {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            out.push_str(&line[blanks.min(margin)..]);
        }
        if !ends_in_block_scalar(tree, node.id) {
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        Some(out)
    }
}

/// What is shown of the properties of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    /// All, as they stand.
    Properties,
    /// The tag, and not the anchor, which has its place elsewhere.
    Tag,
}

/// Where the node begins: at its properties, else at the comment above its first entry, else at its content.
fn start(tree: &Tree, id: NodeId, own: Own) -> usize {
    let node = tree.node(id);
    let start = if own == Own::Tag { node.span.start } else { tree.start(id) };
    if start != node.span.start || node.style != Style::Block {
        return start as usize;
    }
    let head = node.first.get().and_then(|first| tree.comments(first)?.head.as_ref());
    head.filter(|head| !head.span.is_empty()).map_or(start, |head| head.span.start.min(start)) as usize
}

/// Where the node ends: behind its content and the comments of what comes last in it.
fn end(tree: &Tree, id: NodeId, source: &str) -> usize {
    let mut end = tree.node(id).span.end;
    let mut at = Some(id);
    while let Some(parent) = at {
        let last = tree.node(parent).last.get().filter(|_| tree.node(parent).kind != Kind::Alias);
        let key = last.and_then(|last| tree.node(last).previous.get());
        let inside = [last, key.filter(|_| tree.node(parent).kind == Kind::Mapping)];
        for child in inside.into_iter().flatten() {
            let comments = tree.comments(child);
            let spans = comments.into_iter().flat_map(|comments| [&comments.line, &comments.foot]).flatten();
            end = spans
                .map(|comment| comment.span.end)
                .chain([end, tree.node(child).span.end])
                .max()
                .unwrap_or(end);
        }
        at = last;
    }
    let end = end as usize;
    // The comment on the last line of a block belongs to what stands there, whoever owns it.
    let rest = source[end..].split(['\n', '\r']).next().unwrap_or_default();
    let is_comment = tree.node(id).style == Style::Block && rest.trim_start().starts_with('#');
    if is_comment { end + rest.len() } else { end }
}

/// How many blanks each line but the first loses.
fn margin(node: NodeRef<'_>, text: &str) -> usize {
    let tree = &node.document.tree;
    let column = tree.node(node.id).column as usize;
    match node.style() {
        Style::Block => column,
        Style::Literal | Style::Folded => {
            let header = text.lines().next().unwrap_or_default().split('#').next().unwrap_or_default();
            let digit =
                header.chars().find_map(|c| c.to_digit(10)).and_then(|digit| usize::try_from(digit).ok());
            column.saturating_sub(digit.unwrap_or(2))
        }
        Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => least_indentation(text).saturating_sub(2),
        Style::Flow => least_indentation(text),
    }
}

fn least_indentation(text: &str) -> usize {
    let lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0)
}

/// Whether the last thing in the node is a scalar whose blank lines at the end may count.
fn ends_in_block_scalar(tree: &Tree, id: NodeId) -> bool {
    let mut at = id;
    while let (Kind::Mapping | Kind::Sequence, Some(last)) = (tree.node(at).kind, tree.node(at).last.get()) {
        at = last;
    }
    matches!(tree.node(at).style, Style::Literal | Style::Folded)
}

#[cfg(test)]
mod tests {
    use crate::{Document, Kind, NodeRef, Path, Stream};

    fn check(source: &str, path: &str, expected: &str) {
        let document = Document::parse(source).unwrap();
        let node = document.root().find(&Path::parse(path).unwrap()).unwrap();
        assert_eq!(node.excerpt().as_deref(), Some(expected), "{path} of\n{source}");
    }

    #[test]
    fn an_alias_is_shown_as_what_it_stands_for_without_the_anchor() {
        check("a: &x 1\nb: *x\n", "b", "1\n");
        check("a: &x 1\nb: *x\n", "a", "&x 1\n");
        check("a: !!str &x 1\nb: *x\n", "b", "!!str 1\n");
        check("a: &x\n  # head\n  c: 1\n  d: &y 2\nb: *x\n", "b", "# head\nc: 1\nd: &y 2\n");
        check("a: &x !t\n  c: 1\nb: *x\n", "b", "!t\nc: 1\n");
    }

    #[test]
    fn scalars_stand_as_they_are_written() {
        check("a: 1 # one\n", "a", "1\n");
        check("a: 'it''s'", "a", "'it''s'\n");
        check("a: !!str 08\n", "a", "!!str 08\n");
        check("a:\n  b: |\n    x\n      y\n\nc: 1\n", "a.b", "|\n  x\n    y\n");
        check("a:\n  b: |+\n    x\n\nc: 1\n", "a.b", "|+\n  x\n\n");
        check("a:\n  b: |\n    x", "a.b", "|\n  x");
        check("a:\n  b: |1-\n    x\n", "a.b", "|1-\n  x\n");
        check("a:\n  b: \"x\n    y\"\n", "a.b", "\"x\n  y\"\n");
        check("a:\nb: 1\n", "a", "\n");
    }

    #[test]
    fn blocks_move_to_the_margin_and_keep_their_comments() {
        let source = "\
a:
    # above
    b: 1   # beside
    c:
    - x: 1
      # inside
      y: [p,
        q]

    # before the last
    - z   # last

d: 2
";
        let c = "- x: 1\n  # inside\n  y: [p,\n    q]\n\n# before the last\n- z   # last\n";
        check(source, "a", &format!("# above\nb: 1   # beside\nc:\n{c}"));
        check(source, "a.c", c);
        check(source, "a.c[0]", "x: 1\n# inside\ny: [p,\n  q]\n");
        check(source, "a.c[0].y", "[p,\nq]\n");
    }

    #[test]
    fn windows_line_ends_stay() {
        check("a:\r\n  b: 1\r\n  c: 2\r\n", "a", "b: 1\r\nc: 2\n");
        check("a:\r  b: 1\r  c: 2\r", "a", "b: 1\rc: 2\n");
    }

    #[test]
    fn an_excerpt_means_what_the_node_means() {
        let seen = check_all(&lanai_testkit::manifests(7, 300));
        assert!(seen > 3_000, "{seen} nodes");
    }

    #[test]
    fn an_excerpt_means_what_the_node_means_in_files_of_others() {
        let Some(corpus) = lanai_testkit::corpus("manifests") else {
            lanai_testkit::skip("excerpts", "the corpus \"manifests\" is not here");
            return;
        };
        let mut open = vec![corpus];
        let mut seen = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            // Every node is read again: a file costs its size times its depth.
            let readable =
                text.len() < 200_000 && !text.contains(['&', '*']) && Stream::parse(text.as_str()).is_ok();
            seen += if readable { check_all(&text) } else { 0 };
        }
        assert!(seen > 1_000, "{seen} nodes");
    }

    /// Checks every node of a stream, and counts them.
    fn check_all(source: &str) -> usize {
        let stream = Stream::parse(source).unwrap();
        let mut seen = 0;
        for document in stream.documents() {
            let mut open = vec![document.root()];
            while let Some(node) = open.pop() {
                let excerpt = node.excerpt().expect("nothing was edited");
                let read = Document::parse(excerpt.as_str()).expect(&excerpt);
                assert_eq!(value(read.root()), value(node), "{excerpt}");
                open.extend(node.entries().map(|(_, value)| value).chain(node.items()));
                seen += 1;
            }
        }
        seen
    }

    fn value(node: NodeRef<'_>) -> String {
        match node.kind() {
            Kind::Scalar => format!("{:?} {:?}", node.resolved(), node.value()),
            Kind::Mapping | Kind::Sequence | Kind::Alias => format!("{node:?}"),
        }
    }
}
