//! Blobs: there with what names them, and gone after it.

use lanai_store::{Blob, Error, Key, Object, Store, Transaction, Write};

use crate::support::{key, object, rev};

fn naming(value: &str, blobs: &[&Blob]) -> Object {
    Object { blobs: blobs.iter().map(|blob| blob.digest()).collect(), ..object(value) }
}

fn create(key: Key, value: &str, blobs: &[&Blob]) -> Transaction {
    let writes = vec![Write::Create { key, object: naming(value, blobs) }];
    Transaction {
        writes,
        blobs: blobs.iter().map(|blob| (*blob).clone()).collect(),
        ..Transaction::default()
    }
}

async fn is_there(store: &dyn Store, blob: &Blob) -> bool {
    let found = store.blob(&blob.digest()).await.unwrap();
    if let Some(content) = &found {
        assert_eq!(content, blob.content());
    }
    found.is_some()
}

pub async fn blobs_live_with_what_names_them(store: &dyn Store) {
    let (one, two, empty) = (Blob::new("one"), Blob::new(vec![0; 100_000]), Blob::new(""));
    assert!(!is_there(store, &one).await);
    store.commit(create(key("a/x/1"), "", &[&one, &two, &empty])).await.unwrap();
    assert!(is_there(store, &one).await && is_there(store, &two).await && is_there(store, &empty).await);
    assert_eq!(store.get(&key("a/x/1")).await.unwrap().unwrap().object, naming("", &[&one, &two, &empty]));
    // Named again, and not sent again.
    store.create(key("a/x/2"), naming("", &[&one])).await.unwrap();
    // Sent again, and stored once.
    store.commit(create(key("a/x/3"), "", &[&one])).await.unwrap();
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    store.delete(key("a/x/2"), rev(2)).await.unwrap();
    store.compact(rev(5)).await.unwrap();
    assert!(is_there(store, &one).await, "the third still names it");
    assert!(!is_there(store, &two).await && !is_there(store, &empty).await);
    store.update(key("a/x/3"), rev(3), naming("", &[])).await.unwrap();
    store.compact(rev(6)).await.unwrap();
    assert!(!is_there(store, &one).await);
}

pub async fn a_missing_blob_is_named(store: &dyn Store) {
    let (one, two) = (Blob::new("one"), Blob::new("two"));
    let error = store.create(key("a/x/1"), naming("", &[&one, &two])).await.unwrap_err();
    let mut digests = vec![one.digest(), two.digest()];
    digests.sort();
    assert_eq!(error, Error::BlobsMissing { digests });
    assert_eq!(store.current().await.unwrap(), rev(0));
    let half = Transaction { blobs: vec![one.clone()], ..create(key("a/x/1"), "", &[&one, &two]) };
    let error = store.commit(half).await.unwrap_err();
    assert_eq!(error, Error::BlobsMissing { digests: vec![two.digest()] });
    assert!(!is_there(store, &one).await, "nothing of a refused transaction is kept");
}

pub async fn blobs_are_kept_for_history(store: &dyn Store) {
    let one = Blob::new("one");
    store.commit(create(key("a/x/1"), "", &[&one])).await.unwrap();
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    assert!(is_there(store, &one).await, "a list at revision 1 shows it");
    store.compact(rev(1)).await.unwrap();
    assert!(is_there(store, &one).await);
    store.compact(rev(2)).await.unwrap();
    assert!(!is_there(store, &one).await);
    let error = store.create(key("a/x/1"), naming("", &[&one])).await.unwrap_err();
    assert_eq!(error, Error::BlobsMissing { digests: vec![one.digest()] });
}
