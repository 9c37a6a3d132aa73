//! The journal: what is to be done, as bytes.
//!
//! A line that names the format, a line of JSON that describes the entries, the new contents one behind the other, and at
//! the end the digest of all of that. A journal without its digest was never finished, and nothing was done by it.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use lanai_krm::Package;
use lanai_krm::digest::{Collision, blob_id, blob_id_of};
use lanai_krm::package::File;
use lanai_types::SafePath;
use serde::{Deserialize, Serialize};

use crate::entry::{Stamp, StampMode};
use crate::{Error, STATE_FOLDER};

/// The first line of a journal.
const FORMAT: &str = "lanai journal 2\n";
/// The digits of a digest at its end.
const DIGEST: usize = 40;
/// The digits of a digest that are in the names of new files.
const TOKEN: usize = 12;
/// How many threads make digests, and how many files are worth one.
const MAX_THREADS: usize = 8;
const MIN_SHARE: usize = 32;
/// How often other names are tried.
const MAX_TOKENS: usize = 1_000;

/// What becomes of the files of a folder: removals first, then new contents, each by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub home: Home,
    /// What the names of new files have in common before they get their own.
    token: String,
    pub removed: Vec<Removal>,
    pub written: Vec<Writing>,
    /// Folders that are to be made for new files, the outer ones first.
    pub made: Vec<SafePath>,
    /// Folders that the removals may empty, the outer ones first.
    pub emptied: Vec<Emptied>,
    /// All paths, for questions about what is around them; made when somebody asks.
    paths: OnceLock<BTreeSet<String>>,
}

/// Which folder a plan is for. A journal that came from elsewhere, as with a clone, is not obeyed.
///
/// The number of the device is no part of it: some file systems get another one when they are mounted again, and a power
/// cut is when the journal is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Home {
    inode: u64,
}

impl Home {
    pub fn of(root: &Path) -> Result<Self, Error> {
        let metadata = fs::metadata(root).map_err(Error::io("read", root))?;
        Ok(Self { inode: metadata.ino() })
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

/// A folder that may go with its last file, as it was: it comes back that way when the change is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Emptied {
    pub path: SafePath,
    /// Who may do what in it.
    pub mode: u32,
}

/// The folders that paths are in, the outer ones first.
pub(crate) fn folders_of<'a>(paths: impl Iterator<Item = &'a SafePath>) -> BTreeSet<SafePath> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let above = std::iter::successors(path.parent(), SafePath::parent);
        // Where one is known, those around it are, too.
        let _ = above.take_while(|folder| folders.insert(folder.clone())).count();
    }
    folders
}

