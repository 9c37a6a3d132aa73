//! Changing a folder, and finishing what a killed process began.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_krm::package::{File, Folder};
use lanai_types::{ByteSize, Limits, SafePath};

use crate::copies::Copies;
use crate::entry::{self, Found, Stamp, look};
use crate::lock::{Lock, holder, lock};
use crate::plan::{Home, Plan, Writing};
use crate::steps::{Step, Steps};
use crate::sync::{sync, sync_one};
use crate::{Error, STATE_FOLDER, temporary_name};

const JOURNAL: &str = "journal";

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// How many files have new content.
    pub written: usize,
    /// How many files are gone.
    pub removed: usize,
    /// Files that were left as somebody else made them meanwhile.
    pub kept: Vec<Kept>,
    /// Files that looked as a power cut leaves them, and were written anew.
    pub replaced: Vec<Replaced>,
}

/// A file that held the beginning of what it was to hold, and zeros: a power cut does that, and so can somebody who cuts a
/// file short. It was written anew, and what was there is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The file.
    pub path: SafePath,
    /// Where the content is that was there.
    pub copy: PathBuf,
}

/// A file that somebody changed while it was to be replaced: it stays, and what it was to become is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub path: SafePath,
    /// Where the content is that it was to get; `None` when it was to be removed.
    pub copy: Option<PathBuf>,
}

/// What was found of a process that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing.
    Nothing,
    /// A plan that was made for another folder, or by somebody who has no say here; it was not followed.
    Foreign(PathBuf),
    /// It had not changed anything yet.
    Undone,
    /// It had begun to change files; now all are changed.
    Finished(Applied),
}

/// Makes the files of a folder those of `after`, where they differ from `before`, which is what was read there.
///
/// Nothing is written when a file that is to change is not as in `before`. Otherwise the whole change is written to a
/// journal first, then each file gets its new content by a rename. Killed before the journal is on the disk, nothing has
/// changed; killed after that, [`recover`] makes the rest of the change. A file that somebody changes in between is not
/// overwritten: it is in [`Applied::kept`]. Files keep their permissions, but for the right to run them.
///
/// # Errors
/// [`Error::Changed`] and [`Error::Reserved`], with nothing changed; what the system refuses. When that happens behind
/// the journal, the change can be finished later.
pub fn apply(
    lock: &Lock,
    before: &Package,
    after: &Package,
    copies: &mut Copies,
    steps: &mut dyn Steps,
) -> Result<Applied, Error> {
    let plan = Plan::between(Home::of(lock.root())?, before, after)?;
    if plan.is_empty() {
        return Ok(Applied::default());
    }
    let reserved = plan.written.iter().find(|entry| entry.path.components().any(|name| name == STATE_FOLDER));
    if let Some(entry) = reserved {
        return Err(Error::Reserved(entry.path.clone()));
    }
    let root = lock.root();
    check(root, &plan, before)?;
    let journal = root.join(STATE_FOLDER).join(JOURNAL);
    if let Err(error) = write_journal(&journal, &plan, steps) {
        // Nothing was changed, and nothing will be.
        let _ = fs::remove_file(&journal);
        return Err(error);
    }
    let applied = Run { root, plan: &plan, before: Some(before), copies, steps }.all()?;
    finish(root, &plan, &journal, steps)?;
    Ok(applied)
}

/// Finishes or drops what a killed process left behind, in the folder and in those around it.
///
/// # Errors
/// [`Error::Locked`] when somebody is at work there right now; what the system refuses.
pub fn recover(root: &Path, copies: &mut Copies, steps: &mut dyn Steps) -> Result<Recovery, Error> {
    let mut found = Recovery::Nothing;
    for folder in root.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
        if !folder.join(STATE_FOLDER).is_dir() {
            continue;
        }
        match recover_one(folder, copies, steps)? {
            Recovery::Nothing => {}
            Recovery::Foreign(_) | Recovery::Undone if found != Recovery::Nothing => {}
            other => found = other,
        }
    }
    Ok(found)
}

