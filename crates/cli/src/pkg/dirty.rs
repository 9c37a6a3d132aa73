//! Files whose content is recorded nowhere.

use std::path::Path;

use lanai_krm::Package;
use lanai_krm::package::Diff;
use lanai_process::{Command, Error, Limits};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use super::local;
use crate::failure::Failure;
use crate::io::Io;

/// Who keeps what files held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Git; but not of these files, which have changes that are not committed.
    Git(Vec<SafePath>),
    /// Nobody: the package is in no work tree of Git.
    Nobody,
}

/// How to go about files whose content is recorded nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    Refuse,
    SaveCopies,
}

/// Makes sure that no content gets lost: refuses, or saves copies of all files that are to change.
///
/// # Errors
/// When files would change whose content is recorded nowhere; when copies cannot be saved.
pub(super) fn guard(
    root: &Path,
    before: &Package,
    diff: &Diff,
    care: Care,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let at_risk: Vec<&SafePath> = diff.changed.iter().chain(&diff.removed).collect();
    if at_risk.is_empty() {
        return Ok(());
    }
    if care == Care::SaveCopies {
        let mut copies = local::copies(root, io);
        copies.save(before, at_risk).map_err(local::failure)?;
        if let Some(folder) = copies.folder() {
            io.tell(&format!(
                "saved copies of {} file(s) in {}",
                diff.changed.len() + diff.removed.len(),
                folder.display()
            ));
        }
        return Ok(());
    }
    let hint = "--force does it after saving copies of these files elsewhere";
    match record(root, io)? {
        Record::Nobody => Err(Failure::new(format!(
            "package {} is not in git, and {} would change",
            Quoted(&root.display().to_string()),
            list(&at_risk)
        ))
        .hint(format!("put it under git, so that you can go back; {hint}"))),
        Record::Git(dirty) => {
            let dirty: Vec<&SafePath> = at_risk.into_iter().filter(|path| covers(&dirty, path)).collect();
            if dirty.is_empty() {
                return Ok(());
            }
            Err(Failure::new(format!(
                "changes in {} are not committed and would be changed further",
                list(&dirty)
            ))
            .hint(format!("commit them first; {hint}")))
        }
    }
}

fn covers(dirty: &[SafePath], path: &SafePath) -> bool {
    dirty.iter().any(|dirty| path.starts_with(dirty))
}

/// A few names, and how many more there are.
fn list(paths: &[&SafePath]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = paths.iter().take(SHOWN).map(|path| Quoted(path.as_str()).to_string()).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// Asks git what it does not have.
fn record(root: &Path, io: &Io<'_>) -> Result<Record, Failure> {
    let git = |arguments: &[&str]| {
        let command = Command::new("git").folder(root).variables(&io.environment);
        let command = arguments.iter().fold(command, |command, argument| command.argument(*argument));
        command.run(&[], &Limits::default(), |_| ())
    };
    let failed = |why: String| {
        let root = root.display().to_string();
        Failure::new(format!("cannot ask git about {}: {why}", Quoted(&root)))
            .hint("--force does it without asking, after saving copies elsewhere")
    };
    let prefix = match git(&["rev-parse", "--show-prefix"]) {
        Ok(told) if told.status.is_success() => told.output,
        Ok(_) | Err(Error::NotFound { .. }) => return Ok(Record::Nobody),
        Err(error) => return Err(failed(error.to_string())),
    };
    let prefix = String::from_utf8_lossy(&prefix).trim_end_matches('\n').to_owned();
    let options =
        ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames"];
    let told = git(&[&options[..], &["--", "."]].concat()).map_err(|error| failed(error.to_string()))?;
    if !told.status.is_success() {
        return Err(failed(told.messages.trim().to_owned()));
    }
    Ok(Record::Git(entries(&told.output, &prefix)))
}

/// The paths of `git status -z`, seen from the package; `XY path`, each with a NUL behind it.
fn entries(output: &[u8], prefix: &str) -> Vec<SafePath> {
    let records = output.split(|byte| *byte == 0).filter_map(|record| record.get(3..));
    let paths = records.filter_map(|path| std::str::from_utf8(path).ok());
    let inside = paths.filter_map(|path| path.strip_prefix(prefix));
    inside.filter_map(|path| path.trim_end_matches('/').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read() {
        let output = b" M a/b/Kptfile\0?? a/b/new file\0!! a/b/out/\0 M a/other\0";
        let paths: Vec<SafePath> = ["Kptfile", "new file", "out"].map(|path| path.parse().unwrap()).into();
        assert_eq!(entries(output, "a/b/"), paths);
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it() {
        let safe = |path: &str| path.parse::<SafePath>().unwrap();
        assert!(covers(&[safe("out")], &safe("out/a")));
        assert!(!covers(&[safe("out")], &safe("outer")));
    }
}
