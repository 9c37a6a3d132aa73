//! How much memory a program takes, with all that it started.
//!
//! The limits of the kernel are for one process, and do not know memory that is shared or that only a descriptor holds. So whoever runs a
//! program looks at its processes from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use lanai_types::ByteSize;

/// How long nobody looks, at least.
const PAUSE: Duration = Duration::from_millis(50);
/// Looking takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// The unit of the sizes that `stat` tells.
const BLOCK: u64 = 512;

/// Looks at the memory of a tree of processes.
pub(crate) struct Memory {
    limit: ByteSize,
    /// The process at the root of the tree.
    root: u32,
    next: Instant,
}

impl Memory {
    pub fn of(root: u32, limit: ByteSize) -> Self {
        Self { limit, root, next: Instant::now() }
    }

    /// How long until it is time to look again.
    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// The limit, if the tree has more than that; looks only when it is time to.
    pub fn exceeded(&mut self) -> Option<ByteSize> {
        let begun = Instant::now();
        if begun < self.next {
            return None;
        }
        let taken = taken(self.root, self.limit.get());
        let now = Instant::now();
        self.next = now + PAUSE.max((now - begun) * SHARE);
        (taken > self.limit.get()).then_some(self.limit)
    }
}

/// The bytes that a tree takes. Sharing is looked into only when there is more than enough without.
fn taken(root: u32, enough: u64) -> u64 {
    let processes = tree(root, &parents());
    let files = in_descriptors(&processes);
    let open = files.values().sum::<u64>();
    let apart = |process: u32| in_process(process, "status", APART).unwrap_or_default();
    // What is shared counts for everybody who has it, and what is mapped and open twice.
    let most = processes.iter().map(|one| apart(*one)).fold(open, u64::saturating_add);
    if most <= enough {
        return most;
    }
    let shared = processes.iter().map(|one| match in_process(*one, "smaps_rollup", TOGETHER) {
        Ok(bytes) => bytes.saturating_sub(mapped(*one, &files)),
        // Not everybody may see that of all processes.
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => apart(*one),
        // Those that have ended take nothing, whether somebody waited for them or not.
        Err(_) => 0,
    });
    shared.fold(open, u64::saturating_add)
}

/// The lines about memory in `status`, where what is shared counts as a whole.
const APART: &[&str] = &["RssAnon:", "VmSwap:", "RssShmem:"];
/// The same in `smaps_rollup`, where each of those who share something counts for a part of it.
const TOGETHER: &[&str] = &["Pss_Anon:", "SwapPss:", "Pss_Shmem:"];

/// A file in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct File {
    device: u64,
    inode: u64,
}

/// How much of its part of the memory a process has by mapping files that count anyway, because somebody has them open.
fn mapped(process: u32, files: &BTreeMap<File, u64>) -> u64 {
    if files.is_empty() {
        return 0;
    }
    let Ok(text) = fs::read_to_string(of(process, "smaps")) else { return 0 };
    let mut counts = false;
    let mut bytes = 0_u64;
    for line in text.lines() {
        if let Some(file) = file_of(line) {
            counts = files.contains_key(&file);
        } else if counts && let Some(found) = kibibytes(line, &["Pss:"]) {
            bytes = bytes.saturating_add(found.saturating_mul(1024));
        }
    }
    bytes
}

/// The file that a map is of, by the line with which it begins: addresses, rights, offset, device, inode.
fn file_of(line: &str) -> Option<File> {
    let mut words = line.split_ascii_whitespace();
    let (addresses, device) = (words.next()?, words.nth(2)?);
    let (major, minor) = device.split_once(':').filter(|_| addresses.contains('-'))?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let device = rustix::fs::makedev(number(major)?, number(minor)?);
    Some(File { device, inode: words.next()?.parse().ok()? })
}

/// The parent of each process of the machine.
fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|process| Some((process, parent(process)?))).collect()
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(of(process, "stat")).ok()?;
    // The name of the program stands in brackets, and may have brackets and blanks in it.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// A process and all below it.
fn tree(root: u32, parents: &BTreeMap<u32, u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let more = parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(process, _)| *process);
        let more: Vec<u32> = more.filter(|process| !found.contains(process)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The sum of lines of a file about a process, in bytes.
fn in_process(process: u32, file: &str, names: &[&str]) -> io::Result<u64> {
    let text = fs::read_to_string(of(process, file))?;
    let sum = text.lines().filter_map(|line| kibibytes(line, names)).fold(0, u64::saturating_add);
    Ok(sum.saturating_mul(1024))
}

/// The number of a line, if it has one of the names.
fn kibibytes(line: &str, names: &[&str]) -> Option<u64> {
    let (name, value) = line.split_at_checked(line.find(':')? + 1)?;
    names.contains(&name).then(|| value.trim().strip_suffix(" kB")?.trim().parse().ok()).flatten()
}

/// The files that are in memory only and that somebody has open, mapped or not, and what they hold.
fn in_descriptors(processes: &BTreeSet<u32>) -> BTreeMap<File, u64> {
    let mut files = BTreeMap::new();
    for process in processes {
        let descriptors = fs::read_dir(of(*process, "fd")).into_iter().flatten().flatten();
        for descriptor in descriptors.map(|entry| entry.path()) {
            let is_memory = fs::read_link(&descriptor).is_ok_and(|to| is_memory(&to));
            if is_memory && let Ok(found) = fs::metadata(&descriptor) {
                let file = File { device: found.dev(), inode: found.ino() };
                files.insert(file, found.blocks().saturating_mul(BLOCK));
            }
        }
    }
    files
}

/// Whether this is how the kernel spells a file that is in memory only.
fn is_memory(to: &Path) -> bool {
    to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")
}

fn of(process: u32, file: &str) -> PathBuf {
    Path::new("/proc").join(process.to_string()).join(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_all_below_its_root() {
        let parents = BTreeMap::from([(1, 0), (5, 1), (6, 5), (7, 6), (8, 1), (3, 7)]);
        assert_eq!(tree(5, &parents), BTreeSet::from([3, 5, 6, 7]));
        assert_eq!(tree(9, &parents), BTreeSet::from([9]));
    }

    #[test]
    fn maps_are_told_from_their_sizes() {
        let line = "7f00-7f01 rw-s 00000000 00:01 2055                       /memfd:x (deleted)";
        assert!(file_of(line) == Some(File { device: rustix::fs::makedev(0, 1), inode: 2055 }));
        assert!(
            file_of("Pss:                   4 kB").is_none() && file_of("VmFlags: rd wr sh mr").is_none()
        );
        assert_eq!(kibibytes("Pss:                   4 kB", &["Pss:"]), Some(4));
        assert_eq!(kibibytes("Pss_Anon:              4 kB", &["Pss:"]), None);
    }

    #[test]
    fn we_take_some_memory_ourselves() {
        let me = std::process::id();
        assert!(parents().contains_key(&me));
        assert!(in_process(me, "status", &["RssAnon:"]).is_ok_and(|bytes| bytes > 0));
        assert!(taken(me, u64::MAX) > 0 && taken(me, 0) > 0);
    }
}
