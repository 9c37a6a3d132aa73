//! The names of conflicts.
//!
//! A name is `FILE`, `FOLDER/`, `FILE:RESOURCE` or `FILE:RESOURCE#FIELD`, with `~ASPECT` behind it where not the value is
//! meant. What separates the parts is escaped inside of them, so that two things never have one name.

use lanai_types::SafePath;

use crate::identity::Identity;

/// What of a thing a conflict is about, when it is not its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    HeadComment,
    LineComment,
    FootComment,
    /// What stands before the `---` of a document.
    Preface,
    /// The documents of comments only before the first document of a file.
    Preamble,
    /// The documents of comments only behind a document.
    Remarks,
    /// Whether a file can be run.
    Mode,
    /// The file that a resource stands in.
    Place,
    /// Whether there is a file or a folder.
    Folder,
    /// The order of the items of a list.
    Order,
    /// Which of the fields a mapping has that exclude each other.
    Variant,
}

impl Aspect {
    const fn as_str(self) -> &'static str {
        match self {
            Self::HeadComment => "head-comment",
            Self::LineComment => "line-comment",
            Self::FootComment => "foot-comment",
            Self::Preface => "preface",
            Self::Preamble => "preamble",
            Self::Remarks => "remarks",
            Self::Mode => "mode",
            Self::Place => "place",
            Self::Folder => "folder",
            Self::Order => "order",
            Self::Variant => "variant",
        }
    }
}

pub(crate) fn file(path: &SafePath) -> String {
    escaped(path.as_str(), &[':', '#', '~', '@', '%'])
}

pub(crate) fn folder(path: &SafePath) -> String {
    format!("{}/", file(path))
}

/// The name of a resource, by the file that it has upstream; that of its file for a document without a kind.
pub(crate) fn resource(home: &SafePath, identity: &Identity) -> String {
    let Identity { group, kind, namespace, name } = identity;
    let mut id = file(home);
    if kind.is_empty() {
        return id;
    }
    let part = |text: &str| escaped(text, &[':', '#', '~', '@', '%', '/', '.']);
    let plain = |text: &str| escaped(text, &[':', '#', '~', '@', '%', '/']);
    id.push(':');
    id.push_str(&part(kind));
    if !group.is_empty() {
        id.push('.');
        id.push_str(&plain(group));
    }
    if !namespace.is_empty() {
        id.push('/');
        id.push_str(&plain(namespace));
    }
    if !(namespace.is_empty() && name.is_empty()) {
        id.push('/');
        id.push_str(&plain(name));
    }
    id
}

/// The name of a resource as a whole that local keeps in another file: not the name that it had at home, where another
/// one may have been meant.
pub(crate) fn moved(id: &str, to: &SafePath) -> String {
    format!("{id}@{}", file(to))
}

pub(crate) fn aspect(id: &str, aspect: Aspect) -> String {
    format!("{id}~{}", aspect.as_str())
}

/// The file that a name begins with.
pub(crate) fn file_of(id: &str) -> &str {
    id.split([':', '#', '~', '@']).next().unwrap_or(id)
}

fn escaped(text: &str, special: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(&c) {
            out.extend(["%", &format!("{:02X}", u32::from(c))]);
        } else {
            out.push(c);
        }
    }
    out
}
