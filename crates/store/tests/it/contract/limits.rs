//! Every limit, on its edge.

use lanai_store::error::Invalid;
use lanai_store::{
    Blob, Condition, Error, Limits, ListRequest, Object, Presence, Store, Test, Transaction, WatchRequest,
    Write,
};
use lanai_types::ByteSize;

use crate::support::{claim, equals, key, labelled, list, object, under, with_label};

pub const SMALL: Limits = Limits {
    max_value: ByteSize::kib(4),
    max_attributes: ByteSize::bytes(100),
    max_attribute: ByteSize::bytes(60),
    max_blobs: 3,
    max_blob: ByteSize::kib(100),
    max_writes: 4,
    max_conditions: 2,
    max_transaction: ByteSize::kib(110),
    max_history: 10_000,
    max_window: 100,
    max_window_bytes: ByteSize::mib(1),
    max_versions: ByteSize::kib(4),
};

fn create(raw: &str, object: Object) -> Write {
    Write::Create { key: key(raw), object }
}

pub async fn limits_hold_on_their_edges(store: &dyn Store) {
    let refused = async |transaction: Transaction| match store.commit(transaction).await {
        Err(Error::Invalid(invalid)) => Some(invalid),
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    };
    let value = |length: usize| Object::plain(vec![7; length]);
    assert_eq!(refused(create("a/x/1", value(4096)).into()).await, None);
    let invalid = refused(create("a/x/2", value(4097)).into()).await.unwrap();
    assert_eq!(invalid.to_string(), "\"a/x/2\" has 4097 B, and at most 4 KiB are taken");

    let labels =
        |one: usize, other: usize| labelled("", &[("one", &"v".repeat(one)), ("other", &"v".repeat(other))]);
    assert_eq!(refused(create("a/x/3", labels(57, 35)).into()).await, None);
    assert!(matches!(
        refused(create("a/x/4", labels(57, 36)).into()).await,
        Some(Invalid::AttributesTooLarge { .. })
    ));
    assert!(matches!(
        refused(create("a/x/4", labels(58, 1)).into()).await,
        Some(Invalid::AttributeTooLarge { .. })
    ));

    let with_blobs = |raw: &str, contents: Vec<Vec<u8>>| {
        let blobs: Vec<Blob> = contents.into_iter().map(Blob::new).collect();
        let named = Object { blobs: blobs.iter().map(Blob::digest).collect(), ..object("") };
        Transaction { blobs, ..create(raw, named).into() }
    };
    let distinct = |number: u8| (0..number).map(|at| vec![at]).collect::<Vec<_>>();
    assert_eq!(refused(with_blobs("a/x/5", distinct(3))).await, None);
    assert!(matches!(refused(with_blobs("a/x/6", distinct(4))).await, Some(Invalid::TooManyBlobs { .. })));
    assert_eq!(refused(with_blobs("a/x/7", vec![vec![1; 102_400]])).await, None);
    assert!(matches!(
        refused(with_blobs("a/x/8", vec![vec![1; 102_401]])).await,
        Some(Invalid::BlobTooLarge { .. })
    ));

    let many = |first: usize, number: usize| {
        let writes = (first..first + number).map(|at| create(&format!("a/x/{at}"), object(""))).collect();
        Transaction { writes, ..Transaction::default() }
    };
    assert_eq!(refused(many(100, 4)).await, None);
    assert_eq!(refused(many(200, 5)).await, Some(Invalid::TooManyWrites { found: 5, limit: 4 }));

    let guarded = |first: usize, number: usize| {
        let absent = |at| Condition::Presence { key: key(&format!("b/x/{at}")), expected: Presence::Absent };
        Transaction { conditions: (0..number).map(absent).collect(), ..many(first, 1) }
    };
    assert_eq!(refused(guarded(300, 2)).await, None);
    assert_eq!(refused(guarded(301, 3)).await, Some(Invalid::TooManyConditions { found: 3, limit: 2 }));

    assert_eq!(refused(with_blobs("a/x/9", vec![vec![2; 102_400], vec![3; 10_240]])).await, None);
    let too_large = refused(with_blobs("a/x/10", vec![vec![4; 102_400], vec![5; 10_241]])).await;
    assert!(matches!(too_large, Some(Invalid::TransactionTooLarge { .. })));
}

pub async fn what_makes_no_sense_is_refused(store: &dyn Store) {
    let refused = async |transaction: Transaction| match store.commit(transaction).await {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Transaction::default()).await, Invalid::Empty);
    let twice = vec![create("a/x/1", object("")), create("a/x/1", object(""))];
    let twice = Transaction { writes: twice, ..Transaction::default() };
    assert_eq!(refused(twice).await, Invalid::WrittenTwice { key: key("a/x/1") });
    let idle = Blob::new("idle");
    let unnamed = Transaction { blobs: vec![idle.clone()], ..create("a/x/1", object("")).into() };
    assert_eq!(refused(unnamed).await, Invalid::BlobUnnamed { digest: idle.digest() });
    let nul = create("a/x/1", labelled("", &[("app", "a\0b")]));
    assert_eq!(refused(nul.into()).await, Invalid::AttributeWithNul { key: key("a/x/1") });
    assert_eq!(store.current().await.unwrap().get(), 0);
}

pub async fn who_holds_a_lease_has_a_name(store: &dyn Store) {
    for holder in ["", "a\0b", "a\nb", &"h".repeat(513)] {
        let error = store.acquire(claim("work", holder, 0, 10)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(Invalid::Name { what: "holder", .. })), "{error:?}");
    }
    let longest = "h".repeat(512);
    let lease = store.acquire(claim("work", &longest, 0, 10)).await.unwrap();
    assert_eq!(lease.holder, longest);
    let error = store.renew(&lease.fence, claim("work", "a\0b", 0, 10)).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
}

pub async fn selectors_of_any_size_are_answered(store: &dyn Store) {
    store.create(key("a/x/1"), labelled("", &[("app", "n7")])).await.unwrap();
    store.create(key("a/x/2"), labelled("", &[("app", "other")])).await.unwrap();
    let many: std::collections::BTreeSet<String> = (0..40_000).map(|at| format!("n{at}")).collect();
    let found = list(store, with_label(under("a"), "app", Test::In(many.clone()))).await;
    assert_eq!(found.items.len(), 1);
    assert_eq!(store.count(&with_label(under("a"), "app", Test::NotIn(many))).await.unwrap(), 1);

    for filter in [
        with_label(under("a"), "app", equals("n\u{0}7")),
        with_label(under("a"), "a\u{0}p", Test::Exists),
        with_label(under("a"), "app", Test::NotIn(["\u{0}".into()].into())),
    ] {
        let nul = Error::Invalid(Invalid::SelectorWithNul);
        assert_eq!(store.list(&ListRequest::all(filter.clone())).await.unwrap_err(), nul);
        assert_eq!(store.count(&filter).await.unwrap_err(), nul);
        let watch = store.watch(WatchRequest::after(lanai_store::Revision::ZERO, filter)).await;
        assert_eq!(watch.unwrap_err(), nul);
    }
}
