//! Taking back what was begun of a change.
//!
//! Files that are replaced or removed have a second name in the folder of the journal until the change is done, so that a
//! change that cannot be finished leaves everything as it was. Nothing that somebody else wrote meanwhile is touched.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use lanai_krm::package::File;
use lanai_types::SafePath;

use crate::Error;
use crate::apply::Kept;
use crate::entry;
use crate::plan::{Emptied, Plan};
use crate::run::{Run, State, is_below_link, remove_if_there};
use crate::steps::Step;

impl Run<'_> {
    /// Puts every file back that the change touched, and makes that last. Returns the files that somebody else changed
    /// meanwhile, which stay, and where their old contents are.
    ///
    /// # Errors
    /// What the system refuses; a file whose old content is nowhere any more.
    pub(crate) fn back(&mut self) -> Result<Vec<Kept>, Error> {
        let plan = self.plan;
        let mut kept = Vec::new();
        for (number, entry) in plan.written.iter().enumerate().rev() {
            let old = Plan::old_replaced(self.root, number);
            let is_ours = match self.state(&entry.path, entry.before, Some(&entry.file))? {
                State::New => true,
                State::Torn(found) => {
                    let copy = self.copies.save_for_good(&entry.path, &found)?;
                    kept.push(Kept { path: entry.path.clone(), copy: Some(copy) });
                    true
                }
                State::Foreign => {
                    kept.extend(self.keep(&entry.path, &old)?);
                    false
                }
                State::Old => false,
            };
            if is_ours {
                match entry.before {
                    None => remove_if_there(&self.root.join(entry.path.as_str()))?,
                    Some(_) => self.restore(&entry.path, &old, &plan.temporary(self.root, number))?,
                }
                self.steps.reached(Step::FileRestored);
            }
            remove_if_there(&plan.temporary(self.root, number))?;
            remove_if_there(&Plan::aside(self.root, number))?;
            remove_if_there(&old)?;
        }
        self.remove_new_folders();
        self.make_old_folders()?;
        for (number, entry) in plan.removed.iter().enumerate().rev() {
            let old = Plan::old_removed(self.root, number);
            match self.state(&entry.path, Some(entry.before), None)? {
                State::New => {
                    self.restore(&entry.path, &old, &Plan::spare(self.root, number))?;
                    self.steps.reached(Step::FileRestored);
                }
                State::Torn(_) | State::Foreign => kept.extend(self.keep(&entry.path, &old)?),
                State::Old => {}
            }
        }
        self.sync()?;
        Ok(kept)
    }

    /// Leaves a file to somebody else, and saves what was there before the change began, if the change took it away.
    fn keep(&mut self, path: &SafePath, old: &Path) -> Result<Option<Kept>, Error> {
        let metadata = fs::symlink_metadata(old).ok();
        let found = metadata.and_then(|found| Some((entry::mode_of(&found)?, found)));
        let copy = match found {
            Some((mode, metadata)) => {
                let content = entry::content(old, &metadata).map_err(Error::io("read", old))?;
                Some(self.copies.save_for_good(path, &File::new(content, mode))?)
            }
            None if self.is_turning(path)? => return Ok(None),
            None => None,
        };
        Ok(Some(Kept { path: path.clone(), copy }))
    }

    /// Gives a file back its old content: the file itself where it is kept, else its content from memory.
    fn restore(&mut self, path: &SafePath, old: &Path, temporary: &Path) -> Result<(), Error> {
        let place = self.root.join(path.as_str());
        let failed = || Error::io("restore", &place);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(failed())?;
        }
        if fs::symlink_metadata(old).is_ok() {
            return fs::rename(old, &place).map_err(failed());
        }
        let content: Option<&File> = self.before.and_then(|package| package.get(path));
        let Some(file) = content else { return Err(Error::Lost(place)) };
        remove_if_there(temporary)?;
        let written = entry::write_new(temporary, file, None);
        written.and_then(|()| fs::rename(temporary, &place)).map_err(failed())
    }

    /// Makes the folders again that went with their last file, with the rights that they had.
    fn make_old_folders(&mut self) -> Result<(), Error> {
        for Emptied { path, mode } in &self.plan.emptied {
            let place = self.root.join(path.as_str());
            if is_below_link(self.root, path) || fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            // Nobody gets in before the rights are right.
            fs::DirBuilder::new().mode(0o700).create(&place).map_err(Error::io("restore", &place))?;
            self.steps.reached(Step::FolderCreated);
            let rights = fs::Permissions::from_mode(*mode);
            fs::set_permissions(&place, rights).map_err(Error::io("restore", &place))?;
        }
        Ok(())
    }

    /// Removes the folders that were made for new files, the inner ones first; those that hold something stay.
    fn remove_new_folders(&mut self) {
        for folder in self.plan.made.iter().rev() {
            let _ = fs::remove_dir(self.root.join(folder.as_str()));
        }
    }
}
