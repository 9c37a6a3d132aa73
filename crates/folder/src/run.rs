//! Making the change of a journal, from wherever it was left.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::SafePath;

use crate::Error;
use crate::apply::{Applied, Kept, Replaced};
use crate::copies::Copies;
use crate::entry::{self, Found, Stamp, look};
use crate::plan::{Plan, Writing, folders_of};
use crate::steps::{Step, Steps};
use crate::sync::sync;

/// Whether every file that is to change is as it was read.
pub(crate) fn check(root: &Path, plan: &Plan, before: &Package) -> Result<(), Error> {
    let removed = plan.removed.iter().map(|entry| &entry.path);
    for path in removed.chain(plan.written.iter().map(|entry| &entry.path)) {
        let expected = before.get(path);
        if expected.is_some_and(|file| is_there(root, path, file)) {
            continue;
        }
        let unchanged = match at(root, path, expected.map_or(0, File::len))? {
            Found::Nothing => expected.is_none(),
            Found::File(file) => Some(&file) == expected,
            // A folder that the change empties may become a file.
            Found::Folder => {
                expected.is_none() && plan.removed.iter().any(|gone| gone.path.starts_with(path))
            }
            Found::Other => false,
        };
        if !unchanged {
            return Err(Error::Changed { root: root.into(), path: path.clone() });
        }
    }
    Ok(())
}

/// What an entry of the plan finds on the disk.
pub(crate) enum State {
    /// What was there before.
    Old,
    /// What is to be there.
    New,
    /// The beginning of what is to be there, and zeros.
    Torn(File),
    /// What somebody else put there.
    Foreign,
}

/// Making the change of a journal, from wherever it was left.
pub(crate) struct Run<'a> {
    pub root: &'a Path,
    pub plan: &'a Plan,
    /// What was there before, where that is known by more than its digests.
    pub before: Option<&'a Package>,
    pub copies: &'a mut Copies,
    pub steps: &'a mut dyn Steps,
}

/// Where the new content of an entry is before it gets its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Staged {
    /// Beside its place.
    Beside,
    /// In the folder of the journal, since its place is inside of what is a file still.
    Aside,
    /// Nowhere: it is there already, or somebody else is in its place.
    Not,
}

