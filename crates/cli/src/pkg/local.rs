//! The package on disk.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lanai_folder::{Applied, Copies, OddKind, Recovery, Unfinished};
use lanai_krm::Package;
use lanai_krm::package::{File, Mode};
use lanai_types::quote::Quoted;
use lanai_types::{ByteSize, Limits, SafePath};

use crate::failure::{Code, Failure, cause};
use crate::io::Io;
use crate::stop::Held;

/// A package on disk, as it was read.
#[derive(Debug)]
pub(crate) struct Local {
    /// Its folder, from the root of the disk.
    pub root: PathBuf,
    pub package: Package,
    /// The right to change it, where that was asked for.
    lock: Option<Held>,
}

/// What a package may have: more than a server takes, because it is the user's own.
pub(crate) const LIMITS: Limits = Limits { max_stream: ByteSize::gib(2), ..Limits::DEFAULT };

/// What is to be done with a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Look,
    Change(&'static str),
}

impl Local {
    /// Opens a package. To change it, what a killed command left behind is finished first; to look at it, nothing is
    /// written, and such a change is seen as finished.
    ///
    /// # Errors
    /// When the folder is not there or cannot be read; to change it, when somebody else does.
    pub fn open(path: &Path, purpose: Purpose, io: &mut Io<'_>) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let cannot = |why: &str| Failure::of(Code::File, format!("cannot open {}: {why}", Quoted(&shown)));
        let root = match fs::canonicalize(absolute(path, io)?) {
            Ok(root) if root.is_dir() => root,
            Ok(_) => return Err(cannot("it is no folder")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(cannot("there is no such folder"));
            }
            Err(error) => return Err(cannot(&cause(&error))),
        };
        match purpose {
            Purpose::Look => Self::look(root, io),
            Purpose::Change(who) => Self::take(root, who, io),
        }
    }

    /// Opens a file as a package that has nothing else, in the folder that it is in; through links, the one that they lead to.
    ///
    /// # Errors
    /// As for [`open`](Self::open); and when the file is too large.
    pub fn open_file(path: &Path, purpose: Purpose, io: &mut Io<'_>) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let cannot = |why: &str| Failure::of(Code::File, format!("cannot open {}: {why}", Quoted(&shown)));
        let real = fs::canonicalize(absolute(path, io)?).map_err(|error| cannot(&cause(&error)))?;
        let (root, name) = (real.parent().unwrap_or(Path::new("/")).to_path_buf(), base(&real));
        let name: SafePath =
            name.parse().map_err(|error: lanai_types::safe_path::Error| cannot(&error.to_string()))?;
        let lock = match purpose {
            Purpose::Change(who) => {
                recover(&root, io)?;
                Some(lock(&root, who, io)?)
            }
            // What is half done is seen as done.
            Purpose::Look if root.join(lanai_folder::STATE_FOLDER).is_dir() => {
                let whole = Self::look(root, io)?;
                let mut package = Package::new(LIMITS);
                if let Some(file) = whole.package.get(&name) {
                    package.insert(name, file.clone()).map_err(|error| cannot(&error.to_string()))?;
                }
                return Ok(Self { package, ..whole });
            }
            Purpose::Look => None,
        };
        let mut package = Package::new(LIMITS);
        let metadata = fs::metadata(&real).map_err(|error| cannot(&cause(&error)))?;
        let limit = package.max_bytes(&name);
        if !limit.admits(usize::try_from(metadata.len()).unwrap_or(usize::MAX)) {
            return Err(cannot(&format!("it is larger than the {limit} that are allowed")));
        }
        let content = fs::read(&real).map_err(|error| cannot(&cause(&error)))?;
        let is_program = metadata.permissions().mode() & 0o100 != 0;
        let mode = if is_program { Mode::Executable } else { Mode::Regular };
        package.insert(name, File::new(content, mode)).map_err(|error| cannot(&error.to_string()))?;
        Ok(Self { root, package, lock })
    }

    fn look(root: PathBuf, io: &mut Io<'_>) -> Result<Self, Failure> {
        let view = lanai_folder::view(&root, LIMITS).map_err(failure)?;
        for unfinished in &view.unfinished {
            tell_unfinished(unfinished, io);
        }
        Ok(Self { root, package: view.package, lock: None })
    }

