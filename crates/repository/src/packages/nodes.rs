//! Commits and trees, read from their bytes and written to them. Total: whatever the bytes are, there is an answer.

use gix_hash::ObjectId;

use super::message::{self, Annotations};
use super::person::Person;

/// An entry of a tree, with its mode as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) id: ObjectId,
}

impl Entry {
    pub(crate) fn is_tree(&self) -> bool {
        is_tree(&self.mode)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode.starts_with(b"100")
    }
}

pub(crate) const TREE: &[u8] = b"40000";

/// The entries of a tree; `None` where the bytes are no tree.
pub(crate) fn entries(mut bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let end = space + bytes[space..].iter().position(|byte| *byte == 0)?;
        let id = bytes.get(end + 1..end + 21)?;
        let (mode, name) = (bytes[..space].to_vec(), bytes[space + 1..end].to_vec());
        entries.push(Entry { mode, name, id: ObjectId::try_from(id).ok()? });
        bytes = &bytes[end + 21..];
    }
    Some(entries)
}

/// The folder of a name in a tree, without reading more than is needed; `Err` where the bytes up to it are no tree.
pub(crate) fn folder_in(mut bytes: &[u8], wanted: &[u8]) -> Result<Option<ObjectId>, NoTree> {
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').ok_or(NoTree)?;
        let end = space + bytes[space..].iter().position(|byte| *byte == 0).ok_or(NoTree)?;
        let id = bytes.get(end + 1..end + 21).ok_or(NoTree)?;
        if bytes[space + 1..end] == *wanted && is_tree(&bytes[..space]) {
            return ObjectId::try_from(id).map(Some).map_err(|_| NoTree);
        }
        bytes = &bytes[end + 21..];
    }
    Ok(None)
}

/// Bytes that are no tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoTree;

fn is_tree(mode: &[u8]) -> bool {
    matches!(mode, b"40000" | b"040000")
}

/// The bytes of a tree, its entries in the order that Git wants.
pub(crate) fn tree(mut entries: Vec<Entry>) -> Vec<u8> {
    // Git compares the name of a folder as if it ended with a slash.
    let key = |entry: &Entry| {
        let mut name = entry.name.clone();
        if entry.is_tree() {
            name.push(b'/');
        }
        name
    };
    entries.sort_by_cached_key(key);
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend_from_slice(&entry.mode);
        bytes.push(b' ');
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.id.as_slice());
    }
    bytes
}

/// What is known of a commit for ever.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Person,
    /// Seconds since 1970, of the author.
    pub(crate) time: i64,
    pub(crate) annotations: Annotations,
}

impl Commit {
    /// What it takes in memory, about, with its place in a table.
    pub(crate) fn weight(&self) -> usize {
        let author = self.author.name().len() + self.author.email().len();
        size_of::<Self>()
            + 64
            + self.parents.len() * size_of::<ObjectId>()
            + author
            + self.annotations.weight()
    }
}

/// Reads a commit; `None` where the bytes are none.
pub(crate) fn commit(bytes: &[u8]) -> Option<Commit> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
    let (head, message) = (&bytes[..end], bytes.get(end + 2..).unwrap_or_default());
    let mut tree = None;
    let mut parents = Vec::new();
    let mut author = (Person::new("", ""), 0);
    for line in head.split(|byte| *byte == b'\n') {
        if let Some(id) = line.strip_prefix(b"tree ") {
            tree = tree.or(ObjectId::from_hex(id).ok());
        } else if let Some(id) = line.strip_prefix(b"parent ") {
            parents.push(ObjectId::from_hex(id).ok()?);
        } else if let Some(text) = line.strip_prefix(b"author ") {
            author = signature(text);
        }
    }
    let annotations = message::annotations(message);
    Some(Commit { tree: tree?, parents, author: author.0, time: author.1, annotations })
}

