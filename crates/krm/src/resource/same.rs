//! Whether two nodes mean the same.

use std::collections::HashMap;

use lanai_yaml::{Kind, NodeRef, Resolved};

/// How deep nodes are compared; beyond that they count as different, so that circles end.
const MAX_DEPTH: usize = 2_000;

/// Whether two nodes mean the same: equal values under equal keys, lists in equal order.
pub(crate) fn same(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    let mut open = vec![(left, right, 0)];
    while let Some((left, right, depth)) = open.pop() {
        let (left, right) = (left.target(), right.target());
        if left.kind() != right.kind() || left.len() != right.len() || depth > MAX_DEPTH {
            return false;
        }
        match left.kind() {
            Kind::Scalar => {
                if !same_scalar(left, right) {
                    return false;
                }
            }
            Kind::Sequence => open.extend(left.items().zip(right.items()).map(|(l, r)| (l, r, depth + 1))),
            Kind::Mapping => match pair_entries(left, right) {
                Some(pairs) => open.extend(pairs.into_iter().map(|(l, r)| (l, r, depth + 1))),
                None => return false,
            },
            Kind::Alias => return false,
        }
    }
    true
}

/// The values that stand under equal keys; `None` when a key has no partner.
fn pair_entries<'a>(left: NodeRef<'a>, right: NodeRef<'a>) -> Option<Vec<(NodeRef<'a>, NodeRef<'a>)>> {
    let in_order = left.entries().zip(right.entries());
    let pairs: Vec<_> =
        in_order.map_while(|((l, left), (r, right))| same_key(l, r).then_some((left, right))).collect();
    if pairs.len() == left.len() {
        return Some(pairs);
    }
    // Another order: keys are looked up. Of keys that stand twice, the first counts.
    let mut others = HashMap::new();
    for (key, value) in right.entries() {
        others.entry(key_text(key)).or_insert((key, value));
    }
    let found = left.entries().map(|(key, value)| {
        let (name, other) = others.get(&key_text(key))?;
        same_key(key, *name).then_some((value, *other))
    });
    found.collect()
}

fn key_text(key: NodeRef<'_>) -> String {
    match key.target().kind() {
        Kind::Scalar => key.target().value().into_owned(),
        Kind::Mapping | Kind::Sequence | Kind::Alias => format!("{:?}", key.target()),
    }
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
        assert!(same(deepest.root(), deepest.root()));
        assert!(!same(deeper.root(), deeper.root()));
    }
}