/// The second line.
#[derive(Serialize, Deserialize)]
struct Head {
    home: Home,
    token: String,
    removed: Vec<Removal>,
    written: Vec<HeadWriting>,
    /// Journals of earlier versions do not know them; their folders stay.
    #[serde(default)]
    made: Vec<SafePath>,
    #[serde(default)]
    emptied: Vec<Emptied>,
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
        let gone = before.iter().filter(|(path, _)| after.get(path).is_none());
        let gone: Vec<(&SafePath, &File)> = gone.collect();
        let fresh = after.iter().filter(|(path, file)| before.get(path) != Some(file));
        let fresh: Vec<(&SafePath, &File)> = fresh.collect();
        let replaced = fresh.iter().filter_map(|(path, _)| before.get(path));
        let mut stamps =
            stamps(&gone.iter().map(|(_, file)| *file).chain(replaced).collect::<Vec<_>>())?.into_iter();
        let mut removed = Vec::new();
        for (path, _) in gone {
            removed.extend(stamps.next().map(|before| Removal { path: path.clone(), before }));
        }
        let mut written = Vec::new();
        for (path, file) in fresh {
            let before = before.get(path).and_then(|_| stamps.next());
            written.push(Writing { path: path.clone(), before, file: file.clone() });
        }
        let (made, emptied) = (Vec::new(), Vec::new());
        Ok(Self { home, token: String::new(), removed, written, made, emptied, paths: OnceLock::new() })
    }

    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.written.is_empty()
    }

    /// The journal of the plan, in pieces: its head, the new contents, which are not copied, and its digest.
    pub fn encode(&self) -> Result<Encoded<'_>, Collision> {
        let written = self.written.iter().map(|entry| HeadWriting {
            path: entry.path.clone(),
            before: entry.before,
            mode: entry.file.mode().into(),
            bytes: entry.file.len(),
        });
        let head = Head {
            home: self.home,
            token: self.token.clone(),
            removed: self.removed.clone(),
            written: written.collect(),
            made: self.made.clone(),
            emptied: self.emptied.clone(),
        };
        let head = serde_json::to_string(&head).expect("texts and numbers are JSON");
        let head = format!("{FORMAT}{head}\n").into_bytes();
        let contents: Vec<&[u8]> = self.written.iter().map(|entry| entry.file.content()).collect();
        let digest = blob_id_of(&[&[&head[..]], &contents[..]].concat())?.to_string();
        Ok(Encoded { head, contents, digest })
    }

    /// Looks at the folder that is to change: which folders are missing, how those are that may go, and which names nobody has.
    pub fn look_at(&mut self, root: &Path) -> Result<(), Error> {
        let fresh = self.written.iter().filter(|entry| entry.before.is_none());
        let folders = folders_of(fresh.map(|entry| &entry.path)).into_iter();
        // Where a file is now, a folder may come.
        let is_folder = |folder: &SafePath| {
            fs::symlink_metadata(root.join(folder.as_str())).is_ok_and(|found| found.is_dir())
        };
        self.made = folders.filter(|folder| !is_folder(folder)).collect();
        let emptied = folders_of(self.removed.iter().map(|entry| &entry.path)).into_iter();
        let mode = |folder: &SafePath| {
            let found = fs::symlink_metadata(root.join(folder.as_str())).ok()?;
            found.is_dir().then(|| found.permissions().mode() & 0o7777)
        };
        self.emptied = emptied.filter_map(|path| Some(Emptied { mode: mode(&path)?, path })).collect();
        self.name_temporaries(root)
    }

    /// Chooses names for new files that nothing in the folder has, nor is to have.
    fn name_temporaries(&mut self, root: &Path) -> Result<(), Error> {
        let first = self.written.first().map(|entry| Stamp::of(&entry.file)).transpose()?;
        let start = first.map_or_else(String::new, |stamp| stamp.id.to_string());
        let places: HashSet<PathBuf> =
            self.written.iter().map(|entry| root.join(entry.path.as_str())).collect();
        for number in 0..MAX_TOKENS {
            self.token = format!("{}-{number}", start.get(..TOKEN).unwrap_or_default());
            let mut names = (0..self.written.len()).map(|number| self.temporary(root, number));
            if names.all(|name| !places.contains(&name) && fs::symlink_metadata(name).is_err()) {
                return Ok(());
            }
        }
        Err(Error::Exists(self.temporary(root, 0)))
    }

    /// Where a new file is before it gets its name: beside its place.
    pub fn temporary(&self, root: &Path, number: usize) -> PathBuf {
        root.join(self.written[number].path.as_str()).with_file_name(self.temporary_name(number))
    }

    /// The name of that file.
    pub fn temporary_name(&self, number: usize) -> String {
        format!("{STATE_FOLDER}-{}-{number}.tmp", self.token)
    }

    /// Where a new file is before it gets its name, when there is no folder yet for it to be beside its place.
    pub fn aside(root: &Path, number: usize) -> PathBuf {
        root.join(STATE_FOLDER).join(format!("new-{number}"))
    }

    /// Where a file that is replaced has a second name until the change is done.
    pub fn old_replaced(root: &Path, number: usize) -> PathBuf {
        root.join(STATE_FOLDER).join(format!("replaced-{number}"))
    }

    /// Where a file that is removed is until the change is done.
    pub fn old_removed(root: &Path, number: usize) -> PathBuf {
        root.join(STATE_FOLDER).join(format!("removed-{number}"))
    }

    /// Where a file that is removed is written anew, to come back.
    pub fn spare(root: &Path, number: usize) -> PathBuf {
        root.join(STATE_FOLDER).join(format!("back-{number}"))
    }

    /// What a change left in the folder of the journal, of all that it may leave there.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn leftovers(&self, root: &Path) -> io::Result<Vec<PathBuf>> {
        let written = (0..self.written.len())
            .flat_map(|number| [Self::aside(root, number), Self::old_replaced(root, number)]);
        let removed = (0..self.removed.len())
            .flat_map(|number| [Self::old_removed(root, number), Self::spare(root, number)]);
        let ours: HashSet<PathBuf> = written.chain(removed).collect();
        let mut left = Vec::new();
        for entry in fs::read_dir(root.join(STATE_FOLDER))? {
            left.extend(Some(entry?.path()).filter(|path| ours.contains(path)));
        }
        Ok(left)
    }

    /// Whether the plan has a path inside of this one, as if it were a folder, or one that it is inside of.
    pub fn is_around_or_below(&self, path: &SafePath) -> bool {
        let paths = self.paths.get_or_init(|| {
            let written = self.written.iter().map(|entry| &entry.path);
            let all = written.chain(self.removed.iter().map(|entry| &entry.path));
            all.map(|path| path.as_str().to_owned()).collect()
        });
        let mut around = std::iter::successors(path.parent(), SafePath::parent);
        let inside = format!("{path}/");
        around.any(|folder| paths.contains(folder.as_str()))
            || paths.range(inside.clone()..).next().is_some_and(|next| next.starts_with(&inside))
    }

    /// Reads a journal.
    pub fn decode(bytes: &[u8]) -> Read {
        if !FORMAT.as_bytes().starts_with(&bytes[..bytes.len().min(FORMAT.len())]) {
            return Read::Other;
        }
        let Some(content) = whole(bytes) else { return Read::Incomplete };
        Self::parse(content).map_or(Read::Other, Read::Plan)
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let content = content.strip_prefix(FORMAT.as_bytes())?;
        let end = content.iter().position(|byte| *byte == b'\n')?;
        let Head { home, token, removed, written, made, emptied } =
            serde_json::from_slice(&content[..end]).ok()?;
        let mut rest = &content[end + 1..];
        let paths = OnceLock::new();
        let mut plan = Self { home, token, removed, written: Vec::new(), made, emptied, paths };
        for HeadWriting { path, before, mode, bytes } in written {
            let (content, behind) = rest.split_at_checked(bytes)?;
            rest = behind;
            let file = File::new(content, mode.into());
            plan.written.push(Writing { path, before, file });
        }
        rest.is_empty().then_some(plan)
    }
}

