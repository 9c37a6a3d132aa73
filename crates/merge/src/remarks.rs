//! Documents of comments only. They belong to the document before them, and merge by lines.

use crate::comments::as_comment;
use crate::conflict::ConflictKind;
use crate::judge::{Case, Judge, Rule, Values};
use crate::options::Take;
use crate::text;

/// Whether two texts say the same; markers and blank lines do not count.
pub(crate) fn same(left: &str, right: &str) -> bool {
    left == right || said(left).eq(said(right))
}

/// Whether a text has markers and blank lines only.
pub(crate) fn is_silent(text: &str) -> bool {
    said(text).next().is_none()
}

fn said(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
    lines.filter(|line| !["", "---", "..."].contains(line))
}

/// Merges what a file has in one place; `None` for a side that does not have the file, or not the document before it.
/// Records a conflict where both sides changed the same lines. What one side removed together with its file is a conflict
/// when the other side changed it, and local's under every policy.
pub(crate) fn merge(
    judge: &mut Judge<'_>,
    sides: [Option<&str>; 3],
    id: &str,
    case: impl FnOnce(ConflictKind, Values) -> Case,
) -> String {
    let [original, upstream, local] = sides.map(Option::unwrap_or_default);
    let rule = match sides {
        [Some(_), None, _] => (ConflictKind::RemovedUpstreamChangedLocally, Rule::Local),
        [Some(_), _, None] => (ConflictKind::RemovedLocallyChangedUpstream, Rule::Local),
        [_, _, _] => (ConflictKind::CommentsDiffer, Rule::Policy),
    };
    let take = match (natural(sides), judge.pinned(id)) {
        (Some(text), None) => return text,
        (Some(_), Some(take)) => take.clone(),
        (None, _) => {
            let [original, upstream, local] = sides.map(|side| side.map(|text| text.trim().to_owned()));
            let values = Values { original, upstream, local };
            judge.decide(case(rule.0, values), rule.1)
        }
    };
    match take {
        Take::Upstream => upstream.into(),
        Take::Local => local.into(),
        Take::Original => original.into(),
        Take::Value(text) => format!("---\n{}\n", as_comment(&text)),
    }
}

/// What the text becomes when at most one side changed it, or each side other lines.
fn natural(sides: [Option<&str>; 3]) -> Option<String> {
    let [original, upstream, local] = sides.map(Option::unwrap_or_default);
    if same(original, upstream) || same(upstream, local) {
        // What went with its file does not come back by itself.
        return Some(local.into());
    }
    let is_whole = sides[0].is_some() && (sides[1].is_none() || sides[2].is_none());
    if same(original, local) && (sides[2].is_some() || !is_whole) {
        return Some(upstream.into());
    }
    if is_whole { None } else { text::merge(original, upstream, local) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_and_blank_lines_say_nothing() {
        assert!(is_silent("---\n\n...\n"));
        assert!(!is_silent("---\n# a\n"));
        assert!(same("---\n# a\n", "# a\n\n"));
        assert!(!same("# a\n", "# b\n"));
    }

    #[test]
    fn what_becomes_of_it() {
        let natural = |sides: [Option<&str>; 3]| natural(sides);
        let (a, b, c) = (Some("# a\n"), Some("# b\n"), Some("# c\n"));
        assert_eq!(natural([a, b, a]).as_deref(), b);
        assert_eq!(natural([a, a, b]).as_deref(), b);
        assert_eq!(natural([a, b, c]), None);
        assert_eq!(natural([None, a, None]).as_deref(), a);
        assert_eq!(natural([a, None, a]).as_deref(), Some(""));
        assert_eq!(natural([a, None, b]), None);
        assert_eq!(natural([a, b, None]), None);
        assert_eq!(natural([Some(""), b, None]), None);
        assert_eq!(natural([a, a, None]).as_deref(), Some(""));
    }
}
