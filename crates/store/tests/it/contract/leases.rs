//! Leases and their fencing numbers.

use lanai_store::error::Invalid;
use lanai_store::lease::{FORGOTTEN_AFTER, Moment};
use lanai_store::{Condition, Error, Fence, Store, Transaction, Write};

use crate::support::{claim, key, object, rev};

pub async fn a_lease_has_one_holder(store: &dyn Store) {
    let first = store.acquire(claim("work", "ann", 1_000, 500)).await.unwrap();
    assert_eq!((first.holder.as_str(), first.until), ("ann", Moment(1_500)));
    let error = store.acquire(claim("work", "bob", 1_499, 500)).await.unwrap_err();
    assert_eq!(
        error,
        Error::Held { lease: "work".parse().unwrap(), holder: "ann".into(), until: Moment(1_500) }
    );
    store.acquire(claim("other", "bob", 1_499, 500)).await.unwrap();
    let second = store.acquire(claim("work", "bob", 1_500, 500)).await.unwrap();
    assert!(second.fence.number > first.fence.number);
    assert_eq!(store.current().await.unwrap(), rev(0), "leases take no revisions");
}

fn guarded(fence: &Fence, name: &str) -> Transaction {
    Transaction {
        conditions: vec![Condition::Holds(fence.clone())],
        ..Write::Create { key: key(name), object: object("") }.into()
    }
}

pub async fn a_fence_guards_a_commit(store: &dyn Store) {
    let first = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    store.commit(guarded(&first, "a/x/1")).await.unwrap();
    // Its time is over, and nobody took it: it may finish.
    let second = store.acquire(claim("work", "bob", 10, 10)).await.unwrap().fence;
    let error = store.commit(guarded(&first, "a/x/2")).await.unwrap_err();
    let fenced =
        Error::Fenced { lease: "work".parse().unwrap(), shown: first.number, newest: Some(second.number) };
    assert_eq!(error, fenced);
    store.commit(guarded(&second, "a/x/2")).await.unwrap();
    store.release(&second).await.unwrap();
    let error = store.commit(guarded(&second, "a/x/3")).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { newest: None, .. }), "{error:?}");
}

pub async fn fencing_numbers_grow(store: &dyn Store) {
    let mut last = 0;
    for round in 0..5 {
        let lease = store.acquire(claim("work", "ann", round, 10)).await.unwrap();
        assert!(lease.fence.number.get() > last);
        last = lease.fence.number.get();
        if round % 2 == 0 {
            store.release(&lease.fence).await.unwrap();
        }
    }
}

pub async fn a_renewal_keeps_the_number(store: &dyn Store) {
    let first = store.acquire(claim("work", "ann", 0, 10)).await.unwrap();
    let renewed = store.renew(&first.fence, claim("work", "ann", 100, 10)).await.unwrap();
    assert_eq!((&renewed.fence, renewed.until), (&first.fence, Moment(110)), "also when its time is over");
    let second = store.acquire(claim("work", "bob", 110, 10)).await.unwrap();
    let error = store.renew(&first.fence, claim("work", "ann", 111, 10)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
    // Who was fenced gives back what it does not have.
    store.release(&first.fence).await.unwrap();
    store.commit(guarded(&second.fence, "a/x/1")).await.unwrap();
}

pub async fn a_number_renews_its_own_lease_only(store: &dyn Store) {
    let ann = store.acquire(claim("work", "ann", 0, 10)).await.unwrap();
    let bob = store.acquire(claim("other", "bob", 0, 10)).await.unwrap();
    let error = store.renew(&ann.fence, claim("other", "ann", 1, 10)).await.unwrap_err();
    let (shown, claimed) = ("work".parse().unwrap(), "other".parse().unwrap());
    assert_eq!(error, Error::Invalid(Invalid::OtherLease { shown, claimed }));
    let error = store.renew(&ann.fence, claim("work", "bob", 1, 10)).await.unwrap_err();
    assert!(matches!(error, Error::Held { .. }), "{error:?}");
    store.commit(guarded(&bob.fence, "a/x/1")).await.unwrap();
    store.commit(guarded(&ann.fence, "a/x/2")).await.unwrap();
}

/// Leases that nobody gives back do not stay for ever.
pub async fn a_lease_that_is_long_over_is_forgotten(store: &dyn Store) {
    let day = u64::try_from(FORGOTTEN_AFTER.as_millis()).unwrap();
    let first = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    store.acquire(claim("other", "bob", 10 + day, 10)).await.unwrap();
    store.commit(guarded(&first, "a/x/1")).await.unwrap();
    store.acquire(claim("other", "bob", 11 + day, 10)).await.unwrap();
    let error = store.commit(guarded(&first, "a/x/2")).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { newest: None, .. }), "{error:?}");
}
