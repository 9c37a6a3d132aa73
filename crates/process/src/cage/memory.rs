//! How much memory a program takes, with all that it started.
//!
//! The limits of the kernel are for one process, and do not know memory that is shared or that only a descriptor holds. So whoever runs a
//! program looks at its processes from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
///
/// Files in memory may be mapped or not: the larger of what is mapped and what is open counts.
fn taken(root: u32, enough: u64) -> u64 {
    let processes = tree(root, &parents());
    let open = in_descriptors(&processes);
    let sum = |file: &str, own: &[&str], shared: &[&str]| -> Option<u64> {
        let of = |names: &[&str]| -> u64 {
            processes.iter().filter_map(|one| in_process(*one, file, names)).sum()
        };
        let own = of(own);
        (own > 0).then(|| own.saturating_add(of(shared).max(open)))
    };
    let resident = sum("status", &["RssAnon:", "VmSwap:"], &["RssShmem:"]).unwrap_or(open);
    if resident <= enough {
        return resident;
    }
    // What several share counts once here. Not everybody may see that of all processes.
    let hidden = |one: &u32| fs::read_to_string(of(*one, "smaps_rollup")).is_err();
    if processes.iter().any(hidden) {
        return resident;
    }
    sum("smaps_rollup", &["Pss_Anon:", "SwapPss:"], &["Pss_Shmem:"]).unwrap_or(resident)
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

/// The sum of lines of a file about a process, in bytes. None when it cannot be read.
fn in_process(process: u32, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(of(process, file)).ok()?;
    let kibibytes = text.lines().filter_map(|line| {
        let (name, value) = line.split_at_checked(line.find(':')? + 1)?;
        names.contains(&name).then(|| value.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).flatten()
    });
    Some(kibibytes.sum::<u64>().saturating_mul(1024))
}

/// What the files hold that are in memory only, mapped or not.
fn in_descriptors(processes: &BTreeSet<u32>) -> u64 {
    let mut files = BTreeMap::new();
    for process in processes {
        let descriptors = fs::read_dir(of(*process, "fd")).into_iter().flatten().flatten();
        for descriptor in descriptors.map(|entry| entry.path()) {
            let is_memory = fs::read_link(&descriptor).is_ok_and(|to| is_memory(&to));
            if is_memory && let Ok(found) = fs::metadata(&descriptor) {
                files.insert((found.dev(), found.ino()), found.blocks().saturating_mul(BLOCK));
            }
        }
    }
    files.values().sum()
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
    fn we_take_some_memory_ourselves() {
        let me = std::process::id();
        assert!(parents().contains_key(&me));
        assert!(in_process(me, "status", &["RssAnon:"]).is_some_and(|bytes| bytes > 0));
        assert!(taken(me, u64::MAX) > 0 && taken(me, 0) > 0);
    }
}
