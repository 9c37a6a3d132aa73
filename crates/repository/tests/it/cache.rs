//! The cache: it can be broken in every way and heals.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use lanai_repository::{Error, Remotes};

use crate::repository::{Repository, git};
use crate::server::{Behaviour, Server};
use crate::{listing, read, remotes};

struct Cached {
    _repository: Repository,
    server: Server,
    home: tempfile::TempDir,
    remotes: Remotes,
    commit: String,
}

impl Cached {
    /// A cache that holds the only commit of a repository.
    fn new() -> Self {
        let cached = Self::empty(Behaviour::default());
        cached.check();
        cached
    }

    fn empty(behaviour: Behaviour) -> Self {
        let repository = Repository::with(&[("pkg/f", "the content"), ("pkg/g", "more")]);
        let server = Server::start(repository.path(), behaviour);
        let home = tempfile::tempdir().expect("a folder");
        let commit = repository.git(&["rev-parse", "HEAD"]);
        Self { remotes: remotes(home.path(), &[]), _repository: repository, server, home, commit }
    }

    fn read(&self) -> Result<Vec<String>, Error> {
        read(&self.remotes, &self.server.url(".git"), &self.commit, "pkg").map(|content| listing(&content))
    }

    fn check(&self) {
        assert_eq!(self.read().expect("it is read"), ["100644 f the content", "100644 g more"]);
    }

    fn mirror(&self) -> PathBuf {
        let entries = fs::read_dir(self.home.path().join("cache/git")).expect("there is a cache");
        let mut folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
        folders.next().expect("there is a copy")
    }

    fn packs(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.mirror().join("objects/pack")).expect("there are packs");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }
}

fn writable(path: &Path) -> File {
    let mut permissions = fs::metadata(path).expect("a file").permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "the file goes away with its folder")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).expect("its mode can be changed");
    File::options().read(true).write(true).open(path).expect("it can be written")
}

/// Breaks the cache, and expects it to heal with one more transfer.
fn check_healing(damage: impl Fn(&Cached)) {
    let cached = Cached::new();
    let before = cached.server.requests().len();
    damage(&cached);
    cached.check();
    assert_eq!(cached.server.requests().len(), before + 2, "it was fetched once more");
    cached.check();
    assert_eq!(cached.server.requests().len(), before + 2, "and then it is there");
    assert_eq!(git(&cached.mirror(), &["fsck", "--strict"], b""), "");
}

#[test]
fn a_deleted_cache_comes_back() {
    check_healing(|cached| fs::remove_dir_all(cached.home.path().join("cache")).expect("it can be deleted"));
    check_healing(|cached| fs::remove_dir_all(cached.mirror()).expect("it can be deleted"));
    check_healing(|cached| fs::remove_dir_all(cached.mirror().join("objects")).expect("it can be deleted"));
    check_healing(|cached| fs::remove_file(cached.mirror().join("HEAD")).expect("it can be deleted"));
    check_healing(|cached| fs::remove_dir_all(cached.mirror().join("refs")).expect("it can be deleted"));
}

#[test]
fn a_damaged_cache_is_made_anew() {
    // A bit in the middle of the objects.
    check_healing(|cached| {
        let mut file = writable(&cached.packs("pack")[0]);
        let middle = file.metadata().expect("a file").len() / 2;
        let mut byte = [0];
        file.seek(SeekFrom::Start(middle)).expect("it is that long");
        file.read_exact(&mut byte).expect("a byte");
        file.seek(SeekFrom::Start(middle)).expect("it is that long");
        file.write_all(&[!byte[0]]).expect("it can be written");
    });
    check_healing(|cached| writable(&cached.packs("pack")[0]).set_len(20).expect("it can be cut"));
    check_healing(|cached| writable(&cached.packs("idx")[0]).set_len(20).expect("it can be cut"));
    check_healing(|cached| fs::remove_file(&cached.packs("idx")[0]).expect("it can be deleted"));
    check_healing(|cached| fs::remove_file(&cached.packs("pack")[0]).expect("it can be deleted"));
}

/// What a process leaves that was killed in the middle of a transfer: half a pack, no mark, and a lock that nobody holds.
#[test]
fn leftovers_of_a_killed_process_are_cleared() {
    let cached = Cached::new();
    let mark = cached.mirror().join("refs/lanai").join(&cached.commit);
    fs::remove_file(mark).unwrap();
    let folder = cached.mirror().join("objects/pack");
    fs::write(folder.join(".tmpAbC123"), "half a pack").unwrap();
    fs::write(folder.join("pack-1234.pack"), "a pack without its index").unwrap();
    cached.check();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(git(&cached.mirror(), &["fsck", "--strict"], b""), "");
}

