//! Changing a folder, and finishing what a killed process began.

use std::fs;
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_types::SafePath;

use crate::copies::Copies;
use crate::lock::{Lock, holder, lock};
use crate::plan::{Encoded, Home, Plan, Read};
use crate::run::{Run, check, remove_if_there};
use crate::steps::{Step, Steps};
use crate::sync::sync_one;
use crate::{Error, STATE_FOLDER, state};

/// The file of a journal in [`STATE_FOLDER`].
pub(crate) const JOURNAL: &str = "journal";

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// How many files have new content.
    pub written: usize,
    /// How many files are gone.
    pub removed: usize,
    /// Files that were left as somebody else made them meanwhile.
    pub kept: Vec<Kept>,
    /// Why something was left in [`STATE_FOLDER`], which is in nobody's way. The files themselves are changed for good.
    pub untidy: Option<String>,
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
    /// A plan that was made for another folder, by somebody who has no say here, or by another version of the program; it
    /// was not followed.
    Foreign(PathBuf),
    /// It had not changed anything yet.
    Undone,
    /// It had begun to change files; now all are changed.
    Finished(Applied),
}

/// Makes the files of a folder those of `after`, where they differ from `before`, which is what was read there.
///
/// Nothing is written when a file that is to change is not as in `before`. Otherwise the whole change is written to a
/// journal first, then all new contents are written beside their places, then each file gets its new content by a rename.
/// Only names that the journal lists are touched. Killed before the journal is on the disk, nothing has changed; killed
/// after that, [`recover`] makes the rest of the change. A file that somebody changes in between is not overwritten: it is
/// in [`Applied::kept`]. Files keep their permissions, but for the right to run them.
///
/// # Errors
/// [`Error::Changed`] and [`Error::Reserved`], with nothing changed; what the system refuses. When that happens behind
/// the journal, everything is put back ([`Error::Undone`]); where that is refused, too, the journal stays, and [`recover`]
/// tries to finish the change or to take it back ([`Error::Half`]).
pub fn apply(
    lock: &Lock,
    before: &Package,
    after: &Package,
    copies: &mut Copies,
    steps: &mut dyn Steps,
) -> Result<Applied, Error> {
    let mut plan = Plan::between(Home::of(lock.root())?, before, after)?;
    if plan.is_empty() {
        return Ok(Applied::default());
    }
    let reserved = plan.written.iter().find(|entry| entry.path.components().any(|name| name == STATE_FOLDER));
    if let Some(entry) = reserved {
        return Err(Error::Reserved(entry.path.clone()));
    }
    let root = lock.root();
    check(root, &plan, before)?;
    plan.look_at(root)?;
    let journal = root.join(STATE_FOLDER).join(JOURNAL);
    if let Err(error) = write_journal(&journal, &plan, steps) {
        // Nothing was changed, and nothing will be.
        let _ = fs::remove_file(&journal);
        return Err(error);
    }
    let mut run = Run { root, plan: &plan, before: Some(before), copies, steps };
    let applied = run.all();
    finish(root, &plan, &journal, applied, steps)
}

