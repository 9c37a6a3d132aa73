//! What every back end promises, asked of each in turn.
//!
//! A case is a function that takes an empty store. [`CASES`] lists them all; a back end runs the list.

mod blobs;
mod history;
mod leases;
mod limits;
mod reading;
mod watching;
mod writing;

use std::future::Future;
use std::pin::Pin;

use lanai_store::{Limits, MemoryStore, SqliteStore, Store, sqlite};

/// A case: an empty store in, a panic if it breaks the contract.
pub type Case = fn(&dyn Store) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

/// A case with its name.
pub struct Named {
    pub name: &'static str,
    pub run: Case,
}

macro_rules! cases {
    ($($module:ident :: { $($name:ident),* $(,)? }),* $(,)?) => {
        /// All cases.
        pub const CASES: &[Named] = &[$($(
            Named { name: concat!(stringify!($module), "::", stringify!($name)), run: |store| Box::pin($module::$name(store)) },
        )*)*];
    };
}

cases! {
    writing::{
        revisions_count_up, a_second_create_is_refused, an_update_needs_the_newest_revision, a_delete_needs_the_newest_revision,
        a_transaction_is_all_or_nothing, conditions_are_checked_and_write_nothing, the_first_failure_is_told,
        an_object_that_comes_back_is_a_new_one, writers_that_race_lose_no_update,
    },
    reading::{
        lists_are_sorted_and_bounded_by_a_prefix, pages_are_one_snapshot, lists_of_the_past, lists_out_of_range,
        labels_and_fields_select, selection_in_the_past, counting,
    },
    watching::{
        events_come_in_order, a_watch_resumes_behind_any_event, a_watch_from_now, a_filtered_watch_sees_a_filtered_world,
        bookmarks_come_when_nothing_else_does, a_watch_of_the_future_is_refused, a_slow_watcher_is_cut_off, a_dropped_wait_loses_nothing,
        many_watchers_see_the_same,
    },
    history::{compaction_forgets_history_and_nothing_else, compaction_out_of_range, tombstones_go},
    blobs::{blobs_live_with_what_names_them, a_missing_blob_is_named, blobs_are_kept_for_history},
    leases::{
        a_lease_has_one_holder, a_fence_guards_a_commit, fencing_numbers_grow, a_renewal_keeps_the_number, a_number_renews_its_own_lease_only,
        a_lease_that_is_long_over_is_forgotten,
    },
    limits::{
        limits_hold_on_their_edges, what_makes_no_sense_is_refused, who_holds_a_lease_has_a_name,
        selectors_of_any_size_are_answered,
    },
}

/// Small enough that a case can reach each of them.
pub const SMALL: Limits = limits::SMALL;

#[tokio::test]
async fn memory() {
    for case in CASES {
        println!("{}", case.name);
        (case.run)(&MemoryStore::new(SMALL)).await;
    }
}

#[tokio::test]
async fn sqlite() {
    for case in CASES {
        println!("{}", case.name);
        let folder = tempfile::tempdir().unwrap();
        let options = sqlite::Options { limits: SMALL, ..sqlite::Options::default() };
        let store = SqliteStore::open(folder.path(), options).unwrap();
        (case.run)(&store).await;
        drop(store);
        let verified = sqlite::verify(&folder.path().join("store.db")).unwrap();
        assert_eq!(verified.findings, [], "{}", case.name);
    }
}