#[test]
fn a_transfer_that_is_cut_off_leaves_nothing_and_can_be_repeated() {
    let cached = Cached::empty(Behaviour { cut_after: Some(200), ..Behaviour::default() });
    let error = cached.read().unwrap_err();
    assert!(matches!(error, Error::Protocol { .. } | Error::Unreachable { .. }), "{error}");
    assert_eq!((cached.packs("pack").len(), cached.packs("idx").len()), (0, 0));
    cached.check();
}

/// Two at once, each with its own `Remotes`, as two processes have. The lock belongs to the open file, so that threads
/// keep each other out as processes do.
#[test]
fn two_at_once_share_one_transfer() {
    let cached = Cached::empty(Behaviour::default());
    let url = cached.server.url(".git");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let content = read(&remotes(cached.home.path(), &[]), &url, &cached.commit, "pkg").unwrap();
                assert_eq!(content.package.len(), 2);
            });
        }
    });
    assert_eq!(cached.server.requests().len(), 2, "{:?}", cached.server.requests());
    assert_eq!(cached.packs("pack").len(), 1);
}

/// The cache is deleted again and again while others use it.
#[test]
fn a_cache_that_is_deleted_in_use_disturbs_nobody_for_long() {
    let cached = Cached::empty(Behaviour::default());
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mine = remotes(cached.home.path(), &[]);
                    let url = cached.server.url(".git");
                    (0..5).filter(|_| read(&mine, &url, &cached.commit, "pkg").is_ok()).count()
                })
            })
            .collect();
        let cache = cached.home.path().join("cache");
        let mut deleted = 0;
        while deleted < 20 && readers.iter().any(|reader| !reader.is_finished()) {
            if cache.join("git").exists() {
                let _ = fs::remove_dir_all(&cache);
                deleted += 1;
            }
            thread::yield_now();
        }
    });
    cached.check();
}

#[test]
fn a_cache_that_cannot_be_made_is_named() {
    let cached = Cached::empty(Behaviour::default());
    fs::write(cached.home.path().join("cache"), "a file").unwrap();
    let error = cached.read().unwrap_err();
    let path = cached.home.path().join("cache/git");
    assert!(
        error.to_string().starts_with(&format!("cannot make the folder \"{}\": ", path.display())),
        "{error}"
    );
}

// ---- real processes

const CHILD: &str = "LANAI_TEST_READS";

/// Not a test of its own: what a process does that the tests below start. Without its orders it does nothing.
#[test]
fn a_process_of_its_own() {
    let Ok(orders) = std::env::var(CHILD) else { return };
    let [home, url, commit] = orders.split('\n').collect::<Vec<_>>()[..] else { panic!("{orders}") };
    let content = read(&remotes(Path::new(home), &[]), url, commit, "pkg").unwrap();
    assert_eq!(content.package.len(), 2);
}

fn start(cached: &Cached) -> Child {
    let orders =
        [cached.home.path().to_str().expect("a plain name"), &cached.server.url(".git"), &cached.commit];
    #[allow(clippy::disallowed_methods, reason = "a process that can be killed")]
    let mut command = Command::new(std::env::current_exe().expect("tests know where they are"));
    command.args(["--exact", "cache::a_process_of_its_own"]).env(CHILD, orders.join("\n"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

#[test]
fn two_processes_share_one_transfer() {
    let cached = Cached::empty(Behaviour::default());
    let children = [start(&cached), start(&cached)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(cached.server.requests().len(), 2, "{:?}", cached.server.requests());
    cached.check();
    assert_eq!(cached.server.requests().len(), 2, "{:?}", cached.server.requests());
}

#[test]
fn a_process_that_is_killed_in_a_transfer_leaves_nothing_in_the_way() {
    let cached = Cached::empty(Behaviour { stall: true, ..Behaviour::default() });
    let mut child = start(&cached);
    while cached.server.requests().len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the rest of the pack");
        thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    cached.server.set(Behaviour::default());
    cached.check();
    assert_eq!(git(&cached.mirror(), &["fsck", "--strict"], b""), "");
    assert_eq!((cached.packs("pack").len(), cached.packs("idx").len()), (1, 1));
}
