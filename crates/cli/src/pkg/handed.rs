//! The report of an update as a user hands it back, checked field by field.

use std::fmt;

use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::{Kind, NodeRef};

use super::conflicts::{Entry, Files, Report, Update};

/// Something that no report has, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    line: usize,
    column: usize,
    why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.why)
    }
}

/// Reads a report.
///
/// # Errors
/// The first field that is missing, unknown, there twice, or not what it must be.
pub(super) fn report(root: NodeRef<'_>) -> Result<Report, Wrong> {
    if root.target().kind() == Kind::Sequence {
        // The decisions alone.
        let conflicts = list(root)?.into_iter().map(decision).collect::<Result<_, _>>()?;
        return Ok(Report {
            package: String::new(),
            updates: Vec::new(),
            files: Files::default(),
            conflicts,
        });
    }
    let what = "the report of an update: package, updates and conflicts";
    let root = Mapping::new(root, what, &["package", "updates", "files", "conflicts"])?;
    Ok(Report {
        package: root.text("package")?,
        updates: root.list("updates")?.into_iter().map(update).collect::<Result<_, _>>()?,
        files: root.get("files").map(files).transpose()?.unwrap_or_default(),
        conflicts: root.list("conflicts")?.into_iter().map(entry).collect::<Result<_, _>>()?,
    })
}

fn update(node: NodeRef<'_>) -> Result<Update, Wrong> {
    let what = "a mapping with package, from, version and to";
    let update = Mapping::new(node, what, &["package", "from", "version", "to"])?;
    Ok(Update {
        package: update.text("package")?,
        from: update.maybe("from")?,
        version: update.text("version")?,
        to: update.text("to")?,
    })
}

fn files(node: NodeRef<'_>) -> Result<Files, Wrong> {
    let files =
        Mapping::new(node, "a mapping with added, changed and removed", &["added", "changed", "removed"])?;
    let paths = |field: &str| -> Result<Vec<SafePath>, Wrong> {
        let items = files.get(field).map(list).transpose()?.unwrap_or_default();
        let path = |node| text(node)?.parse().map_err(|error| wrong(node, format!("{error}")));
        items.into_iter().map(path).collect()
    };
    Ok(Files { added: paths("added")?, changed: paths("changed")?, removed: paths("removed")? })
}

fn entry(node: NodeRef<'_>) -> Result<Entry, Wrong> {
    let fields = [
        "id", "package", "file", "resource", "field", "kind", "original", "upstream", "local", "chosen",
        "value",
    ];
    let entry = Mapping::new(node, "a mapping with the fields of a conflict", &fields)?;
    Ok(Entry {
        id: entry.text("id")?,
        package: entry.text("package")?,
        file: entry.text("file")?,
        resource: entry.maybe("resource")?.unwrap_or_default(),
        field: entry.maybe("field")?.unwrap_or_default(),
        kind: entry.text("kind")?,
        original: entry.maybe("original")?,
        upstream: entry.maybe("upstream")?,
        local: entry.maybe("local")?,
        chosen: entry.maybe("chosen")?.unwrap_or_default(),
        value: entry.maybe("value")?,
    })
}

/// What is decided about a conflict, without what it is about.
fn decision(node: NodeRef<'_>) -> Result<Entry, Wrong> {
    let what = "a mapping with id, chosen and value";
    let decision = Mapping::new(node, what, &["id", "package", "chosen", "value"])?;
    Ok(Entry {
        id: decision.text("id")?,
        package: decision.maybe("package")?.unwrap_or_else(|| ".".into()),
        file: String::new(),
        resource: String::new(),
        field: String::new(),
        kind: String::new(),
        original: None,
        upstream: None,
        local: None,
        chosen: decision.maybe("chosen")?.unwrap_or_default(),
        value: decision.maybe("value")?,
    })
}

/// A mapping that has only fields that are known, each once.
struct Mapping<'a> {
    node: NodeRef<'a>,
}

impl<'a> Mapping<'a> {
    fn new(node: NodeRef<'a>, what: &str, known: &[&str]) -> Result<Self, Wrong> {
        if node.target().kind() != Kind::Mapping {
            return Err(wrong(node, format!("there is {}, where {what} is needed", words(node))));
        }
        let mut seen: Vec<String> = Vec::new();
        for (key, _) in node.target().entries() {
            let name = key.target().value().into_owned();
            if !known.contains(&name.as_str()) {
                let why = format!("there is no field {} here, only {}", Quoted(&name), known.join(", "));
                return Err(wrong(key, why));
            }
            if seen.contains(&name) {
                return Err(wrong(key, format!("the field {} is there twice", Quoted(&name))));
            }
            seen.push(name);
        }
        Ok(Self { node })
    }

    fn get(&self, field: &str) -> Option<NodeRef<'a>> {
        self.node.get(field)
    }

    fn need(&self, field: &str) -> Result<NodeRef<'a>, Wrong> {
        self.get(field).ok_or_else(|| wrong(self.node, format!("the field {} is missing", Quoted(field))))
    }

    fn text(&self, field: &str) -> Result<String, Wrong> {
        text(self.need(field)?)
    }

    /// The text of a field that need not be there.
    fn maybe(&self, field: &str) -> Result<Option<String>, Wrong> {
        self.get(field).filter(|node| !node.is_null()).map(text).transpose()
    }

    fn list(&self, field: &str) -> Result<Vec<NodeRef<'a>>, Wrong> {
        list(self.need(field)?)
    }
}

fn list(node: NodeRef<'_>) -> Result<Vec<NodeRef<'_>>, Wrong> {
    match node.target().kind() {
        Kind::Sequence => Ok(node.target().items().collect()),
        Kind::Mapping | Kind::Scalar | Kind::Alias => {
            Err(wrong(node, format!("there is {}, where a list is needed", words(node))))
        }
    }
}

fn text(node: NodeRef<'_>) -> Result<String, Wrong> {
    node.deserialize().map_err(|_| {
        let quotes = match node.target().kind() {
            Kind::Scalar if !node.is_null() => "; put it in quotes",
            Kind::Scalar | Kind::Mapping | Kind::Sequence | Kind::Alias => "",
        };
        wrong(node, format!("there is {}, where a text is needed{quotes}", words(node)))
    })
}

fn words(node: NodeRef<'_>) -> String {
    match node.target().kind() {
        Kind::Mapping => "a mapping".into(),
        Kind::Sequence => "a list".into(),
        Kind::Scalar | Kind::Alias if node.is_null() => "nothing".into(),
        Kind::Scalar | Kind::Alias => format!("the value {}", Quoted(&node.target().value())),
    }
}

fn wrong(node: NodeRef<'_>, why: String) -> Wrong {
    let position = node.position();
    Wrong { line: position.line, column: position.column, why }
}