    fn take(root: PathBuf, who: &str, io: &mut Io<'_>) -> Result<Self, Failure> {
        recover(&root, io)?;
        let mut contents = lanai_folder::read(&root, LIMITS).map_err(failure)?;
        let inner = contents.odd.iter().filter(|odd| odd.kind == OddKind::Unfinished);
        let inner: Vec<PathBuf> = inner.filter_map(|odd| odd.path.parent().map(Path::to_path_buf)).collect();
        let inner: Vec<&PathBuf> = inner.iter().filter(|folder| **folder != root).collect();
        if !inner.is_empty() {
            for folder in inner {
                recover(folder, io)?;
            }
            contents = lanai_folder::read(&root, LIMITS).map_err(failure)?;
        }
        // Behind the recoveries, which lock what they finish. What somebody changes meanwhile is noticed by the writing.
        let lock = Some(lock(&root, who, io)?);
        Ok(Self { root, package: contents.package, lock })
    }

    /// The name of the folder.
    pub fn name(&self) -> String {
        base(&self.root)
    }

    /// Makes the files on disk those of `after`. Without the right to change them, nothing happens.
    ///
    /// # Errors
    /// When a file was changed meanwhile, and when the system refuses.
    pub fn write(&self, after: &Package, io: &mut Io<'_>) -> Result<(), Failure> {
        let Some(lock) = self.lock.as_ref().and_then(Held::lock) else { return Ok(()) };
        let _busy = io.stop.busy();
        let mut copies = copies(&self.root, io);
        let applied = lanai_folder::apply(lock, &self.package, after, &mut copies, &mut ())
            .map_err(|error| unfinished(&self.root, failure(error)))?;
        tell_kept(&self.root, &applied, io);
        Ok(())
    }
}

/// Makes a new folder, or fills an empty one.
pub(crate) fn create(root: &Path, package: &Package, io: &mut Io<'_>) -> Result<(), Failure> {
    if !root.is_dir() {
        let _busy = io.stop.busy();
        return lanai_folder::create(root, package).map_err(failure);
    }
    let empty = Package::new(*package.limits());
    let local = Local { root: root.into(), package: empty, lock: Some(lock(root, "lanai pkg get", io)?) };
    local.write(package, io)
}

fn lock(root: &Path, who: &str, io: &Io<'_>) -> Result<Held, Failure> {
    let who = format!("\"{who}\" (process {})", std::process::id());
    let _busy = io.stop.busy();
    lanai_folder::lock(root, &who).map(|lock| io.stop.hold(lock)).map_err(failure)
}

/// What finishes a change that was interrupted.
const FINISHER: &str = "the next command that changes the package";

/// Says what helps where a change was begun and cannot be finished.
fn unfinished(root: &Path, failure: Failure) -> Failure {
    let state = root.join(lanai_folder::STATE_FOLDER);
    if !state.join("journal").exists() {
        return failure;
    }
    let state = state.display().to_string();
    failure.hint(format!(
        "see that the files can be written: the next command that changes the package finishes the change or takes it back; \
         to keep all as it is now, remove {}",
        Quoted(&state)
    ))
}

/// Finishes what a killed command left behind, and says so.
fn recover(root: &Path, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut copies = copies(root, io);
    let busy = io.stop.busy();
    let recovered = lanai_folder::recover(root, &mut copies, &mut ());
    drop(busy);
    match recovered.map_err(|error| unfinished(root, failure(error)))? {
        Recovery::Nothing => {}
        Recovery::Foreign(journal) => {
            let hint = format!(
                "restore its files, then remove the folder of the journal ({})",
                lanai_folder::STATE_FOLDER
            );
            return Err(Failure::of(Code::File, foreign(&journal)).hint(hint));
        }
        Recovery::Undone => {
            io.tell("note: a command was interrupted here before it changed anything; its plan was dropped");
        }
        Recovery::Finished(applied) => {
            io.tell("note: a command was interrupted here; its changes have been finished");
            tell_kept(root, &applied, io);
        }
    }
    Ok(())
}