/// Finishes or drops what a killed process left behind, in the folder and in those around it.
///
/// # Errors
/// [`Error::Locked`] when somebody is at work there right now; what the system refuses. A change that cannot be finished is
/// taken back where that is possible ([`Error::Undone`]), and is in nobody's way any more.
pub fn recover(root: &Path, copies: &mut Copies, steps: &mut dyn Steps) -> Result<Recovery, Error> {
    let mut found = Recovery::Nothing;
    for folder in root.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
        let is_around = folder != root;
        if is_around && !state::is_trusted(folder, JOURNAL).unwrap_or(false) {
            continue;
        }
        match recover_one(folder, copies, steps) {
            Ok(Recovery::Nothing) => {}
            Ok(Recovery::Foreign(_) | Recovery::Undone) if found != Recovery::Nothing => {}
            Ok(other) => found = other,
            Err(Error::Strange(_)) if is_around => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn recover_one(root: &Path, copies: &mut Copies, steps: &mut dyn Steps) -> Result<Recovery, Error> {
    if state::folder(root)?.is_none() {
        return Ok(Recovery::Nothing);
    }
    let Some(journal) = state::file(root, JOURNAL)? else {
        // A writer that only has the lock has changed nothing yet; it says so itself when it is in the way.
        if holder(root).is_none() {
            drop(lock(root, "recovery"));
        }
        return Ok(Recovery::Nothing);
    };
    if !state::is_trusted(root, JOURNAL)? {
        return Ok(Recovery::Foreign(journal));
    }
    let _lock = lock(root, "recovery")?;
    let bytes = match read_journal(&journal) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Recovery::Nothing),
        Err(error) => return Err(Error::io("read", &journal)(error)),
    };
    let plan = match Plan::decode(&bytes) {
        Read::Plan(plan) if plan.home == Home::of(root)? => plan,
        Read::Plan(_) | Read::Other => return Ok(Recovery::Foreign(journal)),
        Read::Incomplete => {
            fs::remove_file(&journal).map_err(Error::io("remove", &journal))?;
            steps.reached(Step::JournalRemoved);
            return Ok(Recovery::Undone);
        }
    };
    let applied = Run { root, plan: &plan, before: None, copies, steps }.all();
    finish(root, &plan, &journal, applied, steps).map(Recovery::Finished)
}

pub(crate) fn read_journal(journal: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    state::open(journal, fs::OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write_journal(journal: &Path, plan: &Plan, steps: &mut dyn Steps) -> Result<(), Error> {
    let Encoded { head, contents, digest } = plan.encode()?;
    let failed = || Error::io("write", journal);
    // One that was not followed is in the way. A link goes, not what it leads to.
    remove_if_there(journal)?;
    // It holds what others may not be allowed to read.
    let options = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).clone();
    let mut file = options.open(journal).map_err(failed())?;
    steps.reached(Step::JournalCreated);
    file.write_all(&head).map_err(failed())?;
    steps.reached(Step::JournalHalfWritten);
    let mut writer = BufWriter::new(&file);
    for content in contents {
        writer.write_all(content).map_err(failed())?;
    }
    writer.write_all(digest.as_bytes()).and_then(|()| writer.flush()).map_err(failed())?;
    drop(writer);
    steps.reached(Step::JournalWritten);
    file.sync_all().map_err(failed())?;
    for folder in journal.ancestors().skip(1).take(2) {
        sync_one(folder)?;
    }
    steps.reached(Step::JournalSynced);
    Ok(())
}

/// Removes the journal of a change that was made or taken back, and what is kept beside it.
fn finish(
    root: &Path,
    plan: &Plan,
    journal: &Path,
    applied: Result<Applied, Error>,
    steps: &mut dyn Steps,
) -> Result<Applied, Error> {
    if matches!(applied, Err(Error::Half { .. })) {
        return applied;
    }
    let tidied = tidy(root, plan, journal, steps);
    match (applied, tidied) {
        (applied, Ok(())) => applied,
        // The journal wants no more than what is there already.
        (Ok(applied), Err(error)) => Ok(Applied { untidy: Some(error.to_string()), ..applied }),
        // Whoever finds the journal makes the change after all.
        (Err(error), Err(undo)) => Err(Error::Half { cause: Box::new(error), undo: Box::new(undo) }),
    }
}

fn tidy(root: &Path, plan: &Plan, journal: &Path, steps: &mut dyn Steps) -> Result<(), Error> {
    for path in plan.leftovers(root).map_err(Error::io("read", journal))? {
        remove_if_there(&path)?;
        steps.reached(Step::OldForgotten);
    }
    fs::remove_file(journal).map_err(Error::io("remove", journal))?;
    steps.reached(Step::JournalRemoved);
    // It must not come back in a power cut, when somebody has long gone on.
    sync_one(&root.join(STATE_FOLDER))
}
