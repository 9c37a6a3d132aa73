//! Stores under many hands, and a judge who has seen everything.
//!
//! Clients write, read and list at random; watchers come and go, some of them slow; history is compacted under their feet. All is recorded, and
//! `lanai_testkit::history` says whether a store that keeps the contract can have answered so. `broken` turns the question around.

mod broken;
mod clients;
mod killed;
mod words;

use std::sync::Arc;

use lanai_store::{Limits, MemoryStore, SqliteStore, Store, sqlite};
use lanai_testkit::history::{Recorder, Sink, Summary, check};

use crate::support::PATIENCE;
pub use clients::{Chance, Ending, Workload};

/// History is kept until somebody compacts.
pub const LIMITS: Limits = Limits { max_history: u64::MAX / 4, max_window: 200, ..Limits::DEFAULT };

/// A run with all that is to be judged in it.
fn is_worth_judging(summary: Summary) {
    println!("{summary:?}");
    assert!(summary.commits > 60 && summary.reads > 200 && summary.lists > 100, "{summary:?}");
    assert!(summary.events > 400 && summary.bookmarks > 0 && summary.counts > 0, "{summary:?}");
}

/// All runs together met history that was forgotten, and outcomes that nobody knows.
pub fn were_hard(summaries: &[Summary]) {
    assert!(summaries.iter().any(|summary| summary.expired > 0), "{summaries:?}");
    assert!(summaries.iter().any(|summary| summary.unknown > 0), "{summaries:?}");
    assert!(summaries.iter().any(|summary| summary.too_new > 0), "{summaries:?}");
}

async fn judged(store: Arc<dyn Store>, seed: u64) -> Summary {
    let recorder = Arc::new(Recorder::new(0, Sink::Memory));
    let workload = Workload { seed, run: 0, audit_from: 0, ending: Ending::CatchUp, patience: PATIENCE };
    workload.run(store, recorder.clone()).await;
    match check(&recorder.history()) {
        Ok(summary) => summary,
        Err(violations) => panic!("seed {seed}: {violations:#?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory() {
    let mut expired = 0;
    for seed in 1..=5 {
        let summary = judged(Arc::new(MemoryStore::new(LIMITS)), seed).await;
        is_worth_judging(summary);
        expired += summary.expired;
    }
    // It answers at once, so that nobody gives up on it.
    assert!(expired > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite() {
    let mut summaries = Vec::new();
    for seed in 1..=3 {
        let folder = tempfile::tempdir().unwrap();
        let options = sqlite::Options { limits: LIMITS, ..sqlite::Options::default() };
        let store = SqliteStore::open(folder.path(), options).unwrap();
        let summary = judged(Arc::new(store.clone()), seed).await;
        is_worth_judging(summary);
        summaries.push(summary);
        drop(store);
    }
    were_hard(&summaries);
}
