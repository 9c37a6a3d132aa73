//! Compaction.

use lanai_store::{At, Error, Filter, ListRequest, Store};

use crate::support::{events, key, lines, list, object, rev, under, watch_after};

pub async fn compaction_forgets_history_and_nothing_else(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.update(key("a/x/1"), rev(1), object("two")).await.unwrap();
    store.create(key("a/x/2"), object("three")).await.unwrap();
    store.update(key("a/x/1"), rev(2), object("four")).await.unwrap();
    store.delete(key("a/x/2"), rev(3)).await.unwrap();
    assert_eq!(store.compact(rev(3)).await.unwrap(), rev(3));
    assert_eq!(store.current().await.unwrap(), rev(5));
    assert_eq!(lines(&list(store, under("a")).await), ["1@4=four"]);
    let past = ListRequest { filter: under("a"), at: At::Revision(rev(3)), limit: None };
    assert_eq!(lines(&store.list(&past).await.unwrap()), ["1@2=two", "2@3=three"]);
    let mut watch = watch_after(store, 3, under("a")).await;
    assert_eq!(events(&mut watch, 2).await, ["4 ~ 1=four (was two@2)", "5 - 2=three@3"]);
    let found = store.get(&key("a/x/1")).await.unwrap().unwrap();
    assert_eq!((found.created, found.revision), (rev(1), rev(4)));
    assert_eq!(store.create(key("a/x/3"), object("six")).await.unwrap(), rev(6));
    assert_eq!(store.compact(rev(6)).await.unwrap(), rev(6));
    assert_eq!(lines(&list(store, under("a")).await), ["1@4=four", "3@6=six"]);
    assert_eq!(store.update(key("a/x/1"), rev(4), object("seven")).await.unwrap(), rev(7));
}

pub async fn compaction_out_of_range(store: &dyn Store) {
    for at in 1..=4 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    assert_eq!(store.compact(rev(5)).await, Err(Error::TooNew { asked: rev(5), current: rev(4) }));
    assert_eq!(store.compact(rev(2)).await, Ok(rev(2)));
    assert_eq!(store.compact(rev(1)).await, Ok(rev(2)), "the horizon does not go back");
    assert_eq!(store.compact(rev(4)).await, Ok(rev(4)));
}

pub async fn tombstones_go(store: &dyn Store) {
    for round in 0..3 {
        store.create(key("a/x/1"), object("")).await.unwrap();
        store.delete(key("a/x/1"), rev(2 * round + 1)).await.unwrap();
    }
    store.compact(rev(6)).await.unwrap();
    assert_eq!(store.count(&Filter::everything()).await.unwrap(), 0);
    assert_eq!(store.current().await.unwrap(), rev(6), "the counter outlives what it counted");
    assert_eq!(store.create(key("a/x/1"), object("")).await.unwrap(), rev(7));
}