impl Run<'_> {
    /// Makes the whole change, and makes it last. What fails is taken back, see [`crate::back`].
    pub fn all(&mut self) -> Result<Applied, Error> {
        self.forward().map_err(|cause| match self.back() {
            Ok(kept) => Error::Undone { cause: Box::new(cause), kept },
            Err(undo) => Error::Half { cause: Box::new(cause), undo: Box::new(undo) },
        })
    }

    /// Writes all new files beside their places, removes what is to go, then gives the new files their names. Most of what
    /// can fail does before anything of the package has changed.
    fn forward(&mut self) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        let staged = self.stage()?;
        self.remove(&mut applied)?;
        self.remove_empty_folders()?;
        self.rename(&staged, &mut applied)?;
        self.sync()?;
        Ok(applied)
    }

    fn remove(&mut self, applied: &mut Applied) -> Result<(), Error> {
        let plan = self.plan;
        for (number, entry) in plan.removed.iter().enumerate() {
            match self.state(&entry.path, Some(entry.before), None)? {
                State::New => {}
                State::Torn(_) | State::Foreign if self.is_turning(&entry.path)? => {}
                State::Old => {
                    let path = self.root.join(entry.path.as_str());
                    remove_to(&path, &Plan::old_removed(self.root, number))?;
                    self.steps.reached(Step::FileRemoved);
                    applied.removed += 1;
                }
                State::Torn(_) | State::Foreign => {
                    applied.kept.push(Kept { path: entry.path.clone(), copy: None });
                }
            }
        }
        Ok(())
    }

    /// Whether no file is at a path because the change makes a folder of a file there, or a file of a folder around it.
    pub(crate) fn is_turning(&self, path: &SafePath) -> Result<bool, Error> {
        Ok(self.plan.is_around_or_below(path)
            && matches!(at(self.root, path, 0)?, Found::Nothing | Found::Folder))
    }

    /// Writes all new files. Until they have their names, nothing of the package has changed.
    fn stage(&mut self) -> Result<Vec<Staged>, Error> {
        let plan = self.plan;
        let mut all = Vec::with_capacity(plan.written.len());
        for (number, entry) in plan.written.iter().enumerate() {
            let staged = self.place_of(entry)?;
            match staged {
                Staged::Beside => self.write(entry, &plan.temporary(self.root, number))?,
                Staged::Aside => self.write(entry, &Plan::aside(self.root, number))?,
                Staged::Not => {}
            }
            all.push(staged);
        }
        Ok(all)
    }

    fn place_of(&self, entry: &Writing) -> Result<Staged, Error> {
        if is_below_link(self.root, &entry.path) {
            // A file that goes may leave its place to a folder; what somebody else put there stays.
            let makes_room = self.plan.removed.iter().any(|gone| entry.path.starts_with(&gone.path));
            return Ok(if makes_room { Staged::Aside } else { Staged::Not });
        }
        // Only whoever was killed may have come this far before.
        if self.before.is_none() {
            let state = self.state(&entry.path, entry.before, Some(&entry.file))?;
            return Ok(if matches!(state, State::New) { Staged::Not } else { Staged::Beside });
        }
        Ok(Staged::Beside)
    }

    fn write(&mut self, entry: &Writing, temporary: &Path) -> Result<(), Error> {
        let place = self.root.join(entry.path.as_str());
        if let Some(folder) = temporary.parent() {
            self.make(folder)?;
        }
        let old = fs::symlink_metadata(&place).ok();
        let written = match entry::write_new(temporary, &entry.file, old.as_ref()) {
            // What a killed process left under a name of ours.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_if_there(temporary)?;
                entry::write_new(temporary, &entry.file, old.as_ref())
            }
            other => other,
        };
        written.map_err(Error::io("write", &place))?;
        self.steps.reached(Step::TemporaryWritten);
        Ok(())
    }

    fn make(&mut self, folder: &Path) -> Result<(), Error> {
        if folder.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        self.steps.reached(Step::FolderCreated);
        Ok(())
    }

    /// Gives the new files their names, each where the old one still is what it was.
    fn rename(&mut self, staged: &[Staged], applied: &mut Applied) -> Result<(), Error> {
        let plan = self.plan;
        for ((number, entry), staged) in plan.written.iter().enumerate().zip(staged) {
            let place = self.root.join(entry.path.as_str());
            let temporary = match staged {
                Staged::Beside | Staged::Not => plan.temporary(self.root, number),
                Staged::Aside => Plan::aside(self.root, number),
            };
            match self.state(&entry.path, entry.before, Some(&entry.file))? {
                State::New => {
                    remove_if_there(&temporary)?;
                    continue;
                }
                State::Old => self.keep_old(&place, &Plan::old_replaced(self.root, number)),
                State::Torn(found) => {
                    let copy = self.copies.save_for_good(&entry.path, &found)?;
                    applied.replaced.push(Replaced { path: entry.path.clone(), copy });
                }
                State::Foreign => {
                    remove_if_there(&temporary)?;
                    let copy = self.copies.save_file(&entry.path, &entry.file)?;
                    applied.kept.push(Kept { path: entry.path.clone(), copy: Some(copy) });
                    continue;
                }
            }
            if let Some(folder) = place.parent() {
                self.make(folder)?;
            }
            fs::rename(&temporary, &place).map_err(Error::io("write", &place))?;
            self.steps.reached(Step::FileRenamed);
            applied.written += 1;
        }
        Ok(())
    }

    /// Gives a file that is to be replaced a second name, by which it can come back. Where the disk has no second names,
    /// its content is in memory.
    fn keep_old(&mut self, place: &Path, old: &Path) {
        let kept = fs::hard_link(place, old).or_else(|error| match error.kind() {
            // From a process that was killed.
            io::ErrorKind::AlreadyExists => fs::remove_file(old).and_then(|()| fs::hard_link(place, old)),
            _ => Err(error),
        });
        if kept.is_ok() {
            self.steps.reached(Step::OldKept);
        }
    }

    /// Makes the files last as they are now.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let written = self.plan.written.iter().map(|entry| &entry.path);
        let paths = written.chain(self.plan.removed.iter().map(|entry| &entry.path));
        sync(self.root, &paths.map(|path| self.root.join(path.as_str())).collect::<Vec<_>>())?;
        self.steps.reached(Step::Synced);
        Ok(())
    }

    /// What is there, seen from an entry.
    pub(crate) fn state(
        &self,
        path: &SafePath,
        before: Option<Stamp>,
        after: Option<&File>,
    ) -> Result<State, Error> {
        // Most of the time it is one of these, and need not be held in memory.
        if after.is_some_and(|file| is_there(self.root, path, file)) {
            return Ok(State::New);
        }
        if self
            .before
            .and_then(|package| package.get(path))
            .is_some_and(|file| is_there(self.root, path, file))
        {
            return Ok(State::Old);
        }
        let most = before.map_or(0, |stamp| stamp.size).max(after.map_or(0, File::len));
        let now = match at(self.root, path, most)? {
            Found::Nothing if is_below_link(self.root, path) => return Ok(State::Foreign),
            Found::Nothing => None,
            Found::File(file) => Some(file),
            Found::Folder | Found::Other => return Ok(State::Foreign),
        };
        if now.as_ref() == after {
            return Ok(State::New);
        }
        let is_old = match self.before {
            Some(package) => now.as_ref() == package.get(path),
            None => Stamp::is_of(before, now.as_ref())?,
        };
        if is_old {
            return Ok(State::Old);
        }
        match now.zip(after) {
            Some((found, after)) if is_torn(&found, after) => Ok(State::Torn(found)),
            Some(_) | None => Ok(State::Foreign),
        }
    }

    /// Removes the folders that the removals emptied, the inner ones first.
    fn remove_empty_folders(&mut self) -> Result<(), Error> {
        use io::ErrorKind::{DirectoryNotEmpty, NotADirectory, NotFound};
        let folders = folders_of(self.plan.removed.iter().map(|entry| &entry.path));
        let written: HashSet<_> = self.plan.written.iter().map(|entry| &entry.path).collect();
        for folder in folders.iter().rev() {
            let place = self.root.join(folder.as_str());
            let is_in_the_way = written.contains(folder);
            if is_in_the_way {
                remove_empty_inside(&place);
            }
            match fs::remove_dir(&place) {
                Ok(()) => self.steps.reached(Step::FolderRemoved),
                // One that holds something of somebody else stays.
                Err(error) if matches!(error.kind(), DirectoryNotEmpty | NotADirectory | NotFound) => {}
                Err(error) if is_in_the_way => return Err(Error::io("remove", &place)(error)),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Removes folders in a folder that hold nothing but folders: no package knows them, and a file is to be in their place.
fn remove_empty_inside(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_empty_inside(&entry.path());
        let _ = fs::remove_dir(entry.path());
    }
}

/// Whether a file is at its path of the package. What cannot be read is looked at again by whoever asks.
fn is_there(root: &Path, path: &SafePath, file: &File) -> bool {
    !is_below_link(root, path) && entry::is_at(&root.join(path.as_str()), file).unwrap_or(false)
}

/// What is at a path of the package; a file of more bytes than `most` is not read.
fn at(root: &Path, path: &SafePath, most: usize) -> Result<Found, Error> {
    // What is behind a link belongs to somebody else.
    if is_below_link(root, path) {
        return Ok(Found::Nothing);
    }
    let place = root.join(path.as_str());
    look(&place, most).map_err(Error::io("read", &place))
}

pub(crate) fn is_below_link(root: &Path, path: &SafePath) -> bool {
    let folders = std::iter::successors(path.parent(), SafePath::parent);
    let mut metadata = folders.map(|folder| fs::symlink_metadata(root.join(folder.as_str())));
    metadata.any(|found| found.is_ok_and(|found| !found.is_dir()))
}

/// Takes a file out of the package, to a place from which it can come back; away where the disk cannot move it there.
fn remove_to(path: &Path, old: &Path) -> Result<(), Error> {
    match fs::rename(path, old) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => fs::remove_file(path),
        other => other,
    }
    .map_err(Error::io("remove", path))
}

/// Whether a file is what a power cut leaves of another one: its beginning, with zeros where something was not written.
pub(crate) fn is_torn(now: &File, after: &File) -> bool {
    let holds_no_other = |now: &[u8], after: &[u8]| {
        now.len() <= after.len() && now.iter().zip(after).all(|(now, after)| now == after || *now == 0)
    };
    now.mode() == after.mode() && holds_no_other(now.content(), after.content())
}

/// Removes a file of ours. Where a folder is, or nothing, there is none.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => {
            Err(Error::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
