//! A file system for one program: a small one in memory, with what the program may see hung into it.

use std::ffi::{CString, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, chown, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, StatVfsMountFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::{NOBODY, Trouble};
use crate::cage::plan::{Plan, Rung};
use crate::cage::{Access, DEVICES, FOLDER, Network, SYSTEM, User, View, is_system};

/// Where the file system of the machine hangs while it is still needed.
const MACHINE: &str = "/.machine";
/// Folders over which the new file system can be hung first; it does not stay there.
const PLACES: &[&str] = &["/tmp", "/run", "/mnt", "/proc"];
/// Files and folders that a program can make.
const MAX_INODES: u32 = 65_536;

/// What is put into the new file system.
enum Entry {
    /// A link of the system, such as `/bin`, and what it says.
    Link(PathBuf, PathBuf),
    Bind {
        source: PathBuf,
        target: PathBuf,
        access: Access,
    },
    Device(PathBuf),
}

/// Gives this process, and those that it will start, a file system of their own, and enters the folder of the program.
pub(super) fn make(plan: &Plan) -> Result<(), Trouble> {
    let entries = entries(plan)?;
    // What is made here can be looked at, whatever our caller is used to.
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).map_err(not_made)?;
    let place = PLACES.iter().map(Path::new).find(|place| place.is_dir());
    let place = place.ok_or_else(|| Trouble::Cage("there is no folder to make a file system in".into()))?;
    let options = format!("size={},nr_inodes={MAX_INODES},mode=0755", plan.max_files);
    let options = CString::new(options).map_err(not_made)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", place, "tmpfs", flags, options.as_c_str()).map_err(not_made)?;
    let machine = place.join(&MACHINE[1..]);
    fs::create_dir(&machine).map_err(not_made)?;
    rustix::process::pivot_root(place, &machine).map_err(not_made)?;
    std::env::set_current_dir("/").map_err(not_made)?;

    for entry in &entries {
        put(entry)?;
    }
    // In some containers this is not allowed; then there is none, rather than that of the machine.
    fs::create_dir_all("/proc").map_err(not_made)?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Root may change the settings of the machine by it, even without any rights; nobody may not, but still has a namespace to enter.
    flags.set(MountFlags::RDONLY, !(plan.rung == Rung::Root && plan.user == User::Nobody));
    let _ = rustix::mount::mount("proc", "/proc", "proc", flags, None);
    links().map_err(not_made)?;
    folders(plan).map_err(not_made)?;

    rustix::mount::unmount(MACHINE, UnmountFlags::DETACH).map_err(not_made)?;
    fs::remove_dir(MACHINE).map_err(not_made)?;
    std::env::set_current_dir(FOLDER).map_err(not_made)
}

fn not_made(cause: impl std::fmt::Display) -> Trouble {
    Trouble::in_step("make a file system for the function")(cause)
}

/// What is to be seen, folders before what is in them.
fn entries(plan: &Plan) -> Result<Vec<Entry>, Trouble> {
    let mut entries = Vec::new();
    for path in SYSTEM.iter().map(PathBuf::from) {
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                let to = path.read_link().map_err(Trouble::in_step("read a link of the system"))?;
                entries.push(Entry::Link(path, to));
            }
            Ok(found) if found.is_dir() => entries.push(bind(&View::of(path))?),
            Ok(_) | Err(_) => {}
        }
    }
    let devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists());
    entries.extend(devices.map(Entry::Device));
    let mut views: Vec<_> = plan.views.iter().filter(|view| !is_there(view)).cloned().collect();
    if plan.network == Network::Host
        && let Ok(names) = fs::canonicalize("/etc/resolv.conf")
        && !is_system(&names)
    {
        views.push(View::of(names));
    }
    views.sort_by_key(|view| view.target.components().count());
    for view in &views {
        entries.push(bind(view)?);
    }
    Ok(entries)
}

/// Whether a view shows what is there anyway.
fn is_there(view: &View) -> bool {
    view.access == Access::Read && view.source == view.target && is_system(&view.target)
}

fn bind(view: &View) -> Result<Entry, Trouble> {
    let (from, to) = (view.source.display(), view.target.display());
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !view.target.components().all(is_plain) || !view.target.is_absolute() || view.target == Path::new("/")
    {
        return Err(Trouble::Request(format!(
            "\"{from}\" cannot be shown as \"{to}\": an absolute path is expected, without \"..\""
        )));
    }
    let source = view
        .source
        .canonicalize()
        .map_err(|cause| Trouble::Request(format!("cannot show \"{from}\": {cause}")))?;
    Ok(Entry::Bind { source, target: view.target.clone(), access: view.access })
}

