//! A disk that fails: without room, without syncs, without power.
//!
//! `tests/disk/disk.c` stands between SQLite and the files. It is compiled by the test and preloaded into a child, which is this test binary
//! started again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use lanai_store::sqlite::{Options, verify};
use lanai_store::{
    Blob, Error, Limits, Object, SqliteStore, Store, Stored, Transaction, WatchRequest, Write,
};
use lanai_testkit::skip;

use super::{close, open};
use crate::support::{key, object, rev, text, under, watch_after};

const FOLDER: &str = "LANAI_TEST_DISK_STORE";
const SYNC: &str = "LANAI_TEST_DISK_SYNC";

/// The preloaded library, or none where there is no C compiler.
#[allow(clippy::disallowed_methods, reason = "the test compiles its disk")]
fn library() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("disk.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/disk/disk.c");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(source)
            .args(["-ldl", "-lpthread"])
            .output();
        match compiler {
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
            Err(_) => return None,
        }
        Some((folder, library))
    });
    built.as_ref().map(|(_, library)| library.as_path())
}

/// Runs a test of this file in a child on the failing disk; none where that cannot be.
#[allow(clippy::disallowed_methods, reason = "a test starts itself again, on another disk")]
fn child(name: &str, folder: &Path, cut_at: usize, seed: usize, sync: &str) -> Option<Output> {
    let Some(library) = library() else {
        skip(&format!("store::sqlite::disk::{name}"), "there is no C compiler");
        return None;
    };
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("sqlite::disk::{name}"), "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env("LANAI_DISK_FOLDER", folder)
        .env("LANAI_DISK_CUT_AT", cut_at.to_string())
        .env("LANAI_DISK_SEED", seed.to_string())
        .env(FOLDER, folder)
        .env(SYNC, sync)
        .output()
        .unwrap();
    Some(done)
}

fn folder_of_child() -> PathBuf {
    std::env::var_os(FOLDER).expect("this test is started by another one").into()
}

#[test]
fn a_full_disk_is_an_error_that_clears() {
    let folder = tempfile::tempdir().unwrap();
    let Some(done) = child("child_without_room", folder.path(), 0, 0, "yes") else { return };
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(String::from_utf8_lossy(&done.stdout).contains("there was no room, and then there was"));
}

#[tokio::test]
#[ignore = "started by the test above"]
async fn child_without_room() {
    let folder = folder_of_child();
    let store = open(&folder);
    store.create(key("a/x/1"), object("before")).await.unwrap();
    for round in 1..=3 {
        fs::write(folder.join("full"), "").unwrap();
        for _ in 0..3 {
            let error = store.create(key(&format!("b/x/{round}")), object("lost")).await.unwrap_err();
            assert!(matches!(error, Error::Full { .. }), "{error:?}");
        }
        assert!(store.get(&key("a/x/1")).await.unwrap().is_some(), "reading goes on");
        fs::remove_file(folder.join("full")).unwrap();
        assert_eq!(store.create(key(&format!("b/x/{round}")), object("kept")).await.unwrap(), rev(1 + round));
    }
    close(store, &folder);
    println!("there was no room, and then there was");
}

#[test]
fn a_failed_sync_is_an_unknown_outcome_and_ends_writing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(done) = child("child_without_syncs", folder.path(), 0, 0, "yes") else { return };
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(String::from_utf8_lossy(&done.stdout).contains("nothing was promised"));
}

#[tokio::test]
#[ignore = "started by the test above"]
async fn child_without_syncs() {
    let folder = folder_of_child();
    let store = open(&folder);
    store.create(key("a/x/1"), object("before")).await.unwrap();
    let mut watch = watch_after(&store, 1, under("a")).await;
    fs::write(folder.join("broken"), "").unwrap();
    let error = store.create(key("a/x/2"), object("unknown")).await.unwrap_err();
    assert!(matches!(error, Error::Unknown { .. }), "{error:?}");
    fs::remove_file(folder.join("broken")).unwrap();
    let error = store.create(key("a/x/3"), object("refused")).await.unwrap_err();
    assert!(error.to_string().contains("open the store again"), "{error}");
    // Who reads "absent" now could read it after a restart: nobody is told anything.
    let error = store.get(&key("a/x/2")).await.unwrap_err();
    assert!(error.to_string().contains("open the store again"), "{error}");
    store.compact(rev(1)).await.unwrap_err();
    store.rotate_key().await.unwrap_err();
    assert!(watch.next().await.is_err());
    let log = fs::read(folder.join("store.db-wal")).unwrap();
    drop(store);
    assert!(fs::read(folder.join("store.db-wal")).unwrap() == log, "the log is left to the next one");
    let store = open(&folder);
    assert!(store.get(&key("a/x/1")).await.unwrap().is_some());
    assert!(store.create(key("a/x/3"), object("taken")).await.is_ok());
    close(store, &folder);
    println!("nothing was promised");
}

