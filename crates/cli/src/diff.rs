//! What changes, for people.

use std::fmt::Display;

use clap::builder::styling::{AnsiColor, Style};
use similar::{Change, ChangeTag, TextDiff};

use crate::io::Colour;

/// How many equal lines stand around a change.
const CONTEXT: usize = 3;

/// A unified diff of two versions of a file, as patch programs read it; nothing where they are equal.
pub(crate) fn unified(name: &str, before: &str, after: &str, colour: Colour) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT);
    let mut out = String::new();
    for hunk in unified.iter_hunks() {
        if out.is_empty() {
            out.push_str(&paint(&format_args!("--- {name}"), Style::new().bold(), colour));
            out.push_str(&paint(&format_args!("+++ {name}"), Style::new().bold(), colour));
        }
        out.push_str(&paint(&hunk.header(), AnsiColor::Cyan.on_default(), colour));
        for change in hunk.iter_changes() {
            write_line(change, colour, &mut out);
        }
    }
    out
}

fn write_line(change: Change<&str>, colour: Colour, out: &mut String) {
    let style = match change.tag() {
        ChangeTag::Equal => Style::new(),
        ChangeTag::Delete => AnsiColor::Red.on_default(),
        ChangeTag::Insert => AnsiColor::Green.on_default(),
    };
    let line = change.value();
    let line = line.strip_suffix('\n').unwrap_or(line);
    out.push_str(&paint(&format_args!("{}{line}", change.tag()), style, colour));
    if change.missing_newline() {
        out.push_str("\\ No newline at end of file\n");
    }
}

/// One line in a style.
fn paint(line: &dyn Display, style: Style, colour: Colour) -> String {
    match colour {
        Colour::Ansi if style != Style::new() => format!("{style}{line}{style:#}\n"),
        Colour::Ansi | Colour::Plain => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(unified("f", before, after, Colour::Plain), expected);
    }

    #[test]
    fn what_is_equal_has_no_diff() {
        check("a\n", "a\n", "");
        check("", "", "");
    }

    #[test]
    fn three_lines_stand_around_a_change() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = before.replace('5', "five");
        check(before, &after, "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    }

    #[test]
    fn a_missing_line_break_at_the_end_is_shown() {
        check("a", "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    }

    #[test]
    fn line_ends_count() {
        check("a\r\n", "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\r\n+a\n");
    }

    #[test]
    fn many_lines_that_all_change_take_no_time() {
        let lines = |word: &str| (0..100_000).map(|n| format!("{word} {n}\n")).collect::<Vec<_>>().concat();
        let diff = unified("f", &lines("a"), &lines("b"), Colour::Plain);
        assert_eq!(diff.lines().count(), 3 + 200_000);
    }
}
