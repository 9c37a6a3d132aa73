//! Text, merged by lines.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How many lines times lines are compared one by one where no line stands out; beyond that they are one change. It
/// bounds the time that a hostile text takes.
const MAX_CELLS: usize = 4_000_000;

/// A change: lines of the original, and what stands in their place.
#[derive(Clone, Copy)]
struct Change {
    from: usize,
    to: usize,
    begin: usize,
    end: usize,
}

/// Applies the changes of both sides, or upstream's only where local does not have them yet; `None` where they touch or overlap and are not equal.
pub(crate) fn merge(original: &str, upstream: &str, local: &str) -> Option<String> {
    let original: Vec<&str> = original.split_inclusive('\n').collect();
    let upstream: Vec<&str> = upstream.split_inclusive('\n').collect();
    let local: Vec<&str> = local.split_inclusive('\n').collect();
    let theirs = changes(&original, &upstream);
    let ours = changes(&original, &local);
    let beside = changes(&upstream, &local);
    if size(&beside) < size(&ours) && has_all(&theirs, &beside) {
        return Some(local.concat());
    }
    let (mut theirs, mut ours) = (theirs.iter().peekable(), ours.iter().peekable());
    let mut out = String::new();
    let mut at = 0;
    loop {
        let (change, side) = match (theirs.peek(), ours.peek()) {
            (None, None) => break,
            (Some(_), None) => (theirs.next(), &upstream),
            (None, Some(_)) => (ours.next(), &local),
            (Some(t), Some(o)) if t.from == o.from && t.to == o.to && t.of(&upstream) == o.of(&local) => {
                theirs.next();
                (ours.next(), &local)
            }
            (Some(t), Some(o)) if t.to < o.from => (theirs.next(), &upstream),
            (Some(t), Some(o)) if o.to < t.from => (ours.next(), &local),
            (Some(_), Some(_)) => return None,
        };
        let Some(change) = change else { break };
        out.extend(original[at..change.from].iter().copied());
        out.extend(change.of(side).iter().copied());
        at = change.to;
    }
    out.extend(original[at..].iter().copied());
    Some(out)
}

/// Whether a text already has all changes: what it has beside them touches none. Lines that repeat can be aligned in several
/// ways, so that the same changes need not look the same. This is asked only of a text that is nearer to the one with the
/// changes than to the original: lines that repeat can also make a change look present that is not.
fn has_all(changes: &[Change], beside: &[Change]) -> bool {
    let mut beside = beside.iter().peekable();
    changes.iter().all(|change| {
        while beside.next_if(|other| other.to < change.begin).is_some() {}
        beside.peek().is_none_or(|other| change.end < other.from)
    })
}

/// How many lines the changes take away and bring.
fn size(changes: &[Change]) -> usize {
    changes.iter().map(|change| change.to - change.from + change.end - change.begin).sum()
}

impl Change {
    fn of<'a, 'b>(&self, side: &'b [&'a str]) -> &'b [&'a str] {
        &side[self.begin..self.end]
    }
}

/// What a side changed, in order. Changes that touch are one.
fn changes(original: &[&str], side: &[&str]) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    let mut open = vec![Change { from: 0, to: original.len(), begin: 0, end: side.len() }];
    while let Some(mut part) = open.pop() {
        while part.from < part.to && part.begin < part.end && original[part.from] == side[part.begin] {
            (part.from, part.begin) = (part.from + 1, part.begin + 1);
        }
        while part.from < part.to && part.begin < part.end && original[part.to - 1] == side[part.end - 1] {
            (part.to, part.end) = (part.to - 1, part.end - 1);
        }
        let (old, new) = (&original[part.from..part.to], &side[part.begin..part.end]);
        if old.is_empty() && new.is_empty() {
            continue;
        }
        if old.is_empty() || new.is_empty() {
            add(&mut found, part);
            continue;
        }
        let anchors = anchors(old, new);
        if !anchors.is_empty() {
            let (mut from, mut begin) = (part.from, part.begin);
            let mut parts = Vec::new();
            for (left, right) in anchors {
                let (left, right) = (part.from + left, part.begin + right);
                parts.push(Change { from, to: left, begin, end: right });
                (from, begin) = (left + 1, right + 1);
            }
            parts.push(Change { from, to: part.to, begin, end: part.end });
            // The first part comes next, so that changes are found in order.
            open.extend(parts.into_iter().rev());
        } else if old.len().saturating_mul(new.len()) > MAX_CELLS {
            add(&mut found, part);
        } else {
            for op in capture_diff_slices(Algorithm::Myers, old, new) {
                if matches!(op, DiffOp::Equal { .. }) {
                    continue;
                }
                let (old, new) = (op.old_range(), op.new_range());
                let (from, to) = (part.from + old.start, part.from + old.end);
                let (begin, end) = (part.begin + new.start, part.begin + new.end);
                add(&mut found, Change { from, to, begin, end });
            }
        }
    }
    found
}

fn add(found: &mut Vec<Change>, next: Change) {
    match found.last_mut() {
        Some(last) if last.to == next.from && last.end == next.begin => {
            (last.to, last.end) = (next.to, next.end);
        }
        Some(_) | None => found.push(next),
    }
}

/// The longest row of lines that stand once on each side, in the order of both.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let (old_places, new_places) = (once(old), once(new));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (line, at) in old_places {
        if let Some(other) = new_places.get(line) {
            pairs.push((at, *other));
        }
    }
    pairs.sort_unstable();
    // For each length, the row of that length with the smallest end; each pair knows the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, right)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| pairs[*end].1 < *right);
        before.push(len.checked_sub(1).map(|len| ends[len]));
        if len == ends.len() { ends.push(at) } else { ends[len] = at }
    }
    let mut row = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        row.push(pairs[at]);
        next = before[at];
    }
    row.reverse();
    row
}

/// The lines that stand once, and where.
fn once<'a>(lines: &[&'a str]) -> HashMap<&'a str, usize> {
    let mut places: HashMap<&str, Option<usize>> = HashMap::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        places.entry(line).and_modify(|place| *place = None).or_insert(Some(at));
    }
    places.into_iter().filter_map(|(line, at)| Some((line, at?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_without_a_line_that_stands_out_are_compared_up_to_a_size() {
        const SIDE: usize = 2_000;
        assert_eq!(SIDE * SIDE, MAX_CELLS);
        let old = ["a\n", "b\n"].repeat(SIDE / 2);
        let new = |lines: usize| ["c\n", "a\n"].repeat(lines / 2);
        assert!(changes(&old, &new(SIDE)).len() > 1);
        assert_eq!(changes(&old, &new(SIDE + 2)).len(), 1);
    }
}