fn recover_one(root: &Path, copies: &mut Copies, steps: &mut dyn Steps) -> Result<Recovery, Error> {
    let journal = root.join(STATE_FOLDER).join(JOURNAL);
    if !journal.exists() {
        // A writer that only has the lock has changed nothing yet; it says so itself when it is in the way.
        if holder(root).is_none() {
            drop(lock(root, "recovery"));
        }
        return Ok(Recovery::Nothing);
    }
    if !is_trusted(root, &journal)? {
        return Ok(Recovery::Foreign(journal));
    }
    let _lock = lock(root, "recovery")?;
    let bytes = match fs::read(&journal) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Recovery::Nothing),
        Err(error) => return Err(Error::io("read", &journal)(error)),
    };
    let Some(plan) = Plan::decode(&bytes) else {
        fs::remove_file(&journal).map_err(Error::io("remove", &journal))?;
        steps.reached(Step::JournalRemoved);
        return Ok(Recovery::Undone);
    };
    if plan.home != Home::of(root)? {
        return Ok(Recovery::Foreign(journal));
    }
    let applied = Run { root, plan: &plan, before: None, copies, steps }.all()?;
    finish(root, &plan, &journal, steps)?;
    Ok(Recovery::Finished(applied))
}

/// Whether a journal was written by us or by the owner of the folder. In a folder that many share, others can leave one.
fn is_trusted(root: &Path, journal: &Path) -> Result<bool, Error> {
    let owner =
        |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).map_err(Error::io("read", path));
    let writer = owner(journal)?;
    Ok(writer == owner(root)? || writer == rustix::process::geteuid().as_raw())
}

/// Whether every file that is to change is as it was read.
fn check(root: &Path, plan: &Plan, before: &Package) -> Result<(), Error> {
    let removed = plan.removed.iter().map(|entry| &entry.path);
    for path in removed.chain(plan.written.iter().map(|entry| &entry.path)) {
        let expected = before.get(path);
        let unchanged = match at(root, path)? {
            Found::Nothing => expected.is_none(),
            Found::File(file) => Some(&file) == expected,
            // A folder that the change empties may become a file.
            Found::Other => expected.is_none() && plan.removed.iter().any(|gone| gone.path.starts_with(path)),
        };
        if !unchanged {
            return Err(Error::Changed { root: root.into(), path: path.clone() });
        }
    }
    Ok(())
}

fn at(root: &Path, path: &SafePath) -> Result<Found, Error> {
    let mut folder = path.parent();
    while let Some(inside) = folder {
        let place = root.join(inside.as_str());
        // What is behind a link belongs to somebody else.
        if fs::symlink_metadata(&place).is_ok_and(|metadata| !metadata.is_dir()) {
            return Ok(Found::Nothing);
        }
        folder = inside.parent();
    }
    let place = root.join(path.as_str());
    look(&place, limit()).map_err(Error::io("read", &place))
}

fn limit() -> ByteSize {
    Limits::DEFAULT.max_stream
}

fn write_journal(journal: &Path, plan: &Plan, steps: &mut dyn Steps) -> Result<(), Error> {
    let bytes = plan.encode()?;
    let failed = || Error::io("write", journal);
    let mut file = fs::File::create(journal).map_err(failed())?;
    steps.reached(Step::JournalCreated);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    file.write_all(first).map_err(failed())?;
    steps.reached(Step::JournalHalfWritten);
    file.write_all(second).map_err(failed())?;
    steps.reached(Step::JournalWritten);
    file.sync_all().map_err(failed())?;
    for folder in journal.ancestors().skip(1).take(2) {
        sync_one(folder)?;
    }
    steps.reached(Step::JournalSynced);
    Ok(())
}

fn finish(root: &Path, plan: &Plan, journal: &Path, steps: &mut dyn Steps) -> Result<(), Error> {
    let written = plan.written.iter().map(|entry| &entry.path);
    let paths = written.chain(plan.removed.iter().map(|entry| &entry.path));
    sync(root, &paths.map(|path| root.join(path.as_str())).collect::<Vec<_>>())?;
    steps.reached(Step::Synced);
    fs::remove_file(journal).map_err(Error::io("remove", journal))?;
    steps.reached(Step::JournalRemoved);
    Ok(())
}

/// What an entry of the plan finds on the disk.
enum State {
    /// What was there before.
    Old(Option<fs::Metadata>),
    /// What is to be there.
    New,
    /// The beginning of what is to be there, and zeros.
    Torn { found: File, metadata: Option<fs::Metadata> },
    /// What somebody else put there.
    Foreign,
}

/// Making the change of a journal, from wherever it was left.
struct Run<'a> {
    root: &'a Path,
    plan: &'a Plan,
    /// What was there before, where that is known by more than its digests.
    before: Option<&'a Package>,
    copies: &'a mut Copies,
    steps: &'a mut dyn Steps,
}

