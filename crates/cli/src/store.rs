//! `lanai store`: what the server keeps in its data directory.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lanai_store::Jump;
use lanai_store::sqlite::{self, Verified};

use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy the store into a new file, while the server works
    Backup(Backup),
    /// Make a store from a backup, in a data directory that has none
    Restore(Restore),
    /// Read all of a store or backup, and say what does not fit
    Verify(Verify),
    /// Seal all secrets with a new key, while no server has the data directory
    RotateKey(RotateKey),
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to write
    pub file: PathBuf,
    /// The data directory of the server
    #[arg(long, value_name = "FOLDER", visible_alias = "data-dir")]
    pub data: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    pub file: PathBuf,
    /// The data directory to restore into
    #[arg(long, value_name = "FOLDER", visible_alias = "data-dir")]
    pub data: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A data directory, or a backup
    pub path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RotateKey {
    /// The data directory of the server
    #[arg(long, value_name = "FOLDER", visible_alias = "data-dir")]
    pub data: PathBuf,
}

/// Runs one of the commands.
pub(crate) fn run(command: &StoreCommand, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        StoreCommand::Backup(backup) => {
            let target = io.folder.join(&backup.file);
            let verified =
                sqlite::backup(&io.folder.join(&backup.data), &target).map_err(|error| failed(&error))?;
            io.print(&format!("{}: {}\n", backup.file.display(), contents(&verified)))?;
            io.tell("note: the keys of secrets are not in it; keep a copy of \"store.key\" elsewhere");
        }
        StoreCommand::Restore(restore) => {
            let folder = io.folder.join(&restore.data);
            let ahead = Jump::by_chance().map_err(|error| failed(&error))?;
            let restored = sqlite::restore(&io.folder.join(&restore.file), &folder, ahead)
                .map_err(|error| failed(&error))?;
            let place = restore.data.display();
            io.print(&format!(
                "{place}: restored revision {}; the store goes on at {}\n",
                restored.backup, restored.head
            ))?;
            if !folder.join("store.key").exists() {
                io.tell(&format!("note: if there are secrets in it, put \"store.key\" into {place} before the server starts"));
            }
        }
        StoreCommand::Verify(verify) => return check(verify, io),
        StoreCommand::RotateKey(rotate) => {
            sqlite::rotate_key(&io.folder.join(&rotate.data)).map_err(|error| failed(&error))?;
            io.print(&format!("{}: all secrets are sealed with a new key\n", shown(&rotate.data)))?;
            io.tell("note: secrets in backups that were made before open only with the old key; keep a copy of the new \"store.key\" elsewhere");
        }
    }
    Ok(Exit::Success)
}

fn check(verify: &Verify, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let path = io.folder.join(&verify.path);
    let file = if path.is_dir() { path.join("store.db") } else { path };
    if !file.exists() {
        return Err(Failure::of(Code::Store, format!("there is no store at \"{}\"", shown(&verify.path))));
    }
    let verified = sqlite::verify(&file).map_err(|error| failed(&error))?;
    if verified.findings.is_empty() {
        io.print(&format!("{}: whole, {}\n", shown(&verify.path), contents(&verified)))?;
        return Ok(Exit::Success);
    }
    for finding in &verified.findings {
        io.print(&format!("{}: {finding}\n", shown(&verify.path)))?;
    }
    let text =
        format!("\"{}\" is damaged: {} things do not fit", shown(&verify.path), verified.findings.len());
    Err(Failure::of(Code::Store, text)
        .hint("restore a backup into another data directory: lanai store restore BACKUP --data FOLDER"))
}

fn contents(verified: &Verified) -> String {
    format!("{} objects and {} blobs at revision {}", verified.objects, verified.blobs, verified.head)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failed(error: &dyn Error) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    Failure::of(Code::Store, text)
}
