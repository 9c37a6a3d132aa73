//! Watches: ordered, unique, complete, resumable, filtered.

use std::time::Duration;

use lanai_store::{Bookmarks, Error, Filter, Signal, Store, Transaction, WatchFrom, WatchRequest, Write};

use crate::support::{
    equals, event, events, key, labelled, line, object, rev, signal, under, watch_after,
    watch_with_bookmarks, with_label,
};

/// Five things happen to two objects.
async fn five(store: &dyn Store) {
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.update(key("a/x/1"), rev(1), object("two")).await.unwrap();
    let writes = vec![
        Write::Delete { key: key("a/x/1"), expected: rev(2) },
        Write::Create { key: key("a/x/2"), object: object("four") },
    ];
    store.commit(Transaction { writes, ..Transaction::default() }).await.unwrap();
    store.create(key("a/x/1"), object("five")).await.unwrap();
}

const FIVE: [&str; 5] = ["1 + 1=one", "2 ~ 1=two (was one@1)", "3 - 1=two@2", "4 + 2=four", "5 + 1=five"];

pub async fn events_come_in_order(store: &dyn Store) {
    let mut early = watch_after(store, 0, Filter::everything()).await;
    five(store).await;
    let mut late = watch_after(store, 0, Filter::everything()).await;
    assert_eq!(events(&mut early, 5).await, FIVE);
    assert_eq!(events(&mut late, 5).await, FIVE);
    assert_eq!((early.position(), late.position()), (rev(5), rev(5)));
}

pub async fn a_watch_resumes_behind_any_event(store: &dyn Store) {
    five(store).await;
    for after in 0..5 {
        let mut watch = watch_after(store, after as u64, under("a")).await;
        assert_eq!(events(&mut watch, 5 - after).await, FIVE[after..]);
    }
}

pub async fn a_watch_from_now(store: &dyn Store) {
    five(store).await;
    let request = WatchRequest { filter: under("a"), from: WatchFrom::Now, bookmarks: Bookmarks::Never };
    let mut watch = store.watch(request).await.unwrap();
    assert_eq!(watch.position(), rev(5));
    store.delete(key("a/x/2"), rev(4)).await.unwrap();
    assert_eq!(events(&mut watch, 1).await, ["6 - 2=four@4"]);
}

pub async fn a_filtered_watch_sees_a_filtered_world(store: &dyn Store) {
    let filter = with_label(under("a"), "app", equals("shop"));
    let mut watch = watch_after(store, 0, filter.clone()).await;
    store.create(key("b/x/1"), labelled("elsewhere", &[("app", "shop")])).await.unwrap();
    store.create(key("a/x/1"), object("without")).await.unwrap();
    store.update(key("a/x/1"), rev(2), labelled("in", &[("app", "shop")])).await.unwrap();
    store.update(key("a/x/1"), rev(3), labelled("still", &[("app", "shop")])).await.unwrap();
    store.update(key("a/x/1"), rev(4), labelled("out", &[("app", "blog")])).await.unwrap();
    store.delete(key("a/x/1"), rev(5)).await.unwrap();
    store.create(key("a/x/2"), labelled("last", &[("app", "shop")])).await.unwrap();
    let expected = ["3 + 1=in", "4 ~ 1=still (was in@3)", "5 - 1=still@4", "7 + 2=last"];
    assert_eq!(events(&mut watch, 4).await, expected);
    let mut again = watch_after(store, 4, filter).await;
    assert_eq!(events(&mut again, 2).await, expected[2..]);
}

pub async fn bookmarks_come_when_nothing_else_does(store: &dyn Store) {
    let mut watch = watch_with_bookmarks(store, 0, under("a"), 3).await;
    store.create(key("b/x/1"), object("")).await.unwrap();
    store.create(key("a/x/1"), object("seen")).await.unwrap();
    for at in 2..=4 {
        store.create(key(&format!("b/x/{at}")), object("")).await.unwrap();
    }
    assert_eq!(line(&event(&mut watch).await), "2 + 1=seen");
    assert_eq!(signal(&mut watch).await.unwrap(), Signal::Bookmark(rev(5)));
    assert_eq!(watch.position(), rev(5));
    store.create(key("a/x/2"), object("seen")).await.unwrap();
    assert_eq!(line(&event(&mut watch).await), "6 + 2=seen");
}

pub async fn a_watch_of_the_future_is_refused(store: &dyn Store) {
    five(store).await;
    let error = store.watch(WatchRequest::after(rev(6), under("a"))).await.unwrap_err();
    assert_eq!(error, Error::TooNew { asked: rev(6), current: rev(5) });
}

pub async fn a_slow_watcher_is_cut_off(store: &dyn Store) {
    let mut slow = watch_after(store, 0, under("a")).await;
    for at in 1..=300 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    store.compact(rev(299)).await.unwrap();
    let mut last = 0;
    let reason = loop {
        match signal(&mut slow).await {
            Ok(Signal::Event(event)) => {
                assert_eq!(event.revision, rev(last + 1), "what is handed out has no gap");
                last += 1;
            }
            Ok(Signal::Bookmark(revision)) => panic!("nobody asked for a bookmark at {revision}"),
            Err(reason) => break reason,
        }
    };
    assert_eq!(reason, Error::Expired { asked: slow.position(), horizon: rev(299) });
    assert!(last < 299);
    let error = store.watch(WatchRequest::after(rev(298), under("a"))).await.unwrap_err();
    assert_eq!(error, Error::Expired { asked: rev(298), horizon: rev(299) });
    let mut watch = watch_after(store, 299, under("a")).await;
    assert_eq!(event(&mut watch).await.revision, rev(300));
}

pub async fn a_dropped_wait_loses_nothing(store: &dyn Store) {
    let mut watch = watch_after(store, 0, under("a")).await;
    for at in 1..=100 {
        let nothing = tokio::time::timeout(Duration::ZERO, watch.next()).await;
        if let Ok(found) = nothing {
            panic!("{found:?} came before it was written");
        }
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
        assert_eq!(event(&mut watch).await.revision, rev(at));
    }
}

pub async fn many_watchers_see_the_same(store: &dyn Store) {
    const WATCHERS: usize = 20;
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        watches.push(watch_after(store, 0, under("a")).await);
    }
    for at in 1..=50 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    for watch in &mut watches {
        for at in 1..=50 {
            assert_eq!(event(watch).await.revision, rev(at));
        }
    }
}