/// A compaction gives pages back in a commit of its own, behind the one that forgets.
#[test]
fn a_failed_sync_of_pages_that_are_given_back_ends_writing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(done) = child("child_without_the_second_sync", folder.path(), 0, 0, "yes") else { return };
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
    assert!(String::from_utf8_lossy(&said).contains("what was forgotten stays forgotten"));
}

#[tokio::test]
#[ignore = "started by the test above"]
async fn child_without_the_second_sync() {
    let folder = folder_of_child();
    let store = open(&folder);
    let large = |at: u64| object(&format!("{at}").repeat(20_000));
    store.create(key("a/x/1"), large(1)).await.unwrap();
    for at in 1..=20 {
        store.update(key("a/x/1"), rev(at), large(at + 1)).await.unwrap();
    }
    fs::write(folder.join("soon"), "").unwrap();
    let error = store.compact(rev(21)).await.unwrap_err();
    assert!(matches!(error, Error::Unknown { .. }), "{error:?}");
    assert!(folder.join("broken").exists(), "one sync passed");
    let error = store.create(key("a/x/2"), object("refused")).await.unwrap_err();
    assert!(error.to_string().contains("open the store again"), "{error}");
    fs::remove_file(folder.join("broken")).unwrap();
    drop(store);
    let store = open(&folder);
    assert_eq!(text(&store.get(&key("a/x/1")).await.unwrap().unwrap().object).len(), 40_000);
    let error = store.watch(WatchRequest::after(rev(20), under("a"))).await.unwrap_err();
    assert!(matches!(error, Error::Expired { .. }), "{error:?}");
    assert_eq!(store.create(key("a/x/2"), object("taken")).await.unwrap(), rev(22));
    close(store, &folder);
    println!("what was forgotten stays forgotten");
}

/// What a child was told of an object last, and whether it was asking for something else when the power went.
#[derive(Debug, Default)]
struct Told {
    /// Its revision and value; none if it was deleted or never there.
    last: Option<Promise>,
    is_open: bool,
}

#[derive(Debug)]
struct Promise {
    revision: u64,
    value: String,
}

/// The lines of a child: "trying KEY" before each write, "is KEY REVISION VALUE" or "gone KEY" after its answer.
fn promised(output: &Output) -> BTreeMap<String, Told> {
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["trying", key] => told.entry(key.to_owned()).or_default().is_open = true,
            ["is", key, revision, value] => {
                let last = Some(Promise { revision: revision.parse().unwrap(), value: value.to_owned() });
                told.insert(key.to_owned(), Told { last, is_open: false });
            }
            ["gone", key] => drop(told.insert(key.to_owned(), Told::default())),
            _ => {}
        }
    }
    told
}

/// What came of a cut.
#[derive(Debug, Default)]
struct Cut {
    promises: usize,
    broken: Vec<String>,
    /// How often the log had been begun anew.
    log_rounds: u32,
    /// The number of the newest key.
    keys: u32,
    horizon: u64,
}

/// Cuts the power at a write.
async fn cut(at: usize, seed: usize, sync: &str) -> Option<Cut> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("data");
    fs::create_dir(&store).unwrap();
    let done = child("child_without_power", &store, at, seed, sync)?;
    assert_eq!(
        done.status.code(),
        Some(137),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let told = promised(&done);
    let mut cut =
        Cut { promises: told.values().filter(|told| told.last.is_some()).count(), ..Cut::default() };
    let log = fs::read(store.join("store.db-wal")).unwrap_or_default();
    cut.log_rounds = log.get(12..16).map_or(0, |number| u32::from_be_bytes(number.try_into().unwrap()));
    let keys = fs::read_to_string(store.join("store.key")).unwrap_or_default();
    cut.keys = keys.lines().last().and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0);
    let opened = match SqliteStore::open(&store, Options::default()) {
        Ok(opened) => opened,
        Err(error) => {
            cut.broken.push(error.to_string());
            return Some(cut);
        }
    };
    for (raw, told) in &told {
        let found = opened.get(&key(raw)).await;
        let is_kept = match (&found, &told.last) {
            (Ok(Some(found)), Some(last)) if found.revision == rev(last.revision) => {
                text(&found.object) == last.value && has_blobs(&opened, found).await
            }
            (Ok(None), None) => true,
            // The write that was not answered may have happened, and may not.
            (Ok(found), last) => {
                let newer = found
                    .as_ref()
                    .is_none_or(|found| last.as_ref().is_none_or(|last| found.revision > rev(last.revision)));
                told.is_open && newer
            }
            (Err(_), _) => false,
        };
        if !is_kept {
            cut.broken.push(format!("{raw} {told:?}: {found:?}"));
        }
    }
    drop(opened);
    let verified = verify(&store.join("store.db")).unwrap();
    cut.horizon = verified.horizon;
    cut.broken.extend(verified.findings.iter().map(ToString::to_string));
    Some(cut)
}

