//! Repositories of our own: made, and moved from state to state by one rename.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use lanai_types::RefName;

use super::push::Command;
use crate::mirror::failed;
use crate::tree::{git_id, our_id};
use crate::{Error, RemoteUrl};

/// What became of commands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// All refs are where they should be.
    Done,
    /// These are not where they were expected; nothing was changed.
    Moved(Vec<RefName>),
    /// Somebody else holds a lock of Git; nothing was changed.
    Busy(PathBuf),
}

/// The file that keeps processes of ours apart.
const GUARD: &str = "lanai.guard";

/// All locks that we hold are hard links to this file, and it names them.
const LOCKS: &str = "lanai.locks";

/// Makes an empty bare repository in a folder that is not there yet, and gives its address.
///
/// # Errors
/// When the folder is there, or cannot be written.
pub fn create_at(folder: &Path, branch: &str) -> Result<RemoteUrl, Error> {
    create(folder, branch).map_err(failed("cannot make the repository", folder))?;
    let address = format!("file://{}", folder.display());
    address.parse().map_err(|cause: crate::url::Error| Error::File {
        what: "cannot use the address of",
        path: folder.to_owned(),
        cause: cause.to_string(),
    })
}

/// Makes an empty bare repository; it is there as a whole or not at all.
pub(crate) fn create(folder: &Path, branch: &str) -> io::Result<()> {
    let parent = folder.parent().ok_or_else(|| io::Error::other("it has no parent"))?;
    fs::create_dir_all(parent)?;
    if folder.exists() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    let new = tempfile::TempDir::with_prefix_in(".new-", parent)?;
    for below in ["objects/pack", "objects/info", "refs/heads", "refs/tags", "hooks", "info"] {
        fs::create_dir_all(new.path().join(below))?;
    }
    fs::write(new.path().join("HEAD"), format!("ref: refs/heads/{branch}\n"))?;
    let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
    fs::write(new.path().join("config"), config)?;
    fs::write(new.path().join("packed-refs"), HEADER)?;
    let path = new.keep();
    fs::rename(&path, folder).inspect_err(|_| {
        let _ = fs::remove_dir_all(&path);
    })
}

const HEADER: &str = "# pack-refs with: peeled fully-peeled sorted \n";

/// Keeps our own processes from changing refs while they are listed.
pub(crate) fn look(folder: &Path) -> io::Result<File> {
    let guard = guard(folder)?;
    guard.lock_shared()?;
    Ok(guard)
}

/// Keeps all our other processes away.
pub(crate) fn work(folder: &Path) -> io::Result<File> {
    let guard = guard(folder)?;
    guard.lock()?;
    Ok(guard)
}

fn guard(folder: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).read(true).open(folder.join(GUARD))
}

/// Moves all refs, or none. `peel` says what a tag object is about.
pub(crate) fn swap(
    folder: &Path,
    commands: &[Command],
    peel: &dyn Fn(ObjectId) -> Option<ObjectId>,
) -> io::Result<Swap> {
    let guard = guard(folder)?;
    guard.lock()?;
    clear(folder)?;
    let mut paths: Vec<_> =
        commands.iter().map(|command| folder.join(format!("{}.lock", command.name))).collect();
    paths.push(folder.join("packed-refs.lock"));
    let locked = lock(folder, &paths)?;
    let result = match locked {
        Some(held) => Ok(Swap::Busy(held)),
        None => swap_locked(folder, commands, peel),
    };
    clear(folder)?;
    result
}

/// Takes Git's locks; one that somebody else holds is named.
fn lock(folder: &Path, paths: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let mut list = String::new();
    for path in paths {
        list.push_str(&path.strip_prefix(folder).unwrap_or(path).to_string_lossy());
        list.push('\n');
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(list.as_bytes())?;
    file.as_file().sync_data()?;
    file.persist(folder.join(LOCKS))?;
    for path in paths {
        if let Some(parent) = path.parent() {
            match fs::create_dir_all(parent) {
                // A ref stands where a folder must be; the compare says so.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) if cause.kind() == io::ErrorKind::NotADirectory => continue,
                result => result?,
            }
        }
        match fs::hard_link(folder.join(LOCKS), path) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Ok(Some(path.clone())),
            Err(cause) => return Err(cause),
        }
    }
    Ok(None)
}

/// Removes our locks, also those that a killed process left; never those of others.
fn clear(folder: &Path) -> io::Result<()> {
    let list = folder.join(LOCKS);
    let Ok(text) = fs::read_to_string(&list) else { return Ok(()) };
    let ours = fs::metadata(&list)?;
    for line in text.lines() {
        let path = folder.join(line);
        let is_ours = fs::symlink_metadata(&path)
            .is_ok_and(|found| found.ino() == ours.ino() && found.dev() == ours.dev());
        if is_ours {
            fs::remove_file(&path)?;
        }
        // Folders that we made for a lock; others that are empty are as good as gone.
        let mut parent = path.parent();
        while let Some(empty) =
            parent.filter(|parent| parent.components().count() > folder.components().count() + 2)
        {
            if fs::remove_dir(empty).is_err() {
                break;
            }
            parent = empty.parent();
        }
    }
    fs::remove_file(&list)
}