/// Says what those should know who only look.
fn tell_unfinished(unfinished: &Unfinished, io: &mut Io<'_>) {
    let shown = |path: &Path| Quoted(&path.display().to_string()).to_string();
    io.tell(&match unfinished {
        Unfinished::Working { root, holder } => {
            format!("note: {} is being changed by {holder}; shown is what comes out", shown(root))
        }
        Unfinished::Interrupted { root } => format!(
            "note: a command was interrupted in {}; shown is what comes out when {FINISHER} finishes it",
            shown(root)
        ),
        Unfinished::Planned { root } => format!(
            "note: a command was interrupted in {} before it changed anything; {FINISHER} drops its plan",
            shown(root)
        ),
        Unfinished::Foreign { journal } => format!("note: {}", foreign(journal)),
        Unfinished::Strange { path } => {
            format!("note: {} is not what the program keeps there, and was not looked at", shown(path))
        }
    });
}

fn foreign(journal: &Path) -> String {
    format!(
        "{} was made for another folder, or by another version of the program: the package may be half changed",
        Quoted(&journal.display().to_string())
    )
}

fn tell_kept(root: &Path, applied: &Applied, io: &mut Io<'_>) {
    if let Some(cause) = &applied.untidy {
        io.tell(&format!(
            "note: all files are changed, but {cause}; the next command that changes the package tidies up"
        ));
    }
    for replaced in &applied.replaced {
        let path = root.join(replaced.path.as_str()).display().to_string();
        let copy = replaced.copy.display().to_string();
        io.tell(&format!(
            "note: {} was cut short and is whole now; what was there is in {}",
            Quoted(&path),
            Quoted(&copy)
        ));
    }
    for kept in &applied.kept {
        let path = root.join(kept.path.as_str());
        let path = Quoted(&path.display().to_string()).to_string();
        match &kept.copy {
            Some(copy) => {
                let copy = copy.display().to_string();
                io.tell(&format!(
                    "note: {path} was changed by somebody else and stays; what it was to become is in {}",
                    Quoted(&copy)
                ));
            }
            None => {
                io.tell(&format!(
                    "note: {path} was changed by somebody else and stays; it was to be removed"
                ));
            }
        }
    }
}

/// A path from the root of the disk; what it names need not be there.
pub(crate) fn absolute(path: &Path, io: &Io<'_>) -> Result<PathBuf, Failure> {
    let joined = io.folder.join(path);
    let joined = if joined.as_os_str().is_empty() { PathBuf::from(".") } else { joined };
    std::path::absolute(&joined).map_err(|error| {
        Failure::of(Code::File, format!("cannot find {}: {error}", Quoted(&path.display().to_string())))
    })
}

/// The last part of a path.
pub(crate) fn base(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("/")).to_string_lossy().into_owned()
}

/// Where copies of the files of a package go: never into the package.
pub(crate) fn copies(root: &Path, io: &Io<'_>) -> Copies {
    let beside = root.parent().unwrap_or(root).join(".lanai-saved");
    let temporary = io.environment.get(OsStr::new("TMPDIR")).map_or_else(|| "/tmp".into(), PathBuf::from);
    let copies = match state(root, io).map(|state| state.join("saved")) {
        Some(place) => Copies::new(place, base(root)).or_in(beside),
        None => Copies::new(beside, base(root)),
    };
    copies.or_in(temporary)
}

/// The folder for what outlives a command and is no part of a package; none where the user has no such folder outside of the
/// package.
pub(crate) fn state(root: &Path, io: &Io<'_>) -> Option<PathBuf> {
    let variable = |name: &str| io.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| variable("HOME").map(|home| Path::new(home).join(".local/state")));
    let state = state.filter(|state| state.is_absolute()).map(|state| state.join("lanai"));
    state.filter(|state| !state.starts_with(root))
}

/// An error of a folder, with what helps.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failure(error: lanai_folder::Error) -> Failure {
    use lanai_folder::Error;
    let failure = Failure::of(Code::File, error.to_string());
    match error {
        Error::Locked { .. } => failure.hint("wait until that is done"),
        Error::Changed { .. } => failure.hint("do it again"),
        _ => failure,
    }
}
