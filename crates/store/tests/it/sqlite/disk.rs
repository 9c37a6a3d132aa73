//! A disk that fails: without room, without syncs, without power.
//!
//! `tests/disk/disk.c` stands between SQLite and the files. It is compiled by the test and preloaded into a child, which is this test binary
//! started again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};

use lanai_store::sqlite::{Options, verify};
use lanai_store::{Error, SqliteStore, Store};
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
fn child(name: &str, folder: &Path, cut_at: usize, sync: &str) -> Option<Output> {
    let Some(library) = library() else {
        skip(&format!("store::sqlite::disk::{name}"), "there is no C compiler");
        return None;
    };
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("sqlite::disk::{name}"), "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env("LANAI_DISK_FOLDER", folder)
        .env("LANAI_DISK_CUT_AT", cut_at.to_string())
        .env("LANAI_DISK_SEED", cut_at.to_string())
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
    let Some(done) = child("child_without_room", folder.path(), 0, "yes") else { return };
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
    let Some(done) = child("child_without_syncs", folder.path(), 0, "yes") else { return };
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

/// What a child was told, by its lines.
fn promised(output: &Output) -> BTreeMap<String, u64> {
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = lines.lines().filter_map(|line| line.strip_prefix("promised ")?.split_once(' '));
    pairs.map(|(key, revision)| (key.to_owned(), revision.parse().unwrap())).collect()
}

/// Cuts the power at a write; returns how many promises there were, and which of them were broken.
async fn cut(at: usize, sync: &str) -> Option<(usize, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let done = child("child_without_power", folder.path(), at, sync)?;
    assert_eq!(
        done.status.code(),
        Some(137),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let promised = promised(&done);
    let store = match SqliteStore::open(folder.path(), Options::default()) {
        Ok(store) => store,
        Err(error) => return Some((promised.len(), vec![error.to_string()])),
    };
    let mut broken = Vec::new();
    for (raw, revision) in &promised {
        match store.get(&key(raw)).await {
            Ok(Some(found)) if found.revision == rev(*revision) && text(&found.object).starts_with(raw) => {}
            other => broken.push(format!("{raw} at {revision}: {other:?}")),
        }
    }
    drop(store);
    let findings = verify(&folder.path().join("store.db")).unwrap().findings;
    broken.extend(findings.iter().map(ToString::to_string));
    Some((promised.len(), broken))
}

#[tokio::test]
async fn no_promise_is_broken_when_the_power_goes() {
    let mut promises = 0;
    for at in [1, 3, 10, 30, 77, 150, 300, 555, 900, 1_300, 1_800, 2_500] {
        let Some((number, broken)) = cut(at, "yes").await else { return };
        assert_eq!(broken, [""; 0], "the power went at write {at}");
        promises += number;
    }
    assert!(promises > 100, "{promises} promises were made");
}

/// The same disk and the same questions: a store that answers before it syncs does not pass.
#[tokio::test]
async fn promises_before_the_sync_are_broken_when_the_power_goes() {
    let mut broken = 0;
    for at in [150, 300, 555] {
        let Some((_, found)) = cut(at, "no").await else { return };
        broken += found.len();
    }
    assert!(broken > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the tests above"]
async fn child_without_power() {
    let folder = folder_of_child();
    let options = Options::default();
    let store = if std::env::var(SYNC).unwrap() == "yes" {
        SqliteStore::open(&folder, options).unwrap()
    } else {
        SqliteStore::open_unsynced(&folder, options).unwrap()
    };
    let store = Arc::new(store);
    let mut writers = Vec::new();
    for writer in 0..4 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            for at in 0..2_000 {
                let raw = format!("a/x/{writer}-{at}");
                let value = object(&format!("{raw}{}", "-".repeat(100 * (at % 50))));
                let revision = store.create(key(&raw), value).await.unwrap();
                // One write, so that no line is torn.
                std::io::stdout().write_all(format!("promised {raw} {revision}\n").as_bytes()).unwrap();
                std::io::stdout().flush().unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    panic!("the power did not go");
}