fn signature(text: &[u8]) -> (Person, i64) {
    let text = String::from_utf8_lossy(text);
    let (name, rest) = text.split_once('<').unwrap_or((&text, ""));
    let (email, rest) = rest.split_once('>').unwrap_or((rest, ""));
    let time = rest.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0);
    (Person::new(name, email), time)
}

/// What a tag object is about in the end; `None` for an object that is no tag.
pub(crate) fn peeled(objects: &super::objects::Objects, id: ObjectId) -> Option<ObjectId> {
    let mut at = id;
    for _ in 0..MAX_TAGS {
        let (kind, data) = objects.get(at).ok()?;
        if kind != gix_object::Kind::Tag {
            return (at != id).then_some(at);
        }
        let line = data.split(|byte| *byte == b'\n').next()?;
        at = ObjectId::from_hex(line.strip_prefix(b"object ")?).ok()?;
    }
    None
}

/// How many tags may lead to each other.
const MAX_TAGS: usize = 16;

/// What a new commit says.
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: ObjectId,
    pub(crate) parents: &'a [ObjectId],
    pub(crate) author: &'a Person,
    /// Seconds since 1970.
    pub(crate) time: i64,
    pub(crate) message: &'a str,
}

impl NewCommit<'_> {
    /// The bytes of the commit. The committer is always the same.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        use std::fmt::Write as _;
        let mut text = format!("tree {}\n", self.tree);
        for parent in self.parents {
            let _ = writeln!(text, "parent {parent}");
        }
        let (author, committer, time) = (self.author, Person::orchestrator(), self.time);
        let _ = writeln!(text, "author {author} {time} +0000\ncommitter {committer} {time} +0000");
        text.push('\n');
        // A NUL ends a message for Git.
        text.push_str(&self.message.replace('\0', ""));
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap()
    }

    #[test]
    fn a_commit_is_read_as_it_was_written() {
        let author = Person::new("Ann", "a@b");
        let parents = [id(2), id(3)];
        let message = "x\n\nkpt:{\"package\":\"a\"}\n";
        let new = NewCommit { tree: id(1), parents: &parents, author: &author, time: 17, message };
        let read = commit(&new.bytes()).unwrap();
        assert_eq!((read.tree, read.parents.as_slice(), read.time), (id(1), &parents[..], 17));
        assert_eq!((read.author, read.annotations.read[0].package.as_str()), (author, "a"));
    }

    #[test]
    fn whatever_the_bytes_are_there_is_an_answer() {
        for bytes in
            [&b""[..], b"tree x", b"\n\n", b"tree \xff\n\nkpt:", b"100644 a", b"100644 a\0short", b" \0"]
        {
            assert_eq!(commit(bytes), None);
            assert!(entries(bytes).is_none_or(|entries| entries.is_empty()), "{bytes:?}");
            assert_eq!(folder_in(bytes, b"a").is_err(), entries(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn a_folder_is_found_by_its_whole_name() {
        let entry = |mode: &[u8], name: &[u8], number| Entry {
            mode: mode.to_vec(),
            name: name.to_vec(),
            id: id(number),
        };
        let bytes = tree(vec![
            entry(b"100644", b"a", 1),
            entry(TREE, b"ab", 2),
            entry(b"040000", b"b", 3),
            entry(b"160000", b"c", 4),
        ]);
        for (name, expected) in
            [("a", None), ("ab", Some(id(2))), ("b", Some(id(3))), ("c", None), ("", None)]
        {
            assert_eq!(folder_in(&bytes, name.as_bytes()), Ok(expected), "{name}");
        }
    }

    #[test]
    fn folders_are_sorted_as_git_does() {
        let entry = |mode: &[u8], name: &[u8]| Entry { mode: mode.to_vec(), name: name.to_vec(), id: id(1) };
        let bytes = tree(vec![entry(TREE, b"a"), entry(b"100644", b"a.b"), entry(b"100644", b"a0")]);
        let names: Vec<_> = entries(&bytes).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"a.b"[..], b"a", b"a0"]);
    }
}
