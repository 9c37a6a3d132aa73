//! Backups while the store works, and stores made from them.

use std::fs;
use std::sync::Arc;

use lanai_store::jump::RESTORE_JUMP;
use lanai_store::sqlite::{BackupError, backup, restore, verify};
use lanai_store::{Blob, Condition, Error, Jump, Object, Store, Transaction, WatchRequest, Write};

use super::{close, open};
use crate::support::{claim, key, lines, list, object, rev, text, under};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_store_at_work_is_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()));
    let writer = {
        let store = store.clone();
        tokio::spawn(async move {
            for at in 0..300 {
                let pair = ["l", "r"]
                    .map(|side| Write::Create { key: key(&format!("{side}/x/{at}")), object: object("") });
                store.commit(Transaction { writes: pair.to_vec(), ..Transaction::default() }).await.unwrap();
            }
        })
    };
    for at in 0..5 {
        let target = folder.path().join(format!("backup-{at}"));
        let source = folder.path().to_owned();
        let verified = tokio::task::spawn_blocking(move || backup(&source, &target)).await.unwrap().unwrap();
        assert_eq!(verified.objects, verified.head, "whole transactions only, and all of them");
        assert_eq!(verified.head % 2, 0);
    }
    writer.await.unwrap();
    close(Arc::into_inner(store).unwrap(), folder.path());
}

#[tokio::test]
async fn a_restored_store_goes_on_where_nothing_was() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let target = folder.path().join("backup");
    let store = open(&first);
    let blob = Blob::new("content");
    let named = Object { blobs: [blob.digest()].into(), ..object("one") };
    let create = Write::Create { key: key("a/x/1"), object: named };
    store.commit(Transaction { blobs: vec![blob.clone()], ..create.into() }).await.unwrap();
    store.create(key("a/x/2"), object("two")).await.unwrap();
    store.delete(key("a/x/2"), rev(2)).await.unwrap();
    store.create(key("secrets/x/3"), Object::sealed("hidden")).await.unwrap();
    let fence = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    let guarded = Transaction {
        conditions: vec![Condition::Holds(fence.clone())],
        ..Write::Create { key: key("a/x/9"), object: object("") }.into()
    };
    backup(&first, &target).unwrap();
    // Lost with the first store.
    store.update(key("a/x/1"), rev(1), object("lost")).await.unwrap();
    drop(store);

    let restored = restore(&target, &second, Jump::of(0)).unwrap();
    assert_eq!((restored.backup, restored.head), (rev(4), rev(4 + RESTORE_JUMP)));
    fs::copy(first.join("store.key"), second.join("store.key")).unwrap();
    let store = open(&second);
    assert_eq!(lines(&list(&store, under("a")).await), ["1@1=one"]);
    assert_eq!(store.blob(&blob.digest()).await.unwrap().unwrap(), *blob.content());
    assert_eq!(text(&store.get(&key("secrets/x/3")).await.unwrap().unwrap().object), "hidden");
    for known in [0, 4, 5] {
        let error = store.watch(WatchRequest::after(rev(known), under("a"))).await.unwrap_err();
        assert_eq!(
            error,
            Error::Expired { asked: rev(known), horizon: restored.head },
            "whoever saw the first store"
        );
    }
    let error = store.update(key("a/x/1"), rev(5), object("new")).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "the lost write is not built upon: {error}");
    assert_eq!(store.create(key("a/x/2"), object("new")).await.unwrap(), rev(5 + RESTORE_JUMP));
    // Somebody else may have got the lease in the first store, behind the backup.
    let error = store.commit(guarded).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { newest: None, .. }), "{error:?}");
    assert!(store.acquire(claim("work", "bob", 10, 10)).await.unwrap().fence.number > fence.number);
    close(store, &second);
}

/// The store that was made first has given out numbers as well.
#[tokio::test]
async fn one_backup_restored_twice_gives_no_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (first, target) = (folder.path().join("first"), folder.path().join("backup"));
    let store = open(&first);
    store.create(key("a/x/1"), object("one")).await.unwrap();
    backup(&first, &target).unwrap();
    drop(store);
    let mut known = Vec::new();
    for at in 0..2 {
        let again = folder.path().join(format!("again-{at}"));
        restore(&target, &again, Jump::by_chance().unwrap()).unwrap();
        let store = open(&again);
        let revision = store.update(key("a/x/1"), rev(1), object(&format!("by {at}"))).await.unwrap();
        let fence = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
        if let Some((earlier, shown)) = known.pop() {
            let error = store.update(key("a/x/1"), earlier, object("stale")).await.unwrap_err();
            assert!(matches!(error, Error::Conflict { .. }), "what the other store wrote: {error:?}");
            assert!(store.get(&key("a/x/1")).await.unwrap().unwrap().revision != earlier);
            let error = store.renew(&shown, claim("work", "ann", 1, 10)).await.unwrap_err();
            assert!(matches!(error, Error::Fenced { .. }), "what the other store gave: {error:?}");
        }
        known.push((revision, fence));
        close(store, &again);
    }
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (first, target) = (folder.path().join("first"), folder.path().join("backup"));
    assert!(matches!(backup(&first, &target), Err(BackupError::Nothing { .. })));
    let store = open(&first);
    store.create(key("a/x/1"), object("one")).await.unwrap();
    backup(&first, &target).unwrap();
    assert!(matches!(backup(&first, &target), Err(BackupError::Exists { .. })));
    assert!(matches!(restore(&target, &first, Jump::of(0)), Err(BackupError::Open(_))), "it is in use");
    drop(store);
    assert!(matches!(restore(&target, &first, Jump::of(0)), Err(BackupError::Exists { .. })));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (first, target) = (folder.path().join("first"), folder.path().join("backup"));
    let store = open(&first);
    store.create(key("a/x/1"), object(&"needle ".repeat(100))).await.unwrap();
    backup(&first, &target).unwrap();
    let mut bytes = fs::read(&target).unwrap();
    let at = bytes.windows(6).position(|part| part == b"needle").unwrap();
    bytes[at] = b'N';
    fs::write(&target, bytes).unwrap();
    let findings = verify(&target).unwrap().findings;
    assert_eq!(findings[0].to_string(), "\"a/x/1\" at revision 1 has another checksum");
    let error = restore(&target, &folder.path().join("second"), Jump::of(0)).unwrap_err();
    assert!(matches!(error, BackupError::Damaged { .. }), "{error:?}");
    assert!(!folder.path().join("second/store.db").exists());
}
