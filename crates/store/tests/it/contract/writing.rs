//! Writes: conditional, atomic, numbered.

use lanai_store::{Condition, Error, Presence, Store, Transaction, Write};

use crate::support::{key, lines, list, object, rev, text, under};

pub async fn revisions_count_up(store: &dyn Store) {
    assert_eq!(store.current().await.unwrap(), rev(0));
    assert_eq!(store.create(key("a/x/1"), object("one")).await.unwrap(), rev(1));
    assert_eq!(store.create(key("b//2"), object("two")).await.unwrap(), rev(2));
    assert_eq!(store.update(key("a/x/1"), rev(1), object("three")).await.unwrap(), rev(3));
    assert_eq!(store.delete(key("b//2"), rev(2)).await.unwrap(), rev(4));
    assert_eq!(store.current().await.unwrap(), rev(4));
    let found = store.get(&key("a/x/1")).await.unwrap().unwrap();
    assert_eq!((found.created, found.revision, text(&found.object)), (rev(1), rev(3), "three".into()));
    assert_eq!(store.get(&key("b//2")).await.unwrap(), None);
}

pub async fn a_second_create_is_refused(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    let error = store.create(key("a/x/1"), object("two")).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::Absent, Presence::At(rev(1))));
    assert_eq!(error.to_string(), "\"a/x/1\" was expected absent, and is at revision 1");
    assert_eq!(store.current().await.unwrap(), rev(1), "a refused write takes no revision");
}

pub async fn an_update_needs_the_newest_revision(store: &dyn Store) {
    let error = store.update(key("a/x/1"), rev(1), object("one")).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::At(rev(1)), Presence::Absent));
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.update(key("a/x/1"), rev(1), object("two")).await.unwrap();
    let error = store.update(key("a/x/1"), rev(1), object("three")).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::At(rev(1)), Presence::At(rev(2))));
    assert_eq!(text(&store.get(&key("a/x/1")).await.unwrap().unwrap().object), "two");
}

pub async fn a_delete_needs_the_newest_revision(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    let error = store.delete(key("a/x/1"), rev(7)).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::At(rev(7)), Presence::At(rev(1))));
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    let error = store.delete(key("a/x/1"), rev(1)).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::At(rev(1)), Presence::Absent));
}

pub async fn a_transaction_is_all_or_nothing(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    let writes = vec![
        Write::Create { key: key("a/x/2"), object: object("two") },
        Write::Update { key: key("a/x/1"), expected: rev(1), object: object("new") },
        Write::Create { key: key("a/x/3"), object: object("three") },
    ];
    let done = store.commit(Transaction { writes, ..Transaction::default() }).await.unwrap();
    assert_eq!(done.revisions, [rev(2), rev(3), rev(4)]);
    let writes = vec![
        Write::Delete { key: key("a/x/2"), expected: rev(2) },
        Write::Update { key: key("a/x/1"), expected: rev(1), object: object("newer") },
    ];
    let error = store.commit(Transaction { writes, ..Transaction::default() }).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::At(rev(1)), Presence::At(rev(3))));
    assert_eq!(lines(&list(store, under("a")).await), ["1@3=new", "2@2=two", "3@4=three"]);
    assert_eq!(store.current().await.unwrap(), rev(4));
}

pub async fn conditions_are_checked_and_write_nothing(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    let commit = |expected, name: &str| Transaction {
        conditions: vec![Condition::Presence { key: key("a/x/1"), expected }],
        ..Write::Create { key: key(name), object: object("two") }.into()
    };
    let error = store.commit(commit(Presence::Absent, "a/x/2")).await.unwrap_err();
    assert_eq!(error, conflict("a/x/1", Presence::Absent, Presence::At(rev(1))));
    assert_eq!(store.commit(commit(Presence::At(rev(1)), "a/x/2")).await.unwrap().revisions, [rev(2)]);
    assert_eq!(store.get(&key("a/x/1")).await.unwrap().unwrap().revision, rev(1));
}

pub async fn the_first_failure_is_told(store: &dyn Store) {
    let wrong = |name: &str| Write::Delete { key: key(name), expected: rev(9) };
    let transaction = Transaction {
        conditions: vec![Condition::Presence { key: key("a/x/9"), expected: Presence::At(rev(9)) }],
        writes: vec![wrong("a/x/2"), wrong("a/x/1")],
        blobs: Vec::new(),
    };
    let error = store.commit(transaction.clone()).await.unwrap_err();
    assert_eq!(error, conflict("a/x/9", Presence::At(rev(9)), Presence::Absent));
    let error = store.commit(Transaction { conditions: Vec::new(), ..transaction }).await.unwrap_err();
    assert_eq!(error, conflict("a/x/2", Presence::At(rev(9)), Presence::Absent));
}

pub async fn an_object_that_comes_back_is_a_new_one(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.delete(key("a/x/1"), rev(1)).await.unwrap();
    store.create(key("a/x/1"), object("two")).await.unwrap();
    let found = store.get(&key("a/x/1")).await.unwrap().unwrap();
    assert_eq!((found.created, found.revision), (rev(3), rev(3)));
}

pub async fn writers_that_race_lose_no_update(store: &dyn Store) {
    const WRITERS: usize = 8;
    const ADDITIONS: usize = 20;
    store.create(key("a/x/n"), object("0")).await.unwrap();
    let add = async || {
        let mut added = 0;
        while added < ADDITIONS {
            let found = store.get(&key("a/x/n")).await.unwrap().unwrap();
            let number: usize = text(&found.object).parse().unwrap();
            match store.update(key("a/x/n"), found.revision, object(&(number + 1).to_string())).await {
                Ok(_) => added += 1,
                Err(Error::Conflict { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::join!(add(), add(), add(), add(), add(), add(), add(), add());
    let found = store.get(&key("a/x/n")).await.unwrap().unwrap();
    assert_eq!(text(&found.object), (WRITERS * ADDITIONS).to_string());
    assert_eq!(found.revision, rev(1 + (WRITERS * ADDITIONS) as u64));
}

fn conflict(raw: &str, expected: Presence, found: Presence) -> Error {
    Error::Conflict { key: key(raw), expected, found }
}
