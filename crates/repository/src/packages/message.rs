//! What commits say: a line for people, and lines `kpt:` for programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a commit says about one package, in a line of its message that begins with `kpt:`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotation {
    /// The path of the package, with the directory of its repository.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// The workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace_name: String,
    /// The number, as text; `0` for a draft.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// The task that made the commit, as the API has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Value>,
}

impl Annotation {
    /// Whether it is about a package and workspace. Before there were workspaces, the revision stood for them.
    pub(crate) fn is_about(&self, path: &str, workspace: &str) -> bool {
        let named = if self.workspace_name.is_empty() { &self.revision } else { &self.workspace_name };
        self.package == path && named == workspace
    }

    /// The number; `None` where there is none.
    pub fn number(&self) -> Option<i64> {
        self.revision.strip_prefix('v').unwrap_or(&self.revision).parse().ok()
    }
}

impl Annotations {
    /// What they take in memory, about.
    pub(crate) fn weight(&self) -> usize {
        let of = |annotation: &Annotation| {
            let texts = [&annotation.package, &annotation.workspace_name, &annotation.revision];
            let texts: usize = texts.iter().map(|text| text.len()).sum();
            size_of::<Annotation>() + texts + annotation.task.as_ref().map_or(0, weight)
        };
        self.read.iter().map(of).sum()
    }
}

/// What a value takes in memory, about. It is not deep: the parser sees to that.
fn weight(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| 48 + name.len() + weight(value)).sum(),
        }
}

/// The annotations of a commit, and how many lines could not be read as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Those that could be read, in their order.
    pub read: Vec<Annotation>,
    /// How many could not.
    pub malformed: usize,
}

/// What made a commit on a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The package was made from nothing.
    Init,
    /// It was copied from elsewhere.
    Clone,
    /// It was copied from an earlier revision.
    Edit,
    /// A newer upstream was merged in.
    Upgrade,
    /// Content or metadata changed.
    Update,
    /// Something else, by the name of its task.
    Other(String),
}

impl Event {
    fn title(&self) -> String {
        match self {
            Self::Init => "Creating new empty revision".to_owned(),
            Self::Clone => "Creating new revision by cloning".to_owned(),
            Self::Edit => "Creating new revision by copying previous revision".to_owned(),
            Self::Upgrade => "Upgrading revision".to_owned(),
            Self::Update => "Rendering package".to_owned(),
            Self::Other(kind) if kind.is_empty() => "Intermediate commit".to_owned(),
            Self::Other(kind) => format!("Intermediate commit: {}", kind.replace(char::is_control, " ")),
        }
    }
}

/// The message of the first commit of a branch that did not exist.
pub(crate) const BRANCH_CREATION: &str = "Initial commit: Creating main branch";

/// The message of a commit on a draft. Two empty lines stand above the annotation.
pub(crate) fn draft(event: &Event, annotation: &Annotation) -> String {
    format!("{}\n\n\n{}", event.title(), line(annotation))
}

/// The message of the commit that publishes. One empty line stands above the annotation.
pub(crate) fn approve(annotation: &Annotation) -> String {
    let title = format!("Approving package revision {}/{}", annotation.package, annotation.revision);
    format!("{title}\n\n{}", line(annotation))
}

/// The message of the commit that takes a package off the main branch.
pub(crate) fn delete(path: &str) -> String {
    format!("Delete {path}")
}

fn line(annotation: &Annotation) -> String {
    let json = serde_json::to_string(annotation).expect("texts and JSON values make JSON");
    format!("kpt:{json}\n")
}

/// The most bytes that the annotations of one commit may have. Values take many times more memory than their text.
const MAX_ANNOTATIONS: usize = 1024 * 1024;

/// Reads the annotations out of a message. Never fails: what cannot be read is counted.
pub fn annotations(message: &[u8]) -> Annotations {
    let mut found = Annotations::default();
    let text = String::from_utf8_lossy(message);
    let mut room = MAX_ANNOTATIONS;
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("kpt:")) {
        let Some(left) = room.checked_sub(line.len()) else {
            found.malformed += 1;
            continue;
        };
        room = left;
        // A list would do as well for serde.
        let is_object = line.trim_start().starts_with('{');
        match serde_json::from_str(line) {
            Ok(annotation) if is_object => found.read.push(annotation),
            Ok(_) | Err(_) => found.malformed += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation() -> Annotation {
        Annotation {
            package: "dir/a".to_owned(),
            workspace_name: "w".to_owned(),
            revision: "0".to_owned(),
            task: Some(serde_json::json!({"type": "init", "init": {"description": "a\nb"}})),
        }
    }

    #[test]
    fn messages_look_as_porch_writes_them() {
        assert_eq!(
            draft(&Event::Init, &annotation()),
            "Creating new empty revision\n\n\nkpt:{\"package\":\"dir/a\",\"workspaceName\":\"w\",\"revision\":\"0\",\
             \"task\":{\"type\":\"init\",\"init\":{\"description\":\"a\\nb\"}}}\n"
        );
        let approved = Annotation { revision: "3".to_owned(), task: None, ..annotation() };
        assert_eq!(
            approve(&approved),
            "Approving package revision dir/a/3\n\nkpt:{\"package\":\"dir/a\",\"workspaceName\":\"w\",\"revision\":\"3\"}\n"
        );
        assert_eq!(
            draft(&Event::Other("x\ny".to_owned()), &annotation()).lines().next(),
            Some("Intermediate commit: x y")
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let read = annotations(draft(&Event::Edit, &annotation()).as_bytes());
        assert_eq!(read, Annotations { read: vec![annotation()], malformed: 0 });
    }

    #[test]
    fn a_revision_stands_for_the_workspace_where_there_is_none() {
        let old = &annotations(b"x\n\nkpt:{\"package\":\"a\",\"revision\":\"v1\"}\n").read[0];
        assert!(old.is_about("a", "v1") && !old.is_about("a", "v2") && !old.is_about("b", "v1"));
        let new = annotation();
        assert!(new.is_about("dir/a", "w") && !new.is_about("dir/a", "0"));
    }

    #[test]
    fn annotations_take_so_much_room_and_no_more() {
        let line = |length: usize| {
            let empty = r#"{"package":""}"#.len();
            format!("kpt:{{\"package\":\"{}\"}}\n", "a".repeat(length - empty))
        };
        let read = annotations(line(MAX_ANNOTATIONS).as_bytes());
        assert_eq!((read.read.len(), read.malformed), (1, 0));
        let read = annotations([line(MAX_ANNOTATIONS - 99), line(100), line(99)].concat().as_bytes());
        assert_eq!((read.read.len(), read.malformed), (2, 1), "one that fits still counts");
        let many = format!("kpt:{{\"task\":[{}0]}}\n", "0,".repeat(10_000));
        assert!(annotations(many.as_bytes()).weight() > 100_000, "a digit is a value");
    }

    #[test]
    fn what_cannot_be_read_is_counted() {
        let message =
            b"x\n\n  kpt:{\"package\":\"a\"}\nkpt:{\nkpt:[]\nkpt:{\"package\":\"b\",\"new\":1}\n\xff\n";
        let read = annotations(message);
        let packages: Vec<_> = read.read.iter().map(|read| read.package.as_str()).collect();
        assert_eq!((packages, read.malformed), (vec!["a", "b"], 2));
    }
}
