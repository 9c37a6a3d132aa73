//! What all records promise.

use std::time::Duration;

use lanai_catalog::{
    Claim, Committed, Entry, Key, MemoryRecords, Moment, Outcome, Records, Reserved, SqliteRecords, Total,
    digest_of,
};
use lanai_types::FencingNumber;

use crate::{inputs, subject};

const LEASE: Duration = Duration::from_secs(10);

/// Runs a test with each kind of records.
fn check(test: impl Fn(&dyn Records)) {
    test(&MemoryRecords::default());
    let folder = tempfile::tempdir().unwrap();
    test(&SqliteRecords::open(folder.path()).unwrap());
}

fn key(name: &str) -> Key {
    inputs(name).key()
}

fn reserve(records: &dyn Records, name: &str, owner: &str, now: u64) -> Reserved {
    records.reserve(&Claim { key: &key(name), owner, time: LEASE, now: Moment(now), dead: None }).unwrap()
}

#[track_caller]
fn granted(records: &dyn Records, name: &str, owner: &str, now: u64) -> FencingNumber {
    match reserve(records, name, owner, now) {
        Reserved::Granted(number) => number,
        other => panic!("{other:?}"),
    }
}

fn entry(name: &str, content: &str, outcome: Outcome, used: u64) -> Entry {
    Entry {
        key: key(name),
        blob: digest_of(content.as_bytes()),
        size: content.len() as u64,
        outcome,
        subject: subject(),
        made: Moment(used),
        used: Moment(used),
    }
}

fn commit(records: &dyn Records, name: &str, content: &str, outcome: Outcome, now: u64) {
    let number = granted(records, name, "a", now);
    let committed = records.commit(&entry(name, content, outcome, now), number, &inputs(name).trace());
    assert_eq!(committed.unwrap(), Committed::Stored);
}

#[test]
fn one_has_a_lease_at_a_time_and_can_extend_it() {
    check(|records| {
        let first = granted(records, "x", "a", 0);
        let until = Moment(10_000);
        assert_eq!(reserve(records, "x", "b", 9_999), Reserved::Held { owner: "a".into(), until });
        assert_eq!(granted(records, "x", "a", 5_000), first, "extending keeps the number");
        assert!(matches!(reserve(records, "x", "b", 14_999), Reserved::Held { .. }));
        let second = granted(records, "x", "b", 15_000);
        assert!(second > first, "the time is over on the edge, and the number grows");
        assert!(granted(records, "y", "a", 0) > second, "keys do not share leases, and share the counter");
    });
}

#[test]
fn the_lease_of_the_dead_is_free() {
    check(|records| {
        let first = granted(records, "x", "a", 0);
        let claim =
            |dead| records.reserve(&Claim { key: &key("x"), owner: "b", time: LEASE, now: Moment(1), dead });
        assert!(matches!(claim(Some("c")).unwrap(), Reserved::Held { .. }), "another one is dead");
        assert!(matches!(claim(Some("a")).unwrap(), Reserved::Granted(second) if second > first));
    });
}

#[test]
fn a_lease_that_was_given_back_is_free() {
    check(|records| {
        let first = granted(records, "x", "a", 0);
        records.release(&key("x"), first).unwrap();
        let second = granted(records, "x", "b", 1);
        assert!(second > first);
        records.release(&key("x"), first).unwrap();
        assert!(matches!(reserve(records, "x", "c", 2), Reserved::Held { .. }), "only its own");
    });
}

#[test]
fn a_stale_write_is_refused() {
    check(|records| {
        let first = granted(records, "x", "a", 0);
        let second = granted(records, "x", "b", 20_000);
        let trace = inputs("x").trace();
        let late = records.commit(&entry("x", "late", Outcome::Success, 20_001), first, &trace);
        assert_eq!(late.unwrap(), Committed::Stale);
        assert_eq!(records.find(&key("x"), Moment(20_001)).unwrap(), None);
        let good = entry("x", "good", Outcome::Success, 20_002);
        assert_eq!(records.commit(&good, second, &trace).unwrap(), Committed::Stored);
        let late = records.commit(&entry("x", "late", Outcome::Success, 20_003), first, &trace);
        assert_eq!(late.unwrap(), Committed::Stale, "also when nobody has the lease any more");
        assert_eq!(records.find(&key("x"), Moment(20_004)).unwrap(), Some(good));
        assert_eq!(reserve(records, "x", "c", 20_005), Reserved::Done);
    });
}