async fn has_blobs(store: &SqliteStore, found: &Stored) -> bool {
    for digest in &found.object.blobs {
        if !matches!(store.blob(digest).await, Ok(Some(_))) {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn no_promise_is_broken_when_the_power_goes() {
    no_promise_is_broken(&[1, 3, 10, 30, 77, 150, 300, 555, 900, 1_300, 1_800, 2_500, 3_600], 0).await;
}

/// The same by many other chances; `make soak` runs it.
#[tokio::test]
#[ignore = "takes long"]
async fn no_promise_is_broken_by_any_chance() {
    for seed in 1..=12 {
        let places: Vec<usize> = (0..20).map(|at| 11 + 37 * seed + at * (140 + 9 * seed)).collect();
        no_promise_is_broken(&places, 1_000 * seed).await;
    }
}

async fn no_promise_is_broken(places: &[usize], seed: usize) {
    let mut cuts = Vec::new();
    for at in places {
        let Some(cut) = cut(*at, seed + at, "yes").await else { return };
        assert_eq!(cut.broken, [""; 0], "the power went at write {at}, by the chance {}", seed + at);
        cuts.push(cut);
    }
    // The power went before and behind all that a store does beside writing.
    assert!(cuts.iter().map(|cut| cut.promises).sum::<usize>() > 100, "{cuts:?}");
    assert!(cuts.iter().any(|cut| cut.log_rounds > 2), "{cuts:?}");
    assert!(cuts.iter().any(|cut| cut.keys > 1), "{cuts:?}");
    assert!(cuts.iter().any(|cut| cut.horizon > 0), "{cuts:?}");
}

/// The same disk and the same questions: a store that answers before it syncs does not pass.
#[tokio::test]
async fn promises_before_the_sync_are_broken_when_the_power_goes() {
    let mut broken = 0;
    for at in [150, 300, 555] {
        let Some(found) = cut(at, at, "no").await else { return };
        broken += found.broken.len();
    }
    assert!(broken > 0);
}

/// Says something in one write, so that no line is torn.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the tests above"]
async fn child_without_power() {
    let folder = folder_of_child();
    // The log is copied, begun anew and forgotten often, so that the power goes in the middle of that as well.
    let limits = Limits { max_history: 60, ..Limits::DEFAULT };
    let options = Options { limits, checkpoint_pages: 40, ..Options::default() };
    let store = if std::env::var(SYNC).unwrap() == "yes" {
        SqliteStore::open(&folder, options).unwrap()
    } else {
        SqliteStore::open_unsynced(&folder, options).unwrap()
    };
    println!();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        writers.spawn(write_for_ever(store.clone(), writer));
    }
    writers.spawn(async move {
        loop {
            store.rotate_key().await.unwrap();
            let head = store.current().await.unwrap();
            store.create(key(&format!("marks/x/{head}")), object("")).await.unwrap();
        }
    });
    writers.join_next().await.unwrap().unwrap();
    panic!("the power did not go");
}

/// Creates, replaces and deletes its own objects, two at a time, some of them sealed and some with a blob.
async fn write_for_ever(store: SqliteStore, number: usize) {
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for at in 0.. {
        let names = [format!("a/x/{number}-{}", at % 7), format!("b/x/{number}-{}", at % 5)];
        let value = |name: &str| format!("{name}-{at}{}", "-".repeat(100 * (at % 50)));
        let blob = Blob::new(format!("blob {}", at % 3));
        let mut writes = Vec::new();
        for name in &names {
            let object = match at % 3 {
                0 => Object::sealed(value(name)),
                1 => Object { blobs: [blob.digest()].into(), ..object(&value(name)) },
                _ => object(&value(name)),
            };
            let key = key(name);
            writes.push(match known.get(name).copied().map(rev) {
                None => Write::Create { key, object },
                Some(expected) if at % 11 == 10 => Write::Delete { key, expected },
                Some(expected) => Write::Update { key, expected, object },
            });
        }
        let is_named =
            writes.iter().any(|write| write.object().is_some_and(|object| !object.blobs.is_empty()));
        let blobs = if is_named { vec![blob] } else { Vec::new() };
        let is_there: Vec<bool> = writes.iter().map(|write| write.object().is_some()).collect();
        for name in &names {
            say(&format!("trying {name}"));
        }
        let transaction = Transaction { writes, blobs, ..Transaction::default() };
        let done = store.commit(transaction).await.unwrap();
        for ((name, revision), is_there) in names.iter().zip(done.revisions).zip(is_there) {
            if is_there {
                known.insert(name.clone(), revision.get());
                say(&format!("is {name} {revision} {}", value(name)));
            } else {
                known.remove(name);
                say(&format!("gone {name}"));
            }
        }
    }
}
