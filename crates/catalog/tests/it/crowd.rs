//! Many who ask for the same, in several processes, some of which are killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lanai_catalog::{Begun, Catalog, Kept, Options};

use crate::{inputs, open, soaks, subject};

/// Says to a process of this test what it is to do.
const WORK: &str = "LANAI_CATALOG_WORK";
const LEASE: Duration = Duration::from_millis(1_500);

fn options() -> Options {
    Options { lease: LEASE, ..Options::default() }
}

/// Appends a line to a file that processes share.
fn note(folder: &Path, file: &str, line: &str) {
    let mut log = File::options().create(true).append(true).open(folder.join(file)).unwrap();
    log.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn notes(folder: &Path, file: &str) -> Vec<String> {
    fs::read_to_string(folder.join(file)).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[allow(clippy::disallowed_methods, reason = "the test starts itself again, as another process")]
fn process(folder: &Path, askers: usize, name: &str, takes: Duration) -> Child {
    let work = format!("{askers} {name} {} {}", takes.as_millis(), folder.display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crowd::works_for_somebody_else", "--nocapture"])
        .env(WORK, work)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test by itself: one of the processes of the others.
#[tokio::test]
async fn works_for_somebody_else() {
    let Ok(work) = std::env::var(WORK) else { return };
    let mut words = work.splitn(4, ' ');
    let mut next = || words.next().unwrap();
    let (askers, name, takes) = (next(), next(), Duration::from_millis(next().parse().unwrap()));
    let folder = PathBuf::from(next());
    let catalog = open(&folder, options());
    let askers = (0..askers.parse().unwrap()).map(|_| {
        let (catalog, folder, name) = (catalog.clone(), folder.clone(), name.to_owned());
        tokio::spawn(async move { ask(&catalog, &folder, &name, takes).await })
    });
    let askers: Vec<_> = askers.collect();
    for asker in askers {
        asker.await.unwrap();
    }
}

async fn ask(catalog: &Catalog, folder: &Path, name: &str, takes: Duration) {
    let answer = match catalog.begin(&inputs(name), &subject()).await {
        Begun::Hit(hit) => String::from_utf8(hit.content.to_vec()).unwrap(),
        Begun::Run(ticket, _) => {
            let me = std::process::id();
            note(folder, "runs", &format!("{name} {me}"));
            tokio::time::sleep(takes).await;
            // No two would make the same.
            let answer = format!("{name} by {me}");
            assert_eq!(ticket.keep(Bytes::from(answer.clone().into_bytes())).await, Kept::Stored);
            answer
        }
    };
    note(folder, "answers", &answer);
}

#[test]
fn one_of_many_runs_and_the_others_wait_for_it() {
    let askers = if soaks() { 250 } else { 50 };
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let processes: Vec<Child> =
        (0..4).map(|_| process(folder.path(), askers, "x", Duration::from_millis(700))).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(notes(folder.path(), "runs").len(), 1);
    let answers = notes(folder.path(), "answers");
    assert_eq!(answers.len(), 4 * askers);
    assert_eq!(answers.iter().collect::<BTreeSet<_>>().len(), 1);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_work_of_the_dead_is_taken_over() {
    let rounds = if soaks() { 100 } else { 3 };
    let folder = tempfile::tempdir().unwrap();
    let mut chance: u64 = 88_172_645_463_325_252;
    for round in 0..rounds {
        let name = format!("x{round}");
        let takes = Duration::from_millis(400);
        let mut processes: Vec<Child> = (0..3).map(|_| process(folder.path(), 5, &name, takes)).collect();
        let runs = || -> Vec<u32> {
            let runs = notes(folder.path(), "runs").into_iter();
            let runs = runs.filter_map(|run| Some(run.strip_prefix(&format!("{name} "))?.parse().unwrap()));
            runs.collect()
        };
        while runs().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        // Before, while and after it keeps what it made.
        tokio::time::sleep(Duration::from_millis(chance % 450)).await;
        let holder = runs()[0];
        let victim = processes.iter_mut().find(|process| process.id() == holder).unwrap();
        victim.kill().unwrap();
        let killed = Instant::now();
        for mut process in processes {
            let status = process.wait().unwrap();
            assert!(status.success() || process.id() == holder, "{status}");
        }
        // Two leases and what the work takes are the bound for the others, and nothing for the first of them.
        assert!(killed.elapsed() < LEASE + takes + Duration::from_secs(2), "{:?}", killed.elapsed());
        assert!(runs().len() <= 2, "{:?}", runs());
        let of_name = |answer: &String| answer.starts_with(&format!("{name} "));
        let answers: BTreeSet<String> = notes(folder.path(), "answers").into_iter().filter(of_name).collect();
        assert_eq!(answers.len(), 1, "two results for one key: {answers:?}");
    }
}
