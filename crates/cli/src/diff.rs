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
