//! `kill -9`, again and again, and one history of all of it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use lanai_store::{PostgresStore, SqliteStore, Store, postgres, sqlite};
use lanai_testkit::history::{Entry, Heard, History, Recorder, Sink, View, check};

use super::LIMITS;
use super::clients::{Chance, Ending, Workload};
use crate::postgres::cluster::{Cluster, Disk};
use crate::support::PATIENCE;

const KILLS: u64 = 6;
const FOLDER: &str = "LANAI_TEST_JUDGE_FOLDER";
/// Of a PostgreSQL; empty where the store is in the folder.
const ADDRESS: &str = "LANAI_TEST_JUDGE_ADDRESS";
const RUN: &str = "LANAI_TEST_JUDGE_RUN";
const AUDIT_FROM: &str = "LANAI_TEST_JUDGE_AUDIT_FROM";
const ENDING: &str = "LANAI_TEST_JUDGE_ENDING";

#[test]
fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    judge(folder.path(), "", KILLS);
    let verified = sqlite::verify(&folder.path().join("store.db")).unwrap();
    assert_eq!(verified.findings, []);
}

/// The server goes on; what a process had begun there ends with its connection.
#[test]
fn postgres() {
    let Some(cluster) = Cluster::start("store::judge::killed::postgres", Disk::Unsynced) else { return };
    let folder = tempfile::tempdir().unwrap();
    judge(folder.path(), &cluster.address(), 4);
}

/// Runs a workload, and kills it so often; then one to its end.
fn judge(folder: &Path, address: &str, kills: u64) {
    let mut chance = Chance::new(7);
    let mut history = History::default();
    for run in 0..=kills {
        let lines = (run < kills).then(|| 500 + chance.below(2_500));
        let next = child(folder, address, run, audited(&history), lines);
        history = if run == 0 { next } else { history.then_killed(next) };
    }
    match check(&history) {
        Ok(summary) => {
            println!("{summary:?}");
            assert_eq!(summary.kills as u64, kills);
            assert!(
                summary.commits > 150 && summary.unknown > 0 && summary.expired > 0 && summary.events > 1_000,
                "{summary:?}"
            );
        }
        Err(violations) => panic!("{violations:#?}"),
    }
}

/// What the auditors have heard without a gap: where the next one begins.
fn audited(history: &History) -> u64 {
    let mut auditors = Vec::new();
    let mut heard = 0;
    for entry in &history.entries {
        match entry {
            Entry::Open { watch, filter, after } if *filter == View::everything() && *after == heard => {
                auditors.push(*watch);
            }
            Entry::Heard { watch, signal } if auditors.contains(watch) => {
                if let Heard::Created { revision, .. }
                | Heard::Updated { revision, .. }
                | Heard::Deleted { revision, .. } = signal
                    && *revision == heard + 1
                {
                    heard = *revision;
                }
            }
            Entry::Open { .. }
            | Entry::Heard { .. }
            | Entry::Call { .. }
            | Entry::Return { .. }
            | Entry::Stalled { .. }
            | Entry::Trouble
            | Entry::Killed => {}
        }
    }
    heard
}

/// Runs a workload in a child; kills it after so many lines of its history.
#[allow(clippy::disallowed_methods, reason = "a test starts itself again, to be killed")]
fn child(folder: &Path, address: &str, run: u64, audit_from: u64, lines: Option<u64>) -> History {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "judge::killed::child_at_work", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(ADDRESS, address)
        .env(RUN, run.to_string())
        .env(AUDIT_FROM, audit_from.to_string())
        .env(ENDING, if lines.is_some() { "killed" } else { "last" })
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    let mut line = String::new();
    let mut number = 0;
    loop {
        line.clear();
        if output.read_line(&mut line).unwrap() == 0 {
            break;
        }
        // The rest is what the test harness says.
        if line.starts_with('{') {
            text.push_str(&line);
            number += 1;
        }
        if Some(number) == lines {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(status.success(), lines.is_none(), "run {run}: {status}");
    History::read(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the test above"]
async fn child_at_work() {
    let number = |name: &str| -> u64 { std::env::var(name).unwrap().parse().unwrap() };
    // What the harness has begun to say ends here.
    println!();
    let run = number(RUN);
    let folder = std::env::var_os(FOLDER).unwrap();
    let folder = Path::new(&folder);
    let address = std::env::var(ADDRESS).unwrap();
    let store: Arc<dyn Store> = if address.is_empty() {
        let options = sqlite::Options { limits: LIMITS, ..sqlite::Options::default() };
        Arc::new(SqliteStore::open(folder, options).unwrap())
    } else {
        let options = postgres::Options { limits: LIMITS, ..postgres::Options::default() };
        Arc::new(PostgresStore::open(&address, &folder.join("store.key"), options).await.unwrap())
    };
    let recorder = Arc::new(Recorder::new(run * 1_000_000_000, Sink::Output));
    let ending = if std::env::var(ENDING).unwrap() == "killed" { Ending::Killed } else { Ending::CatchUp };
    let workload = Workload { seed: 11, run, audit_from: number(AUDIT_FROM), ending, patience: PATIENCE };
    workload.run(store, recorder).await;
}
