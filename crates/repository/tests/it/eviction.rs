//! The mirrors of repositories that nobody registered do not fill the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lanai_repository::{Limits, Options, Remotes};
use lanai_types::ByteSize;

use crate::repository::Repository;
use crate::server::{Behaviour, Server};
use crate::{options, read};

/// A repository behind a server.
struct Served {
    repository: Repository,
    server: Server,
}

impl Served {
    fn new(name: &str) -> Self {
        let repository = Repository::with(&[("pkg/f", name)]);
        let server = Server::start(repository.path(), Behaviour::default());
        Self { repository, server }
    }

    fn fetch(&self, remotes: &Remotes) {
        let commit = self.repository.git(&["rev-parse", "HEAD"]);
        read(remotes, &self.server.url(".git"), &commit, "pkg").expect("it is read");
    }
}

fn limited(home: &Path, most: u64) -> Remotes {
    let limits = Limits { max_mirrors: ByteSize::bytes(most), ..Limits::DEFAULT };
    Remotes::new(Options { limits, ..options(home, &[]) })
}

fn mirrors(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("cache/git")).expect("there is a cache");
    let mut folders: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn size(path: &Path) -> u64 {
    if path.is_file() {
        return fs::metadata(path).expect("a file").len();
    }
    fs::read_dir(path).expect("a folder").map(|entry| size(&entry.expect("an entry").path())).sum()
}

/// Makes a mirror look as if it was used so many hours ago.
fn aged(mirror: &Path, hours: u64) {
    let lock = fs::File::options().write(true).open(lock_of(mirror)).expect("a lock");
    lock.set_modified(SystemTime::now() - Duration::from_hours(hours)).expect("it can be set");
}

fn lock_of(mirror: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", mirror.display()))
}

#[test]
fn what_was_used_longest_ago_makes_room() {
    let home = tempfile::tempdir().unwrap();
    let [first, second, third] = ["first", "second", "third"].map(Served::new);
    let all = limited(home.path(), u64::MAX);
    first.fetch(&all);
    let oldest = mirrors(home.path()).remove(0);
    second.fetch(&all);
    let newer = mirrors(home.path()).into_iter().find(|path| *path != oldest).unwrap();
    aged(&oldest, 2);
    aged(&newer, 1);
    let two: u64 = mirrors(home.path()).iter().map(|path| size(path)).sum();

    // To read what is there is to use it.
    first.fetch(&all);
    aged(&oldest, 0);
    third.fetch(&limited(home.path(), two + two / 4));
    let left = mirrors(home.path());
    assert!(left.len() == 2 && left.contains(&oldest) && !left.contains(&newer), "{left:?}");
    assert!(!lock_of(&newer).exists(), "nothing is left of it");
    // What was removed comes again.
    second.fetch(&all);
    assert_eq!(mirrors(home.path()).len(), 3);
}

#[test]
fn exactly_as_much_as_is_allowed_stays() {
    let home = tempfile::tempdir().unwrap();
    let [first, second] = ["one", "two"].map(Served::new);
    let all = limited(home.path(), u64::MAX);
    first.fetch(&all);
    second.fetch(&all);
    let both: u64 = mirrors(home.path()).iter().map(|path| size(path)).sum();
    let third = Served::new("six");
    third.fetch(&all);
    let three: u64 = mirrors(home.path()).iter().map(|path| size(path)).sum();
    fs::remove_dir_all(home.path().join("cache")).unwrap();
    first.fetch(&all);
    second.fetch(&all);
    third.fetch(&limited(home.path(), three));
    assert_eq!(mirrors(home.path()).len(), 3);
    fs::remove_dir_all(home.path().join("cache")).unwrap();
    first.fetch(&all);
    second.fetch(&all);
    third.fetch(&limited(home.path(), three - 1));
    assert_eq!(mirrors(home.path()).len(), 2, "{both} of {three}");
}

#[test]
fn what_is_in_use_stays_and_what_a_killed_process_left_goes() {
    let home = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(Served::new);
    let all = limited(home.path(), u64::MAX);
    first.fetch(&all);
    let mirror = mirrors(home.path()).remove(0);
    let used = fs::File::open(lock_of(&mirror)).unwrap();
    used.lock_shared().unwrap();
    let half = home.path().join("cache/git/other-0123.gone");
    fs::create_dir_all(half.join("objects/pack")).unwrap();
    fs::write(half.join("objects/pack/x.pack"), "x").unwrap();
    fs::write(mirror.join(".tmpAbc"), "half of a file").unwrap();

    second.fetch(&limited(home.path(), 0));
    assert_eq!(mirrors(home.path()), [mirror.as_path()], "the other one is gone already");
    used.unlock().unwrap();
    first.repository.commit(&[("pkg/f", "again")]);
    first.fetch(&all);
    assert!(!mirror.join(".tmpAbc").exists());
}
