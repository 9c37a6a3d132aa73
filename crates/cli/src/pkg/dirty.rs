//! Files whose content is recorded nowhere.
//!
//! Git is asked for the ids of what is committed, and not whether it sees a change: it can be told to look away
//! (`--skip-worktree`, `--assume-unchanged`), and it trusts times. A file counts as recorded when that is proved.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, Scope, ScopedJoinHandle};

use lanai_krm::Package;
use lanai_krm::digest::blob_id;
use lanai_krm::package::{Diff, File, Mode};
use lanai_process::{Command, Error, Finished, Limits};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use super::local;
use crate::failure::{Code, Failure};
use crate::io::Io;

/// How many files one run of git is asked about.
const AT_ONCE: usize = 200;

/// How to go about files whose content is recorded nowhere.
pub(super) enum Care<'scope> {
    /// Refuse to change what git does not have.
    Refuse(Asked<'scope>),
    SaveCopies,
}

/// A question to git that is being answered.
pub(super) struct Asked<'scope> {
    git: &'scope Git,
    answer: ScopedJoinHandle<'scope, Result<Option<HashMap<SafePath, Committed>>, Failure>>,
}

/// Makes sure that no content gets lost: refuses, or saves copies of all files that are to change.
///
/// # Errors
/// When files would change whose content is recorded nowhere; when copies cannot be saved.
pub(super) fn guard(
    root: &Path,
    before: &Package,
    diff: &Diff,
    care: Care<'_>,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let at_risk: Vec<&SafePath> = diff.changed.iter().chain(&diff.removed).collect();
    if at_risk.is_empty() {
        return Ok(());
    }
    let asked = match care {
        Care::Refuse(asked) => asked,
        Care::SaveCopies => return save(root, before, diff, io),
    };
    let hint = "--force does it after saving copies of these files elsewhere";
    let Asked { git, answer } = asked;
    let Some(committed) = answer.join().unwrap_or_else(|panic| resume_unwind(panic))? else {
        return Err(Failure::of(
            Code::Uncommitted,
            format!(
                "package {} is not in git, and {} would change",
                Quoted(&root.display().to_string()),
                list(&at_risk)
            ),
        )
        .hint(format!("put it under git, so that you can go back; {hint}")));
    };
    let dirty = git.unrecorded(before, at_risk, &committed)?;
    if dirty.is_empty() {
        return Ok(());
    }
    Err(Failure::of(
        Code::Uncommitted,
        format!("changes in {} are not committed and would be changed further", list(&dirty)),
    )
    .hint(format!("commit them first; {hint}")))
}

fn save(root: &Path, before: &Package, diff: &Diff, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut copies = local::copies(root, io);
    copies.save(before, diff.changed.iter().chain(&diff.removed)).map_err(local::failure)?;
    if let Some(folder) = copies.folder() {
        let count = diff.changed.len() + diff.removed.len();
        io.tell(&format!("saved copies of {count} file(s) in {}", folder.display()));
    }
    Ok(())
}

/// A few names, and how many more there are.
fn list(paths: &[&SafePath]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = paths.iter().take(SHOWN).map(|path| Quoted(path.as_str()).to_string()).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// What the last commit has of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Committed {
    /// As git writes it: `100644`, `100755`, `120000`.
    mode: String,
    id: String,
}

/// Git, asked about the folder of a package.
pub(super) struct Git {
    root: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Git {
    pub fn new(root: &Path, io: &Io<'_>) -> Self {
        Self { root: root.into(), environment: io.environment.clone() }
    }

    /// Asks, beside what else there is to do.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn ask<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<Asked<'scope>, Failure> {
        let thread = thread::Builder::new().name("lanai-git".into());
        let answer = thread.spawn_scoped(scope, || self.committed());
        let answer =
            answer.map_err(|error| Failure::of(Code::Machine, format!("cannot start a thread: {error}")))?;
        Ok(Asked { git: self, answer })
    }