#[test]
fn a_lease_that_ran_out_and_was_not_taken_is_good_for_finishing() {
    check(|records| {
        let number = granted(records, "x", "a", 0);
        let late = entry("x", "late", Outcome::Success, 60_000);
        assert_eq!(records.commit(&late, number, &inputs("x").trace()).unwrap(), Committed::Stored);
    });
}

#[test]
fn failures_count_for_their_time() {
    check(|records| {
        commit(records, "x", "failed", Outcome::Failure { until: Moment(100) }, 0);
        assert!(records.find(&key("x"), Moment(99)).unwrap().is_some());
        assert_eq!(reserve(records, "x", "b", 99), Reserved::Done);
        assert_eq!(records.find(&key("x"), Moment(100)).unwrap(), None);
        commit(records, "x", "good", Outcome::Success, 100);
        assert_eq!(records.total().unwrap(), Total { entries: 1, bytes: 4 }, "it was replaced");
    });
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    check(|records| {
        commit(records, "a", "1111", Outcome::Success, 1_000);
        commit(records, "b", "2222", Outcome::Success, 2_000);
        commit(records, "c", "2222", Outcome::Success, 3_000);
        commit(records, "d", "4444", Outcome::Failure { until: Moment(5_000) }, 4_000);
        records.used(&key("a"), &subject(), &inputs("a").trace(), Moment(100_000)).unwrap();
        let gone = records.evict(100, Moment(100_000)).unwrap();
        assert_eq!(gone, [digest_of(b"4444")], "what does not count goes, whatever room there is");
        assert_eq!(records.evict(8, Moment(100_000)).unwrap(), [], "the blob of b is also that of c");
        assert!(records.names(&digest_of(b"2222")).unwrap());
        assert_eq!(records.evict(4, Moment(100_000)).unwrap(), [digest_of(b"2222")]);
        let left: Vec<Key> = records.entries(None, 10).unwrap().iter().map(|entry| entry.key).collect();
        assert_eq!(left, [key("a")]);
        assert_eq!(records.total().unwrap(), Total { entries: 1, bytes: 4 });
    });
}

#[test]
fn an_entry_is_forgotten_only_for_the_blob_that_was_seen() {
    check(|records| {
        commit(records, "x", "one", Outcome::Success, 0);
        assert!(!records.forget(&key("x"), &digest_of(b"other")).unwrap());
        assert!(records.forget(&key("x"), &digest_of(b"one")).unwrap());
        assert_eq!(records.total().unwrap(), Total::default());
    });
}

#[test]
fn entries_come_in_pages() {
    check(|records| {
        (0..5).for_each(|name| commit(records, &name.to_string(), "x", Outcome::Success, name));
        let all = records.entries(None, 10).unwrap();
        assert!(all.is_sorted_by_key(|entry| entry.key));
        let rest = records.entries(Some(&all[1].key), 2).unwrap();
        assert_eq!(rest, all[2..4]);
    });
}

#[test]
fn the_inputs_of_the_last_time_are_known() {
    check(|records| {
        assert_eq!(records.last(&subject()).unwrap(), None);
        commit(records, "x", "one", Outcome::Success, 0);
        commit(records, "y", "two", Outcome::Success, 0);
        assert_eq!(records.last(&subject()).unwrap(), Some(inputs("y").trace()));
        records.used(&key("x"), &subject(), &inputs("x").trace(), Moment(1)).unwrap();
        assert_eq!(records.last(&subject()).unwrap(), Some(inputs("x").trace()));
    });
}
