//! Text, merged by lines.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A change: lines of the original, and what stands in their place.
struct Change<'a> {
    from: usize,
    to: usize,
    lines: &'a [&'a str],
}

/// Applies the changes of both sides; `None` where they touch or overlap and are not equal.
pub(crate) fn merge(original: &str, upstream: &str, local: &str) -> Option<String> {
    let original: Vec<&str> = original.split_inclusive('\n').collect();
    let upstream: Vec<&str> = upstream.split_inclusive('\n').collect();
    let local: Vec<&str> = local.split_inclusive('\n').collect();
    let theirs = changes(&original, &upstream);
    let ours = changes(&original, &local);
    let (mut theirs, mut ours) = (theirs.iter().peekable(), ours.iter().peekable());
    let mut out = String::new();
    let mut at = 0;
    loop {
        let change = match (theirs.peek(), ours.peek()) {
            (None, None) => break,
            (Some(_), None) => theirs.next(),
            (None, Some(_)) => ours.next(),
            (Some(t), Some(o)) if t.from == o.from && t.to == o.to && t.lines == o.lines => {
                theirs.next();
                ours.next()
            }
            (Some(t), Some(o)) if t.to < o.from => theirs.next(),
            (Some(t), Some(o)) if o.to < t.from => ours.next(),
            (Some(_), Some(_)) => return None,
        };
        let Some(change) = change else { break };
        out.extend(original[at..change.from].iter().copied());
        out.extend(change.lines.iter().copied());
        at = change.to;
    }
    out.extend(original[at..].iter().copied());
    Some(out)
}

fn changes<'a>(original: &[&str], side: &'a [&'a str]) -> Vec<Change<'a>> {
    let mut changes: Vec<Change<'a>> = Vec::new();
    let mut begins = 0;
    for op in capture_diff_slices(Algorithm::Myers, original, side) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        match changes.last_mut() {
            // Removed and added lines beside each other are one change.
            Some(last) if last.to == old.start && begins + last.lines.len() == new.start => {
                last.to = old.end;
                last.lines = &side[begins..new.end];
            }
            Some(_) | None => {
                begins = new.start;
                changes.push(Change { from: old.start, to: old.end, lines: &side[new] });
            }
        }
    }
    changes
}
