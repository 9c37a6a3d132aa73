//! What both sides changed, shown.

use lanai_krm::package::Folder;
use lanai_merge::{Conflict, Decider, Side, Subject};
use lanai_types::SafePath;
use lanai_yaml::Document;
use serde::Serialize;

use super::args::Format;
use crate::failure::{Code, Failure};

/// How many letters of a value a table shows.
const SHORT: usize = 24;

/// An update, as `-o yaml` and `-o json` print it; `handed` reads it back for `--resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The name of the package.
    pub package: String,
    /// What was updated: the package, then those inside it.
    pub updates: Vec<Update>,
    pub files: Files,
    pub conflicts: Vec<Entry>,
}

/// From where to where a package went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Update {
    /// The folder; `.` is the package itself.
    pub package: String,
    /// The commit that both sides began with; none where nobody knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that was asked for.
    pub version: String,
    /// Its commit.
    pub to: String,
}

/// The files that change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Files {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<SafePath>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<SafePath>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<SafePath>,
}

/// A conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub id: String,
    /// The package that it is in; `.` is the outermost.
    pub package: String,
    /// The file, from the folder of the outermost package.
    pub file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<String>,
    /// Whose value the result has: `upstream`, `local`, `original` or `value`; empty where nobody decided.
    pub chosen: String,
    /// The value, where another was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Entry {
    /// A conflict in the package of a folder. `is_open` where a decision is missing.
    pub fn new(folder: &Folder, conflict: &Conflict, open: Open) -> Self {
        let file = match folder {
            Folder::Root => conflict.path.to_string(),
            Folder::At(outer) => format!("{outer}/{}", conflict.path),
        };
        let resource = match &conflict.subject {
            Subject::Resource(id) => id.to_string(),
            Subject::File => String::new(),
            Subject::Subpackage => "package".into(),
        };
        let field = if conflict.field.is_root() { String::new() } else { conflict.field.to_string() };
        let undecided = open == Open::Undecided && conflict.decided_by == Decider::Policy;
        Self {
            id: conflict.id.to_string(),
            package: folder.to_string(),
            file,
            resource,
            field,
            kind: conflict.kind.to_string(),
            original: conflict.original.clone(),
            upstream: conflict.upstream.clone(),
            local: conflict.local.clone(),
            chosen: if undecided { String::new() } else { word(conflict.chosen).into() },
            value: None,
        }
    }
}

/// What a conflict is that only the policy could decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// Decided by it.
    Decided,
    /// Not decided: the policy is to fail.
    Undecided,
}

fn word(side: Side) -> &'static str {
    match side {
        Side::Original => "original",
        Side::Upstream => "upstream",
        Side::Local => "local",
        Side::Value => "value",
    }
}

impl Report {
    /// The text to print: nothing for people where there is nothing to say.
    ///
    /// # Errors
    /// When the report has no form in that format.
    pub fn text(&self, format: Format) -> Result<String, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::of(Code::Other, format!("cannot print the conflicts: {error}"))
        };
        match format {
            Format::Table if self.conflicts.is_empty() => Ok(String::new()),
            Format::Table => Ok(table(&self.conflicts)),
            Format::Yaml => {
                Document::from_serialize(self).map(|text| text.to_string()).map_err(|error| refused(&error))
            }
            Format::Json => {
                serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|error| refused(&error))
            }
        }
    }
}

const COLUMNS: [&str; 9] =
    ["FILE", "RESOURCE", "FIELD", "KIND", "ORIGINAL", "UPSTREAM", "LOCAL", "CHOSEN", "ID"];

fn table(conflicts: &[Entry]) -> String {
    let rows: Vec<[String; 9]> = conflicts.iter().map(row).collect();
    let header = COLUMNS.map(String::from);
    let all = || std::iter::once(&header).chain(&rows);
    let widths: Vec<usize> =
        (0..COLUMNS.len()).map(|at| all().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in all() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        text += cells.join("   ").trim_end();
        text.push('\n');
    }
    text
}

fn row(entry: &Entry) -> [String; 9] {
    let text = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), short);
    [
        entry.file.clone(),
        text(&entry.resource),
        text(&entry.field),
        entry.kind.clone(),
        value(&entry.original),
        value(&entry.upstream),
        value(&entry.local),
        text(&entry.chosen),
        entry.id.clone(),
    ]
}

/// A conflict in words.
pub(super) fn sentence(entry: &Entry) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), short);
    let (upstream, local) = (value(&entry.upstream), value(&entry.local));
    let field = if entry.field.is_empty() { String::new() } else { format!(" in {}", entry.field) };
    format!(
        "{}: {}{field}: upstream has {upstream}, here is {local}; {} is taken",
        entry.file, entry.kind, entry.chosen
    )
}

/// The beginning of a value, on one line.
fn short(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return "\"\"".into();
    }
    if line.chars().count() <= SHORT {
        return line;
    }
    line.chars().take(SHORT - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        assert_eq!(short("a\n  b: 1\n"), "a b: 1");
        assert_eq!(short(&"x".repeat(24)), "x".repeat(24));
        assert_eq!(short(&"x".repeat(25)), format!("{}…", "x".repeat(23)));
        assert_eq!(short(" "), "\"\"");
    }
}
