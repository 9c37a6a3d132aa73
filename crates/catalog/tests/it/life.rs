//! From the first question to the last.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use lanai_catalog::{Begun, Catalog, Kept, Miss, Options, Outcome};
use lanai_types::ByteSize;

use crate::{hit, inputs, open, subject, ticket};

/// The files of all blobs.
pub fn blobs(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.join("blobs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files
}

async fn kept(catalog: &Catalog, name: &str, content: &'static str) {
    let (ticket, _) = ticket(catalog, name).await;
    assert_eq!(ticket.keep(Bytes::from_static(content.as_bytes())).await, Kept::Stored);
}

#[tokio::test]
async fn what_was_kept_is_found_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path(), Options::default());
    let (first, miss) = ticket(&catalog, "x").await;
    assert_eq!(miss, Miss::First);
    assert_eq!(first.keep(Bytes::from_static(b"result")).await, Kept::Stored);
    let other = open(folder.path(), Options::default());
    assert_eq!(hit(&other, "x").await.content, "result");
    let (_, miss) = ticket(&other, "y").await;
    assert_eq!(miss.to_string(), "resource changed");
}

#[tokio::test]
async fn work_that_is_given_up_is_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path(), Options::default());
    let (first, _) = ticket(&catalog, "x").await;
    let number = first.number();
    let waiting = tokio::spawn({
        let catalog = catalog.clone();
        async move { ticket(&catalog, "x").await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(first);
    let (second, _) = waiting.await.unwrap();
    assert!(second.number() > number);
}

#[tokio::test]
async fn a_damaged_or_missing_result_is_a_miss_and_is_repaired() {
    type Harm = fn(&Path);
    let harms: [Harm; 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "").unwrap(),
        |path| {
            let mut content = fs::read(path).unwrap();
            content[0] ^= 1;
            fs::write(path, content).unwrap();
        },
    ];
    for harm in harms {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path(), Options::default());
        kept(&catalog, "x", "result").await;
        let files = blobs(folder.path());
        assert_eq!(files.len(), 1);
        harm(&files[0]);
        let (again, miss) = ticket(&catalog, "x").await;
        assert_eq!(miss, Miss::Damaged);
        assert_eq!(again.keep(Bytes::from_static(b"result")).await, Kept::Stored);
        assert_eq!(hit(&catalog, "x").await.content, "result");
    }
}

#[tokio::test]
async fn failures_are_kept_for_a_while_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path(), Options::default());
    let (failed, _) = ticket(&catalog, "x").await;
    let time = Duration::from_millis(300);
    assert_eq!(failed.keep_failure(Bytes::from_static(b"no"), time).await, Kept::Stored);
    assert!(matches!(hit(&catalog, "x").await.entry.outcome, Outcome::Failure { .. }));
    tokio::time::sleep(time).await;
    let (_, miss) = ticket(&catalog, "x").await;
    assert_eq!(miss, Miss::NotKept);
}

#[tokio::test]
async fn what_is_too_large_is_not_kept_and_what_was_not_used_goes() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { max_bytes: ByteSize::bytes(20), max_result: ByteSize::bytes(8), ..Options::default() };
    let catalog = open(folder.path(), options);
    let (large, _) = ticket(&catalog, "large").await;
    assert_eq!(large.keep(Bytes::from_static(b"123456789")).await, Kept::TooLarge);
    for name in ["a", "b", "c"] {
        let (ticket, _) = ticket(&catalog, name).await;
        let content = Bytes::from(format!("{name}2345678").into_bytes());
        assert_eq!(ticket.keep(content).await, Kept::Stored);
        // The order of use is told by milliseconds.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let total = catalog.total().await.unwrap();
    assert_eq!((total.entries, total.bytes), (2, 16));
    assert_eq!(blobs(folder.path()).len(), 2);
    assert!(catalog.lookup(&inputs("a"), &subject()).await.is_err());
    assert!(catalog.lookup(&inputs("c"), &subject()).await.is_ok());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("catalog.db"), "this is no database, and never was one\n".repeat(200))
        .unwrap();
    let catalog = open(folder.path(), Options::default());
    kept(&catalog, "x", "result").await;
    assert_eq!(hit(&catalog, "x").await.content, "result");
    assert!(folder.path().join("catalog.db.damaged").exists());
}

#[tokio::test]
async fn a_database_that_is_damaged_while_it_is_open_is_a_miss_and_then_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path(), Options::default());
    for name in 0..200 {
        let (ticket, _) = ticket(&catalog, &name.to_string()).await;
        assert_eq!(ticket.keep(Bytes::from(vec![b'x'; 10])).await, Kept::Stored);
    }
    drop(catalog);
    let path = folder.path().join("catalog.db");
    let mut content = fs::read(&path).unwrap();
    let from = 4096;
    content[from..].iter_mut().for_each(|byte| *byte = 0xA5);
    fs::write(&path, content).unwrap();
    for round in 0..2 {
        let Ok(catalog) = Catalog::open(folder.path(), Options::default()) else { continue };
        for name in 0..200 {
            match catalog.begin(&inputs(&name.to_string()), &subject()).await {
                Begun::Hit(hit) => assert_eq!(hit.content, vec![b'x'; 10]),
                Begun::Run(ticket, _) => {
                    let kept = ticket.keep(Bytes::from(vec![b'x'; 10])).await;
                    assert!(round == 0 || kept == Kept::Stored, "{kept:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn verification_reads_everything_and_removes_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = open(folder.path(), Options::default());
    kept(&catalog, "a", "one").await;
    kept(&catalog, "b", "two").await;
    let verified = catalog.verify().await.unwrap();
    assert_eq!((verified.whole, verified.findings.len(), verified.orphans), (2, 0, 0));
    fs::write(&blobs(folder.path())[0], "three").unwrap();
    let verified = catalog.verify().await.unwrap();
    assert_eq!((verified.whole, verified.findings.len()), (1, 1));
    assert!(verified.findings[0].to_string().ends_with("its content is not what was written"));
    assert_eq!(catalog.total().await.unwrap().entries, 1);
    assert_eq!(catalog.prune(0).await.unwrap().entries, 1);
    assert_eq!(catalog.total().await.unwrap().entries, 0);
}

#[tokio::test]
async fn a_holder_that_is_slower_than_its_lease_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { lease: Duration::from_millis(600), ..Options::default() };
    let (one, other) = (open(folder.path(), options.clone()), open(folder.path(), options));
    let (ticket, _) = ticket(&one, "x").await;
    let waiting = tokio::spawn(async move { hit(&other, "x").await });
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(ticket.keep(Bytes::from_static(b"late")).await, Kept::Stored);
    assert_eq!(waiting.await.unwrap().content, "late");
}
