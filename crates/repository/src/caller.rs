//! Who calls, and from where: what a command that somebody typed knows, and a server does not.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who wants something from remotes.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Who can be asked for names and passwords. Without one, nobody is asked, and programs are told so.
    pub person: Option<Arc<dyn Person>>,
    /// The repository that the caller works in. It decides about `includeIf` in Git's configuration.
    pub repository: Option<Whereabouts>,
}

/// Somebody who answers questions.
pub trait Person: Debug + Send + Sync {
    /// Asks, and waits for an answer; `None` where there is none.
    fn ask(&self, question: &str, echo: Echo) -> Option<String>;
}

/// Whether an answer may be seen while it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Yes: a name.
    Shown,
    /// No: a password.
    Hidden,
}

/// A repository on this machine, as far as conditions in Git's configuration go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Its `.git` folder.
    pub git_dir: PathBuf,
    /// The branch that is checked out.
    pub head: Option<gix_ref::FullName>,
}

/// The longest file that says where a `.git` folder is, or which branch is checked out.
const MAX_POINTER: u64 = 64 * 1024;

impl Whereabouts {
    /// The repository whose work tree holds a folder that is an absolute path; nothing is read from its configuration.
    pub fn of(folder: &Path) -> Option<Self> {
        let git_dir = folder.ancestors().find_map(|folder| {
            let git = folder.join(".git");
            let kind = fs::metadata(&git).ok()?;
            if kind.is_dir() {
                return Some(git);
            }
            let text = pointer(&git)?;
            Some(folder.join(text.strip_prefix("gitdir:")?.trim()))
        })?;
        let head = pointer(&git_dir.join("HEAD"));
        let branch = head.as_deref().and_then(|text| text.strip_prefix("ref:")).map(str::trim);
        let head = branch.and_then(|branch| gix_ref::FullName::try_from(branch).ok());
        Some(Self { git_dir, head })
    }
}

fn pointer(path: &Path) -> Option<String> {
    let length = fs::metadata(path).ok()?.len();
    if length > MAX_POINTER { None } else { fs::read_to_string(path).ok() }
}