impl Run<'_> {
    fn all(&mut self) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        let plan = self.plan;
        for entry in &plan.removed {
            match self.state(&entry.path, Some(entry.before), None)? {
                State::New => {}
                State::Old(_) => {
                    let path = self.root.join(entry.path.as_str());
                    fs::remove_file(&path).map_err(Error::io("remove", &path))?;
                    self.steps.reached(Step::FileRemoved);
                    applied.removed += 1;
                }
                State::Torn { .. } | State::Foreign => {
                    applied.kept.push(Kept { path: entry.path.clone(), copy: None });
                }
            }
        }
        self.remove_empty_folders();
        for (number, entry) in plan.written.iter().enumerate() {
            let place = self.root.join(entry.path.as_str());
            let temporary = place.with_file_name(temporary_name(number));
            match self.state(&entry.path, entry.before, Some(&entry.file))? {
                State::New => remove_if_there(&temporary)?,
                State::Old(old) => {
                    self.write(entry, &place, &temporary, old.as_ref())?;
                    applied.written += 1;
                }
                State::Torn { found, metadata } => {
                    let copy = self.copies.save_for_good(&entry.path, &found)?;
                    self.write(entry, &place, &temporary, metadata.as_ref())?;
                    applied.written += 1;
                    applied.replaced.push(Replaced { path: entry.path.clone(), copy });
                }
                State::Foreign => {
                    remove_if_there(&temporary)?;
                    let copy = self.copies.save_file(&entry.path, &entry.file)?;
                    applied.kept.push(Kept { path: entry.path.clone(), copy: Some(copy) });
                }
            }
        }
        Ok(applied)
    }

    /// What is there, seen from an entry.
    fn state(&self, path: &SafePath, before: Option<Stamp>, after: Option<&File>) -> Result<State, Error> {
        let place = self.root.join(path.as_str());
        let now = match at(self.root, path)? {
            Found::Nothing if is_below_link(self.root, path) => return Ok(State::Foreign),
            Found::Nothing => None,
            Found::File(file) => Some(file),
            Found::Other => return Ok(State::Foreign),
        };
        if now.as_ref() == after {
            return Ok(State::New);
        }
        let is_old = match self.before {
            Some(package) => now.as_ref() == package.get(path),
            None => now.as_ref().map(Stamp::of).transpose()? == before,
        };
        let metadata = fs::symlink_metadata(&place).ok();
        if is_old {
            return Ok(State::Old(metadata));
        }
        match now.zip(after) {
            Some((found, after)) if is_torn(&found, after) => Ok(State::Torn { found, metadata }),
            Some(_) | None => Ok(State::Foreign),
        }
    }

    fn write(
        &mut self,
        entry: &Writing,
        place: &Path,
        temporary: &Path,
        old: Option<&fs::Metadata>,
    ) -> Result<(), Error> {
        if let Some(folder) = place.parent().filter(|folder| !folder.is_dir()) {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            self.steps.reached(Step::FolderCreated);
        }
        remove_if_there(temporary)?;
        entry::write(temporary, &entry.file, old).map_err(Error::io("write", temporary))?;
        self.steps.reached(Step::TemporaryWritten);
        fs::rename(temporary, place).map_err(Error::io("write", place))?;
        self.steps.reached(Step::FileRenamed);
        Ok(())
    }

    /// Removes the folders that the removals emptied, the inner ones first.
    fn remove_empty_folders(&mut self) {
        let mut folders = BTreeSet::new();
        for entry in &self.plan.removed {
            let mut folder = Folder::of(&entry.path);
            while let Folder::At(path) = &folder {
                let outer = Folder::of(path);
                if !folders.insert(folder) {
                    break;
                }
                folder = outer;
            }
        }
        for folder in folders.iter().rev() {
            // One that holds something stays.
            if fs::remove_dir(self.root.join(folder.to_string())).is_ok() {
                self.steps.reached(Step::FolderRemoved);
            }
        }
    }
}

fn is_below_link(root: &Path, path: &SafePath) -> bool {
    let folders = std::iter::successors(path.parent(), SafePath::parent);
    let mut metadata = folders.map(|folder| fs::symlink_metadata(root.join(folder.as_str())));
    metadata.any(|found| found.is_ok_and(|found| !found.is_dir()))
}

/// Whether a file is what a power cut leaves of another one: its beginning, and zeros.
fn is_torn(now: &File, after: &File) -> bool {
    let (now, after) = (now.content(), after.content());
    let equal = now.iter().zip(after).take_while(|(now, after)| now == after).count();
    now.len() <= after.len() && now[equal..].iter().all(|byte| *byte == 0)
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
