//! Giving a list other items.

use lanai_yaml::{Content, Document, Kind, NodeRef, Path, Style, edit};

use super::walk;

/// How many pairs of old and new items are compared before the list is written anew.
const MAX_PAIRS: usize = 1_000_000;

/// Gives the list at `path` the items of another one. Items that mean the same keep their text and comments; a list in
/// brackets comes to stand on lines of its own, an empty one in brackets, and the comment goes with it.
pub fn set(document: &mut Document, path: &Path, new: NodeRef<'_>, comment: &str) -> Result<(), edit::Error> {
    let old = document.root().find(path).map_err(|error| edit::Error::NotFound(error.to_string()))?;
    let old_keys: Vec<String> = old.items().map(key).collect();
    let new_keys: Vec<String> = new.items().map(key).collect();
    if old_keys == new_keys {
        return Ok(());
    }
    let contents: Vec<Content> = new.items().map(Content::from).collect();
    let few = old_keys.len().saturating_mul(new_keys.len()) <= MAX_PAIRS;
    let kept = if old.style() == Style::Block && few { common(&old_keys, &new_keys) } else { Vec::new() };
    if !kept.is_empty() {
        return sync(document, path, steps(&kept, old_keys.len(), contents));
    }
    document.set_line_comment(path, "")?;
    document.set(path, Content::sequence())?;
    let mut list = walk(document, path)?;
    for content in contents {
        list.push(content)?;
    }
    if !new_keys.is_empty() {
        list.set_style(Style::Block)?;
    }
    document.set_line_comment(path, comment)
}

/// What becomes of an item of the old list and the new one.
enum Step {
    Keep,
    Remove,
    Insert(Content),
}

fn sync(document: &mut Document, path: &Path, steps: Vec<Step>) -> Result<(), edit::Error> {
    let mut list = walk(document, path)?;
    let removed: Vec<bool> = steps.iter().map(|step| matches!(step, Step::Remove)).collect();
    // First what is new, so that the list is never empty: an empty list is written in another way.
    for (at, step) in steps.into_iter().enumerate() {
        if let Step::Insert(content) = step {
            list.insert_item(at, content)?;
        }
    }
    for at in (0..removed.len()).rev().filter(|at| removed[*at]) {
        list.remove_item(at)?;
    }
    Ok(())
}

/// The items of both lists in one, in order.
fn steps(kept: &[Pair], old: usize, contents: Vec<Content>) -> Vec<Step> {
    let mut steps = Vec::new();
    let end = Pair { old, new: contents.len() };
    let mut contents = contents.into_iter();
    let (mut one, mut other) = (0, 0);
    for pair in kept.iter().chain([&end]) {
        steps.extend((one..pair.old).map(|_| Step::Remove));
        steps.extend(contents.by_ref().take(pair.new - other).map(Step::Insert));
        if pair.old < old {
            steps.push(Step::Keep);
            contents.next();
        }
        (one, other) = (pair.old + 1, pair.new + 1);
    }
    steps
}

/// An item that is in both lists.
struct Pair {
    old: usize,
    new: usize,
}

/// A longest common part of two lists, in order.
fn common(old: &[String], new: &[String]) -> Vec<Pair> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            lengths[one * width + other] = if old[one] == new[other] {
                lengths[(one + 1) * width + other + 1] + 1
            } else {
                lengths[(one + 1) * width + other].max(lengths[one * width + other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut found = Vec::new();
    while one < old.len() && other < new.len() {
        if old[one] == new[other] {
            found.push(Pair { old: one, new: other });
            (one, other) = (one + 1, other + 1);
        } else if lengths[(one + 1) * width + other] >= lengths[one * width + other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
}

/// What an item is compared by: its type and its text.
fn key(node: NodeRef<'_>) -> String {
    let node = node.target();
    match node.kind() {
        Kind::Scalar => format!("{:?} {:?}", node.resolved(), node.value()),
        Kind::Mapping | Kind::Sequence | Kind::Alias => format!("{node:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &str) {
        let mut document = Document::parse(old).unwrap();
        let new = Document::parse(new).unwrap();
        let comment =
            document.root().own_entry("a").and_then(|(key, _)| key.line_comment()).unwrap_or_default();
        set(&mut document, &"a".parse().unwrap(), new.root(), &comment).unwrap();
        assert_eq!(document.to_string(), expected, "{old:?}");
    }

    #[test]
    fn items_that_stay_keep_their_comments() {
        check("a:\n- x # x\n- y # y\n", "[y, z]", "a:\n- y # y\n- z\n");
        check("a:\n- x # x\n- y # y\n", "[n, x, m, y, o]", "a:\n- n\n- x # x\n- m\n- y # y\n- o\n");
        check("a:\n- x # x\n- y # y\n", "[y, x]", "a:\n- y # y\n- x\n");
        check("a:\n- x # x\n- {b: 1} # b\n", "[{b: 1}]", "a:\n- {b: 1} # b\n");
        check("a:\n- 1 # number\n", "['1']", "a:\n- '1'\n");
        check("a: # of a\n- x # x\n", "[]", "a: [] # of a\n");
        check("a: # of a\n- x # x\n", "[y]", "a: # of a\n- y\n");
    }

    /// Two lists with one item in common, at the end; the first has as many items as are asked for, the second a thousand.
    fn keeps_comment(old: usize) -> bool {
        let list = |prefix: &str, len: usize| {
            let items: Vec<String> = (1..len).map(|at| format!("- {prefix}{at}\n")).collect();
            items.concat()
        };
        let mut document = Document::parse(format!("a:\n{}- same # kept\n", list("o", old))).unwrap();
        let new = Document::parse(format!("{}- same\n", list("n", 1_000))).unwrap();
        set(&mut document, &"a".parse().unwrap(), new.root(), "").unwrap();
        document.to_string().contains("same # kept")
    }

    #[test]
    fn lists_are_compared_up_to_the_limit() {
        assert_eq!(MAX_PAIRS, 1_000 * 1_000);
        assert!(keeps_comment(1_000));
        assert!(!keeps_comment(1_001));
    }
}
