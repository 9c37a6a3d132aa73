//! The points at which a process can be killed.

/// What was just done to a folder. Between any two of them a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The journal is there and empty.
    JournalCreated,
    /// A part of the journal is written.
    JournalHalfWritten,
    /// All of the journal is written, and may be lost in a power cut.
    JournalWritten,
    /// The journal is on the disk: from here on the change will be made.
    JournalSynced,
    /// A file was removed.
    FileRemoved,
    /// A folder that became empty was removed.
    FolderRemoved,
    /// A folder was made.
    FolderCreated,
    /// A new file is there, under another name.
    TemporaryWritten,
    /// A file that is to be replaced has a second name.
    OldKept,
    /// A new file got its own name.
    FileRenamed,
    /// A change that failed is being taken back: a file is as it was.
    FileRestored,
    /// Everything is on the disk.
    Synced,
    /// Something that was kept to take the change back is gone.
    OldForgotten,
    /// The journal is gone: the change was made, or taken back.
    JournalRemoved,
}

/// Is told of every step, right after it. Tests kill the process there.
pub trait Steps {
    /// The step was done.
    fn reached(&mut self, step: Step);
}

/// Nobody needs to know.
impl Steps for () {
    fn reached(&mut self, _step: Step) {}
}

impl<F: FnMut(Step)> Steps for F {
    fn reached(&mut self, step: Step) {
        self(step);
    }
}