/// A ref in `packed-refs`, and what the tag that it may be is about.
#[derive(Clone, Copy)]
struct Packed {
    id: ObjectId,
    about: Option<ObjectId>,
}

type All = BTreeMap<String, Packed>;

fn swap_locked(
    folder: &Path,
    commands: &[Command],
    peel: &dyn Fn(ObjectId) -> Option<ObjectId>,
) -> io::Result<Swap> {
    let mut all = read_packed(folder)?;
    let mut loose = Vec::new();
    for command in commands {
        let path = folder.join(command.name.as_str());
        match fs::read_to_string(&path) {
            Ok(text) => {
                let id = ObjectId::from_hex(text.trim_end().as_bytes()).map_err(io::Error::other)?;
                all.insert(command.name.to_string(), Packed { id, about: peel(id) });
                loose.push(path);
            }
            Err(cause) if is_absent(&cause) => {}
            Err(cause) => return Err(cause),
        }
    }
    let names: BTreeSet<String> = all.keys().cloned().collect();
    let mut moved = Vec::new();
    for command in commands {
        let found = all.get(command.name.as_str()).map(|packed| our_id(packed.id));
        let is_blocked = command.new.is_some()
            && found.is_none()
            && is_in_the_way(folder, &names, commands, &command.name);
        if found != command.old || is_blocked {
            moved.push(command.name.clone());
        }
    }
    if !moved.is_empty() {
        return Ok(Swap::Moved(moved));
    }
    if !loose.is_empty() {
        // First the same values in the other place: nobody sees a difference.
        write_packed(folder, &all)?;
        for path in loose {
            fs::remove_file(path)?;
        }
    }
    for command in commands {
        match command.new {
            Some(new) => {
                let id = git_id(new).map_err(|_| io::Error::other("an id of another kind"))?;
                all.insert(command.name.to_string(), Packed { id, about: peel(id) });
            }
            None => {
                all.remove(command.name.as_str());
            }
        }
    }
    write_packed(folder, &all)?;
    Ok(Swap::Done)
}

fn is_absent(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// Whether a ref stands where a new one needs a folder, or the other way round.
fn is_in_the_way(folder: &Path, names: &BTreeSet<String>, commands: &[Command], name: &RefName) -> bool {
    let goes =
        |other: &str| commands.iter().any(|command| command.name.as_str() == other && command.new.is_none());
    let below = format!("{name}/");
    let mut above = names.range(below.clone()..).take_while(|next| next.starts_with(&below));
    let is_above = above.any(|next| !goes(next)) || has_others(folder, &folder.join(name.as_str()), &goes);
    let mut parent = name.as_str();
    while let Some((above, _)) = parent.rsplit_once('/') {
        let is_ref = names.contains(above) || folder.join(above).is_file();
        if is_ref && !goes(above) {
            return true;
        }
        parent = above;
    }
    is_above
}

/// Whether a folder of refs has files in it, others than locks and those that go.
fn has_others(root: &Path, folder: &Path, goes: &dyn Fn(&str) -> bool) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return has_others(root, &path, goes);
        }
        let name = path.strip_prefix(root).ok().and_then(Path::to_str).unwrap_or_default();
        path.extension().is_none_or(|end| end != "lock") && !goes(name)
    })
}

fn read_packed(folder: &Path) -> io::Result<All> {
    let text = match fs::read_to_string(folder.join("packed-refs")) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(cause),
    };
    let mut all: All = BTreeMap::new();
    let mut last = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let id = |text: &str| ObjectId::from_hex(text.as_bytes()).map_err(io::Error::other);
        if let Some(about) = line.strip_prefix('^') {
            if let Some(packed) = last.as_ref().and_then(|last: &String| all.get_mut(last)) {
                packed.about = Some(id(about)?);
            }
        } else if let Some((digits, name)) = line.split_once(' ') {
            all.insert(name.to_owned(), Packed { id: id(digits)?, about: None });
            last = Some(name.to_owned());
        }
    }
    Ok(all)
}

fn write_packed(folder: &Path, all: &All) -> io::Result<()> {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64 + all.len() * 80);
    text.push_str(HEADER);
    for (name, packed) in all {
        let _ = writeln!(text, "{} {name}", packed.id);
        if let Some(about) = packed.about {
            let _ = writeln!(text, "^{about}");
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_data()?;
    file.persist(folder.join("packed-refs"))?;
    File::open(folder)?.sync_data()
}
