//! Whether a document is what it was.

use lanai_yaml::{Document, Kind, NodeRef};

use crate::Resource;

/// Whether two documents say the same in the same order with the same comments. Layout, quoting, markers and aliases
/// do not count: they change when a document goes through a function, and nobody meant that.
///
/// Comments before the marker of the old document are the file's. They may be gone, or have become the head.
pub(super) fn unchanged(new: &Resource, old: &Resource) -> bool {
    if !new.means_the_same(old) {
        return false;
    }
    let mut before = Vec::new();
    push_lines(&mut before, old.document().preface().as_deref());
    let (new, old) = (trace(new.document()), trace(old.document()));
    new == old || new.strip_prefix(before.as_slice()).is_some_and(|rest| rest == old)
}

/// A key or a line of a comment.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    LineComment(String),
    Comment(String),
}

enum Visit<'a> {
    Key(NodeRef<'a>),
    Value(NodeRef<'a>),
    Leave(NodeRef<'a>),
}

/// The keys and comments of a document in their order.
fn trace(document: &Document) -> Vec<Step> {
    let mut steps = Vec::new();
    push_lines(&mut steps, document.head_comment().as_deref());
    let mut work = vec![Visit::Value(document.root())];
    while let Some(visit) = work.pop() {
        let (node, is_key) = match visit {
            Visit::Leave(node) => {
                push_lines(&mut steps, node.foot_comment().as_deref());
                continue;
            }
            Visit::Key(node) => (node, true),
            Visit::Value(node) => (node, false),
        };
        // A comment above all is the document's or the first key's, by a blank line that is easily lost.
        push_lines(&mut steps, node.head_comment().as_deref());
        steps.extend(is_key.then(|| Step::Key(node.target().value().into_owned())));
        steps.extend(node.line_comment().map(Step::LineComment));
        work.push(Visit::Leave(node));
        let first = work.len();
        let target = node.target();
        match target.kind() {
            Kind::Mapping => {
                let pairs = target.entries().flat_map(|(key, value)| [Visit::Key(key), Visit::Value(value)]);
                work.extend(pairs);
            }
            Kind::Sequence => work.extend(target.items().map(Visit::Value)),
            Kind::Scalar | Kind::Alias => {}
        }
        work[first..].reverse();
    }
    push_lines(&mut steps, document.foot_comment().as_deref());
    steps
}

fn push_lines(steps: &mut Vec<Step>, comment: Option<&str>) {
    let lines = comment.into_iter().flat_map(str::lines).map(str::trim);
    steps.extend(lines.filter(|line| !line.is_empty()).map(|line| Step::Comment(line.to_owned())));
}
