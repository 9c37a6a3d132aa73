//! One writer at a time.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use lanai_folder::{Error, Recovery, Step, lock, recover};

use crate::support::{Place, names, package};

#[test]
fn the_second_is_told_who_the_first_is() {
    let place = Place::new();
    let held = lock(&place.root(), "\"lanai pkg update\" (process 7)").unwrap();
    let root = place.root().display().to_string();
    let expected = format!("package \"{root}\" is being changed by \"lanai pkg update\" (process 7)");
    assert_eq!(lock(&place.root(), "me").unwrap_err().to_string(), expected);
    fs::create_dir(place.path("inner")).unwrap();
    assert_eq!(lock(&place.path("inner"), "me").unwrap_err().to_string(), expected);
    drop(held);
    drop(lock(&place.path("inner"), "me").unwrap());
    assert_eq!(names(&place.root()), ["inner"], "nothing is left");
}

#[test]
fn whoever_only_looks_is_in_nobodys_way() {
    let place = Place::with(&package(&[("a", "1")]));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    if let Ok(file) = fs::File::open(place.path(".lanai-change/lock")) {
                        let _ = file.try_lock_shared();
                    }
                }
            });
        }
        for _ in 0..500 {
            // What a killed process leaves, so that there is something to look at.
            fs::create_dir(place.path(".lanai-change")).unwrap();
            fs::write(place.path(".lanai-change/lock"), "a process that is gone").unwrap();
            drop(place.lock());
        }
        is_done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_journal_of_somebody_at_work_is_left_alone() {
    let place = Place::with(&package(&[("a", "1")]));
    let held = place.lock();
    fs::write(place.path(".lanai-change/journal"), "lanai jour").unwrap();
    assert!(matches!(recover(&place.root(), &mut place.copies(), &mut ()), Err(Error::Locked { .. })));
    drop(held);
    assert_eq!(recover(&place.root(), &mut place.copies(), &mut ()).unwrap(), Recovery::Undone);
    assert_eq!(recover(&place.root(), &mut place.copies(), &mut ()).unwrap(), Recovery::Nothing);
    assert_eq!(names(&place.root()), ["a"]);
}

#[test]
fn an_old_lock_is_nobodys() {
    let place = Place::new();
    fs::create_dir(place.path(".lanai-change")).unwrap();
    fs::write(place.path(".lanai-change/lock"), "a process that is gone").unwrap();
    assert_eq!(recover(&place.root(), &mut place.copies(), &mut ()).unwrap(), Recovery::Nothing);
    assert_eq!(names(&place.root()), [""; 0]);
}

#[test]
fn a_journal_of_another_folder_is_not_obeyed() {
    let (before, after) = (package(&[("a", "1")]), package(&[("a", "2")]));
    let place = Place::with(&before);
    let lock = place.lock();
    let mut stolen = None;
    let mut steal = |step| {
        if step == Step::JournalSynced {
            stolen = Some(fs::read(place.path(".lanai-change/journal")).unwrap());
        }
    };
    lanai_folder::apply(&lock, &before, &after, &mut place.copies(), &mut steal).unwrap();
    let other = Place::with(&before);
    let journal = other.path(".lanai-change/journal");
    fs::create_dir(other.path(".lanai-change")).unwrap();
    fs::write(&journal, stolen.unwrap()).unwrap();
    let recovery = recover(&other.root(), &mut other.copies(), &mut ()).unwrap();
    assert_eq!(recovery, Recovery::Foreign(journal));
    assert_eq!(fs::read_to_string(other.path("a")).unwrap(), "1");
    other.apply(&before, &after).unwrap();
    assert_eq!(other.package(), after);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let place = Place::with(&package(&[("n", "0")]));
    let done: usize = std::thread::scope(|scope| {
        let work = || {
            (0..50)
                .filter(|_| {
                    let Ok(lock) = lock(&place.root(), "a thread") else { return false };
                    let before = fs::read_to_string(place.path("n")).unwrap();
                    let after = (before.parse::<u32>().unwrap() + 1).to_string();
                    let (before, after) = (package(&[("n", &before)]), package(&[("n", &after)]));
                    lanai_folder::apply(&lock, &before, &after, &mut place.copies(), &mut ()).unwrap();
                    true
                })
                .count()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(done > 0);
    assert_eq!(fs::read_to_string(place.path("n")).unwrap(), done.to_string());
}