    /// What the last commit has below the folder, by path from there; `None` when that is in no work tree of git.
    fn committed(&self) -> Result<Option<HashMap<SafePath, Committed>>, Failure> {
        let told = match self.run(&["rev-parse", "--is-inside-work-tree", "HEAD^{commit}"]) {
            Ok(told) => told,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error.to_string())),
        };
        // The first question is answered before the second one fails.
        if !told.output.starts_with(b"true\n") {
            return Ok(None);
        }
        if !told.status.is_success() {
            // Nothing was ever committed.
            return Ok(Some(HashMap::new()));
        }
        Ok(Some(entries(&self.output(&["ls-tree", "-r", "-z", "HEAD"])?)))
    }

    /// The files among `paths` whose content the commit does not have.
    fn unrecorded<'p>(
        &self,
        before: &Package,
        paths: Vec<&'p SafePath>,
        committed: &HashMap<SafePath, Committed>,
    ) -> Result<Vec<&'p SafePath>, Failure> {
        let mut unclear = Vec::new();
        let mut dirty = Vec::new();
        for path in paths {
            let Some(file) = before.get(path) else { continue };
            match committed.get(path) {
                Some(known) if self.has_mode(file, known)? => match blob_id(file.content()) {
                    Ok(id) if id.to_string() == known.id => {}
                    Ok(_) | Err(_) if file.mode() == Mode::Symlink => dirty.push(path),
                    Ok(_) | Err(_) => unclear.push((path, known)),
                },
                Some(_) | None => dirty.push(path),
            }
        }
        // What is committed may have other bytes than the file: line ends, files that are kept elsewhere, other digests.
        for some in unclear.chunks(AT_ONCE) {
            let names: Vec<&str> = some.iter().map(|(path, _)| path.as_str()).collect();
            let ids = self.output(&[&["hash-object", "--"], names.as_slice()].concat())?;
            let mut ids = ids.split(|byte| *byte == b'\n');
            let changed = some.iter().filter(|(_, known)| ids.next() != Some(known.id.as_bytes()));
            dirty.extend(changed.map(|(path, _)| *path));
        }
        dirty.sort();
        Ok(dirty)
    }

    /// Whether a file is what the commit says: a link, a program, or neither.
    fn has_mode(&self, file: &File, known: &Committed) -> Result<bool, Failure> {
        if file.mode().git() == known.mode {
            return Ok(true);
        }
        if file.mode() == Mode::Symlink || known.mode == Mode::Symlink.git() {
            return Ok(false);
        }
        // Where disks do not know which files are programs, git does not look.
        let told = self.run(&["config", "--type=bool", "--get", "core.fileMode"]);
        Ok(told.map_err(|error| self.failed(&error.to_string()))?.output.trim_ascii() == b"false")
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let told = self.run(arguments).map_err(|error| self.failed(&error.to_string()))?;
        if told.status.is_success() { Ok(told.output) } else { Err(self.failed(told.messages.trim())) }
    }

    fn run(&self, arguments: &[&str]) -> Result<Finished, Error> {
        let command = Command::new("git").folder(&self.root).variables(&self.environment);
        let command = arguments.iter().fold(command, |command, argument| command.argument(*argument));
        command.run(&[], &Limits::default(), |_| ())
    }

    fn failed(&self, why: &str) -> Failure {
        let root = self.root.display().to_string();
        Failure::of(Code::Uncommitted, format!("cannot ask git about {}: {why}", Quoted(&root)))
            .hint("--force does it without asking, after saving copies elsewhere")
    }
}

/// The files of `git ls-tree -z`: `MODE TYPE ID`, a tab and the path, each with a NUL behind it. Paths that no package
/// can have are left out: no file of a package is recorded by them.
fn entries(output: &[u8]) -> HashMap<SafePath, Committed> {
    let one = |record: &[u8]| {
        let (facts, path) = std::str::from_utf8(record).ok()?.split_once('\t')?;
        let mut facts = facts.split(' ');
        let (mode, _, id) = (facts.next()?, facts.next()?, facts.next()?);
        Some((path.parse().ok()?, Committed { mode: mode.into(), id: id.into() }))
    };
    output.split(|byte| *byte == 0).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read() {
        let output =
            b"100644 blob 1234\tKptfile\x00120000 blob ab\ta/new file\x00100644 blob 1\tno\xfftext\0";
        let entries = entries(output);
        let known = |mode: &str, id: &str| Committed { mode: mode.into(), id: id.into() };
        let expected = [("Kptfile", known("100644", "1234")), ("a/new file", known("120000", "ab"))];
        assert_eq!(entries, expected.map(|(path, known)| (path.parse().unwrap(), known)).into());
    }
}
