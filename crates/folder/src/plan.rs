//! The journal: what is to be done, as bytes.
//!
//! A line that names the format, a line of JSON that describes the entries, the new contents one behind the other, and at
//! the end the digest of all of that. A journal without its digest was never finished, and nothing was done by it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lanai_krm::Package;
use lanai_krm::digest::{Collision, blob_id};
use lanai_krm::package::File;
use lanai_types::SafePath;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::entry::{Stamp, StampMode};

/// The first line of a journal.
const FORMAT: &str = "lanai journal 1\n";
/// The digits of a digest at its end.
const DIGEST: usize = 40;

/// What becomes of the files of a folder: removals first, then new contents, each by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub home: Home,
    pub removed: Vec<Removal>,
    pub written: Vec<Writing>,
}

/// Which folder a plan is for. A journal that came from elsewhere, as with a clone, is not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Home {
    device: u64,
    inode: u64,
}

impl Home {
    pub fn of(root: &Path) -> Result<Self, Error> {
        let metadata = fs::metadata(root).map_err(Error::io("read", root))?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// A file that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Removal {
    pub path: SafePath,
    pub before: Stamp,
}

/// A file that comes, in place of another or where nothing was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writing {
    pub path: SafePath,
    pub before: Option<Stamp>,
    pub file: File,
}

/// The second line.
#[derive(Serialize, Deserialize)]
struct Head {
    home: Home,
    removed: Vec<Removal>,
    written: Vec<HeadWriting>,
}

#[derive(Serialize, Deserialize)]
struct HeadWriting {
    path: SafePath,
    before: Option<Stamp>,
    mode: StampMode,
    bytes: usize,
}

impl Plan {
    /// What makes one package the other.
    pub fn between(home: Home, before: &Package, after: &Package) -> Result<Self, Collision> {
        let mut plan = Self { home, removed: Vec::new(), written: Vec::new() };
        for (path, file) in before.iter().filter(|(path, _)| after.get(path).is_none()) {
            plan.removed.push(Removal { path: path.clone(), before: Stamp::of(file)? });
        }
        for (path, file) in after.iter() {
            let old = before.get(path);
            if old != Some(file) {
                let before = old.map(Stamp::of).transpose()?;
                plan.written.push(Writing { path: path.clone(), before, file: file.clone() });
            }
        }
        Ok(plan)
    }

    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.written.is_empty()
    }

    pub fn encode(&self) -> Result<Vec<u8>, Collision> {
        let written = self.written.iter().map(|entry| HeadWriting {
            path: entry.path.clone(),
            before: entry.before,
            mode: entry.file.mode().into(),
            bytes: entry.file.len(),
        });
        let head = Head { home: self.home, removed: self.removed.clone(), written: written.collect() };
        let head = serde_json::to_string(&head).expect("texts and numbers are JSON");
        let mut bytes = format!("{FORMAT}{head}\n").into_bytes();
        for entry in &self.written {
            bytes.extend_from_slice(entry.file.content());
        }
        let digest = blob_id(&bytes)?.to_string();
        bytes.extend_from_slice(digest.as_bytes());
        Ok(bytes)
    }

    /// Reads a journal; `None` when it was not finished or is not one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (content, digest) = bytes.split_at(bytes.len().checked_sub(DIGEST)?);
        if blob_id(content).ok()?.to_string().as_bytes() != digest {
            return None;
        }
        let content = content.strip_prefix(FORMAT.as_bytes())?;
        let end = content.iter().position(|byte| *byte == b'\n')?;
        let Head { home, removed, written } = serde_json::from_slice(&content[..end]).ok()?;
        let mut rest = &content[end + 1..];
        let mut plan = Self { home, removed, written: Vec::new() };
        for HeadWriting { path, before, mode, bytes } in written {
            let (content, behind) = rest.split_at_checked(bytes)?;
            rest = behind;
            let file = File::new(content, mode.into());
            plan.written.push(Writing { path, before, file });
        }
        rest.is_empty().then_some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_types::Limits;

    fn plan() -> Plan {
        let package = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(path, text)| (*path, File::from_text(text)));
            Package::from_entries(files, Limits::default()).unwrap()
        };
        Plan::between(
            Home { device: 1, inode: 2 },
            &package(&[("a", "1"), ("b", "2")]),
            &package(&[("b", "3\n"), ("c/d", "")]),
        )
        .unwrap()
    }

    #[test]
    fn a_journal_reads_back() {
        let bytes = plan().encode().unwrap();
        assert_eq!(Plan::decode(&bytes), Some(plan()));
    }

    #[test]
    fn no_part_of_a_journal_is_one() {
        let bytes = plan().encode().unwrap();
        for end in 0..bytes.len() {
            assert_eq!(Plan::decode(&bytes[..end]), None, "{end}");
            let mut broken = bytes.clone();
            broken[end] ^= 1;
            assert_eq!(Plan::decode(&broken), None, "{end}");
        }
    }
}