/// A journal, as it is written.
pub(crate) struct Encoded<'a> {
    pub head: Vec<u8>,
    pub contents: Vec<&'a [u8]>,
    pub digest: String,
}

/// The stamps of files, in their order. Many are made by several threads: digests take a good part of a change.
fn stamps(files: &[&File]) -> Result<Vec<Stamp>, Collision> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = files.len().div_ceil(threads).max(MIN_SHARE);
    let some = |files: &[&File]| files.iter().map(|file| Stamp::of(file)).collect::<Result<Vec<_>, _>>();
    if files.len() <= share {
        return some(files);
    }
    thread::scope(|scope| {
        let work: Vec<_> = files.chunks(share).map(|part| scope.spawn(|| some(part))).collect();
        let parts = work.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
    })
}

/// What a journal turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Plan(Plan),
    /// It was not finished, and nothing was done by it.
    Incomplete,
    /// Something else, perhaps of another version of the program: nobody knows what was done by it.
    Other,
}

/// What is before the digest, if that fits.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let (content, digest) = bytes.split_at(bytes.len().checked_sub(DIGEST)?);
    (blob_id(content).ok()?.to_string().as_bytes() == digest).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_types::Limits;

    fn bytes(plan: &Plan) -> Vec<u8> {
        let Encoded { head, contents, digest } = plan.encode().unwrap();
        [head, contents.concat(), digest.into_bytes()].concat()
    }

    fn plan() -> Plan {
        let package = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(path, text)| (*path, File::from_text(text)));
            Package::from_entries(files, Limits::default()).unwrap()
        };
        Plan::between(
            Home { inode: 2 },
            &package(&[("a", "1"), ("b", "2")]),
            &package(&[("b", "3\n"), ("c/d", "")]),
        )
        .unwrap()
    }

    #[test]
    fn a_journal_reads_back() {
        let bytes = bytes(&plan());
        assert_eq!(Plan::decode(&bytes), Read::Plan(plan()));
    }

    #[test]
    fn a_journal_copies_no_content() {
        let plan = plan();
        let encoded = plan.encode().unwrap();
        let places: Vec<_> = plan.written.iter().map(|entry| entry.file.content().as_ptr()).collect();
        assert_eq!(encoded.contents.iter().map(|content| content.as_ptr()).collect::<Vec<_>>(), places);
    }

    #[test]
    fn no_part_of_a_journal_is_one() {
        let bytes = bytes(&plan());
        for end in 0..bytes.len() {
            assert_eq!(Plan::decode(&bytes[..end]), Read::Incomplete, "{end}");
            let mut broken = bytes.clone();
            broken[end] ^= 1;
            let expected = if end < FORMAT.len() { Read::Other } else { Read::Incomplete };
            assert_eq!(Plan::decode(&broken), expected, "{end}");
        }
    }

    #[test]
    fn a_journal_of_another_version_is_none_of_ours() {
        assert_eq!(Plan::decode(b"lanai journal 1\n"), Read::Other);
        assert_eq!(Plan::decode(b""), Read::Incomplete);
    }

    #[test]
    fn names_that_are_taken_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan();
        plan.name_temporaries(folder.path()).unwrap();
        let first = plan.temporary(folder.path(), 0);
        fs::write(&first, "somebody's own").unwrap();
        plan.name_temporaries(folder.path()).unwrap();
        assert_ne!(plan.temporary(folder.path(), 0), first);
    }

    #[test]
    fn names_that_will_be_taken_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan();
        plan.name_temporaries(folder.path()).unwrap();
        let taken = plan.temporary_name(0);
        plan.written[1].path = taken.parse().unwrap();
        plan.name_temporaries(folder.path()).unwrap();
        assert_ne!(plan.temporary_name(0), taken);
    }
}