fn put(entry: &Entry) -> Result<(), Trouble> {
    match entry {
        Entry::Link(path, to) => symlink(to, path).map_err(Trouble::in_step("make a link of the system")),
        Entry::Device(path) => {
            let hung = hang(path, path);
            hung.map_err(|cause| Trouble::Cage(format!("cannot show \"{}\": {cause}", path.display())))
        }
        Entry::Bind { source, target, access } => {
            let hung = hang(source, target).and_then(|()| match access {
                Access::Read => read_only(target),
                Access::Write => Ok(()),
            });
            hung.map_err(|cause| Trouble::Cage(format!("cannot show \"{}\": {cause}", target.display())))
        }
    }
}

/// Hangs something of the machine into the new file system.
fn hang(source: &Path, target: &Path) -> io::Result<()> {
    let source = Path::new(MACHINE).join(source.strip_prefix("/").map_err(io::Error::other)?);
    if !target.exists() {
        if is_on_machine(target) {
            return Err(io::Error::other("there is no such place in the folder that is shown around it"));
        }
        let folder = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(if source.is_dir() { target } else { folder })?;
        if !source.is_dir() {
            File::create(target)?;
        }
    }
    Ok(rustix::mount::mount_bind_recursive(source, target)?)
}

/// Whether the nearest folder that exists was hung in, so that making something in it would change the machine.
fn is_on_machine(target: &Path) -> bool {
    let device = |path: &Path| rustix::fs::stat(path).map(|found| found.st_dev).ok();
    let nearest = target.ancestors().skip(1).find(|path| path.exists());
    nearest.and_then(device) != device(Path::new("/"))
}

/// Makes what hangs at a place read-only, with all that is mounted below it.
fn read_only(target: &Path) -> io::Result<()> {
    let table = fs::read_to_string(Path::new(MACHINE).join("proc/self/mountinfo"))?;
    // The table knows no links.
    let target = target.canonicalize()?;
    remount(&target)?;
    for below in mounted_below(&target, &table) {
        match remount(&below) {
            Ok(()) => {}
            // Something else lies over it, so that nobody gets there.
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}

/// Where something is mounted below a place, by the table of the kernel.
fn mounted_below(target: &Path, table: &str) -> Vec<PathBuf> {
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    places.filter(|place| place != target && place.starts_with(target)).collect()
}

/// A path as the kernel writes it: some bytes are spelled by their number.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let number =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn remount(target: &Path) -> io::Result<()> {
    let now = rustix::fs::statvfs(target)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    // What is forbidden already has to stay so.
    flags.set(MountFlags::NODEV, now.contains(StatVfsMountFlags::NODEV));
    flags.set(MountFlags::NOEXEC, now.contains(StatVfsMountFlags::NOEXEC));
    Ok(rustix::mount::mount_remount(target, flags, "")?)
}

/// The names that shells have for open files.
fn links() -> io::Result<()> {
    symlink("/proc/self/fd", "/dev/fd")?;
    symlink("/proc/self/fd/0", "/dev/stdin")?;
    symlink("/proc/self/fd/1", "/dev/stdout")?;
    symlink("/proc/self/fd/2", "/dev/stderr")
}

/// The folders that the program may write to.
fn folders(plan: &Plan) -> io::Result<()> {
    for folder in [FOLDER, "/tmp"] {
        // There is one already if something that is shown lies in it.
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if plan.rung == Rung::Root && plan.user == User::Nobody {
            chown(folder, Some(NOBODY), Some(NOBODY))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_are_found_as_the_kernel_writes_them() {
        let table = "22 1 0:1 / /shown rw - tmpfs none rw\n\
                     23 22 0:2 / /shown/a\\040b rw - tmpfs none rw\n\
                     24 22 0:3 / /shown/c\\134 rw - tmpfs none rw\n\
                     25 1 0:4 / /shown-not rw - tmpfs none rw\n";
        let places = mounted_below(Path::new("/shown"), table);
        assert_eq!(places, [Path::new("/shown/a b"), Path::new("/shown/c\\")]);
    }
}
