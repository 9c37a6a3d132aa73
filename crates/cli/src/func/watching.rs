//! Rendering again when files change.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lanai_krm::digest;
use lanai_types::TreeId;
use notify::{RecursiveMode, Watcher as _};

use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::pkg::local::{self, Local, Purpose};

/// How long nothing must have changed before it is looked at: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// What work made of the files of a folder.
pub(super) struct Left {
    /// How it ended.
    pub exit: Exit,
    /// What the files are when nobody else changes them.
    pub files: Option<TreeId>,
}

/// Does something now, and again whenever the files of the folder are others than it left them, also when somebody changed them
/// while it was at work. Ends when the folder is gone.
///
/// What fails is told, and tried again with the next change.
pub(super) fn run(
    folder: &Path,
    io: &mut Io<'_>,
    mut work: impl FnMut(&mut Io<'_>) -> Result<Left, Failure>,
) -> Result<Exit, Failure> {
    let cannot = |error: notify::Error| {
        Failure::of(Code::Machine, format!("cannot watch {}: {error}", folder.display()))
    };
    // One that waits says all that several would.
    let (sender, changes) = mpsc::sync_channel(1);
    let mut watcher = notify::recommended_watcher(move |change: notify::Result<notify::Event>| {
        // We look at the files ourselves, which changes nothing.
        if !change.is_ok_and(|change| change.kind.is_access()) {
            // Nobody listens any more when the program ends.
            let _ = sender.try_send(());
        }
    })
    .map_err(cannot)?;
    let root = local::absolute(folder, io)?;
    watcher.watch(&root, RecursiveMode::Recursive).map_err(cannot)?;
    loop {
        let before = state(folder, io);
        let left = match work(io) {
            Ok(left) => left.files,
            Err(Failure::NobodyReads) => return Ok(Exit::Success),
            Err(Failure::Told(message)) => {
                io.tell(&message.to_string());
                before
            }
        };
        while state(folder, io) == left {
            if changes.recv().is_err() || !root.is_dir() {
                return Ok(Exit::Success);
            }
            loop {
                match changes.recv_timeout(QUIET) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Success),
                }
            }
        }
        if !root.is_dir() {
            return Ok(Exit::Success);
        }
    }
}

/// What the files of a folder are; none when they cannot be read.
fn state(folder: &Path, io: &mut Io<'_>) -> Option<TreeId> {
    let local = Local::open(folder, Purpose::Look, io).ok()?;
    digest::tree_id(&local.package).ok()
}
