//! Whether nodes are equal: in what they mean, or in how they are written as well.

use std::collections::HashMap;

use lanai_yaml::{Kind, NodeRef, Resolved};

/// How deep nodes are compared; beyond that they count as different, so that circles end.
const MAX_DEPTH: usize = 1_200;

/// Whether two nodes mean the same. Absent equals absent only; the order of keys does not count.
pub(crate) fn same(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right, Level::Meaning),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether two nodes are written alike: equal values, spelling, quoting, order and comments. Layout does not count.
pub(crate) fn exact(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right, Level::Writing),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether two nodes of the same meaning have the same comments inside; those around the nodes themselves do not count.
pub(crate) fn same_comments_inside(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    let (left, right) = (left.target(), right.target());
    left.kind() == Kind::Scalar || equal(left, right, Level::Comments)
}

/// What counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Meaning,
    Comments,
    Writing,
}

fn equal(left: NodeRef<'_>, right: NodeRef<'_>, level: Level) -> bool {
    let mut open = vec![(left, right, 0)];
    while let Some((left, right, depth)) = open.pop() {
        let alike = match level {
            Level::Meaning => true,
            Level::Comments => depth == 0 || same_comments(left, right),
            Level::Writing => same_writing(left, right),
        };
        if !alike {
            return false;
        }
        let (left, right) = (left.target(), right.target());
        if left.kind() != right.kind() || left.len() != right.len() || depth > MAX_DEPTH {
            return false;
        }
        match left.kind() {
            Kind::Scalar if !same_scalar(left, right) => return false,
            Kind::Scalar => {}
            Kind::Sequence => open.extend(left.items().zip(right.items()).map(|(l, r)| (l, r, depth + 1))),
            Kind::Mapping => {
                let Some(pairs) = pair_entries(left, right, level) else { return false };
                open.extend(pairs.into_iter().map(|(l, r)| (l, r, depth + 1)));
            }
            Kind::Alias => return false,
        }
    }
    true
}

type Pair<'a> = (NodeRef<'a>, NodeRef<'a>);

/// The values that stand under equal keys; `None` when a key has no partner.
fn pair_entries<'a>(left: NodeRef<'a>, right: NodeRef<'a>, level: Level) -> Option<Vec<Pair<'a>>> {
    let in_order = left.entries().zip(right.entries());
    let alike = |l, r| {
        same_key(l, r)
            && match level {
                Level::Meaning => true,
                Level::Comments => same_comments(l, r),
                Level::Writing => same_writing(l, r),
            }
    };
    let pairs: Vec<_> =
        in_order.map_while(|((l, left), (r, right))| alike(l, r).then_some((left, right))).collect();
    if pairs.len() == left.len() {
        return Some(pairs);
    }
    if level == Level::Writing {
        return None;
    }
    let mut others = HashMap::new();
    for (key, value) in right.entries() {
        others.entry(key_text(key)).or_insert((key, value));
    }
    let found = left.entries().map(|(key, value)| {
        let (name, other) = others.get(&key_text(key))?;
        alike(key, *name).then_some((value, *other))
    });
    found.collect()
}

fn key_text(key: NodeRef<'_>) -> String {
    let key = key.target();
    if key.kind() == Kind::Scalar { key.value().into_owned() } else { format!("{key:?}") }
}

fn same_key(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    let (left, right) = (left.target(), right.target());
    if left.kind() == Kind::Scalar && right.kind() == Kind::Scalar {
        return same_scalar(left, right);
    }
    format!("{left:?}") == format!("{right:?}")
}

fn same_scalar(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    match (left.resolved(), right.resolved()) {
        (Resolved::Str | Resolved::Timestamp, Resolved::Str | Resolved::Timestamp) => {
            left.value() == right.value() && left.full_tag() == right.full_tag()
        }
        (Resolved::Float(l), Resolved::Float(r)) => l.total_cmp(&r).is_eq(),
        (l, r) => l == r,
    }
}

fn same_comments(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    left.head_comment() == right.head_comment()
        && left.line_comment() == right.line_comment()
        && left.foot_comment() == right.foot_comment()
}

fn same_writing(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    same_comments(left, right)
        && left.kind() == right.kind()
        && left.style() == right.style()
        && left.tag() == right.tag()
        && (left.kind() != Kind::Scalar || left.value() == right.value())
}

#[cfg(test)]
mod tests {
    use lanai_types::YamlLimits;
    use lanai_yaml::Stream;

    use super::*;

    #[test]
    fn beyond_the_depth_nothing_is_equal() {
        let limits = YamlLimits { max_depth: 2 * MAX_DEPTH, ..YamlLimits::DEFAULT };
        let nested = |depth: usize| {
            let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            Stream::parse_within(text, &limits).unwrap().into_documents().remove(0)
        };
        let (deepest, deeper) = (nested(MAX_DEPTH), nested(MAX_DEPTH + 1));
        assert!(same(Some(deepest.root()), Some(deepest.root())));
        assert!(!same(Some(deeper.root()), Some(deeper.root())));
    }
}
