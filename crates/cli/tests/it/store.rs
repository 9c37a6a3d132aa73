//! `lanai store`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use lanai_cli::{Audience, Colour, Exit, Io, Stop, run};
use lanai_store::{Object, SqliteStore, Store, sqlite};

/// What a command did: how it ended, and what it said.
fn lanai(folder: &Path, line: &str) -> (Exit, String, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut io = Io {
        stdin: &mut io::empty(),
        stdout: &mut stdout,
        stderr: &mut stderr,
        colour: Colour::Plain,
        folder: folder.into(),
        environment: BTreeMap::new(),
        audience: Audience::Record,
        program: None,
        stop: Stop::default(),
    };
    let exit = run(line.split(' ').map(OsString::from), &mut io);
    (exit, String::from_utf8(stdout).expect("it is text"), String::from_utf8(stderr).expect("it is text"))
}

#[test]
fn a_store_is_backed_up_checked_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let store = SqliteStore::open(&here.join("data"), sqlite::Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let key: lanai_store::Key = "a/x/1".parse().unwrap();
    runtime.block_on(store.create(key.clone(), Object::plain("needle".repeat(50)))).unwrap();

    // The server is at work.
    let (exit, said, noted) = lanai(here, "lanai store backup monday.db --data data");
    assert_eq!((exit, said.as_str()), (Exit::Success, "monday.db: 1 objects and 0 blobs at revision 1\n"));
    assert!(noted.contains("store.key"), "{noted}");
    let (exit, said, _) = lanai(here, "lanai store verify data");
    assert_eq!((exit, said.as_str()), (Exit::Success, "data: whole, 1 objects and 0 blobs at revision 1\n"));
    let (exit, _, told) = lanai(here, "lanai store backup monday.db --data data");
    assert_eq!(exit, Exit::Failure);
    assert!(told.contains("is there already"), "{told}");
    drop(store);

    let mut heads = Vec::new();
    for folder in ["other", "again"] {
        let (exit, said, _) = lanai(here, &format!("lanai store restore monday.db --data {folder}"));
        assert_eq!(exit, Exit::Success);
        let said =
            said.strip_prefix(&format!("{folder}: restored revision 1; the store goes on at ")).unwrap();
        heads.push(said.trim_end().parse::<u64>().unwrap());
    }
    assert!(heads[0] > 1_000_000_000_000 && heads[0] != heads[1], "{heads:?}");
    let store = SqliteStore::open(&here.join("other"), sqlite::Options::default()).unwrap();
    assert!(runtime.block_on(store.get(&key)).unwrap().is_some());
    drop(store);

    let mut bytes = fs::read(here.join("monday.db")).unwrap();
    let at = bytes.windows(6).position(|part| part == b"needle").unwrap();
    bytes[at] ^= 1;
    fs::write(here.join("monday.db"), bytes).unwrap();
    let (exit, said, told) = lanai(here, "lanai store verify monday.db");
    assert_eq!(
        (exit, said.as_str()),
        (Exit::Failure, "monday.db: \"a/x/1\" at revision 1 has another checksum\n")
    );
    assert!(told.contains("damaged") && told.contains("hint"), "{told}");
    let (exit, _, told) = lanai(here, "lanai store verify nothing");
    assert_eq!(
        (exit, told.as_str()),
        (Exit::Failure, "error: there is no store at \"nothing\"\nmore: lanai explain LNA1601\n")
    );
}

#[test]
fn a_key_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (exit, _, told) = lanai(here, "lanai store rotate-key --data data");
    assert_eq!(exit, Exit::Failure);
    assert!(told.contains("there is no store"), "{told}");
    let store = SqliteStore::open(&here.join("data"), sqlite::Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let key: lanai_store::Key = "secrets/x/1".parse().unwrap();
    runtime.block_on(store.create(key.clone(), Object::sealed("hidden"))).unwrap();
    let (exit, _, told) = lanai(here, "lanai store rotate-key --data data");
    assert_eq!(exit, Exit::Failure);
    assert!(told.contains("in use by another process"), "{told}");
    drop(store);
    let old = fs::read(here.join("data/store.key")).unwrap();
    let (exit, said, _) = lanai(here, "lanai store rotate-key --data data");
    assert_eq!((exit, said.as_str()), (Exit::Success, "data: all secrets are sealed with a new key\n"));
    assert_ne!(fs::read(here.join("data/store.key")).unwrap(), old);
    let store = SqliteStore::open(&here.join("data"), sqlite::Options::default()).unwrap();
    assert_eq!(runtime.block_on(store.get(&key)).unwrap().unwrap().object, Object::sealed("hidden"));
}
