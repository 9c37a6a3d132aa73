//! What would change in the files of a package, for people.

use std::fmt::Write as _;

use lanai_krm::package::{File, Package};
use similar::TextDiff;

/// The most bytes that a diff in an answer has.
const MAX_DIFF: usize = 256 * 1024;

/// The differences of two packages as a patch; what is too long is cut, and says so.
pub fn unified(before: &Package, after: &Package) -> String {
    let diff = before.diff(after);
    let mut paths: Vec<_> = diff.added.iter().chain(&diff.removed).chain(&diff.changed).collect();
    paths.sort();
    let mut out = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        let side = |letter: char, file: Option<&File>| {
            file.map_or_else(|| "/dev/null".to_owned(), |_| format!("{letter}/{path}"))
        };
        let (from, to) = (side('a', old), side('b', new));
        let text =
            |file: Option<&File>| file.map_or(Some(String::new()), |file| file.text().map(str::to_owned));
        match (text(old), text(new)) {
            (Some(old), Some(new)) => {
                let diff = TextDiff::from_lines(&old, &new);
                let _ = write!(out, "{}", diff.unified_diff().header(&from, &to));
            }
            (None, _) | (_, None) => {
                let _ = writeln!(out, "Binary files {from} and {to} differ");
            }
        }
        if out.len() > MAX_DIFF {
            let end = (0..=MAX_DIFF).rev().find(|at| out.is_char_boundary(*at)).unwrap_or_default();
            out.truncate(end);
            out.push_str("\n… the diff is longer than what is shown\n");
            break;
        }
    }
    out
}
