//! A process is killed behind every step, and behind every step of the recovery.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use lanai_folder::{Copies, Error, Kept, Recovery, Replaced, Step, Unfinished, apply, lock, recover, view};
use lanai_krm::Package;
use lanai_types::Limits;

use crate::support::{Place, names, package};

/// What the child is to do: the folder, and the number of the step behind which it dies.
const FOLDER: &str = "LANAI_TEST_FOLDER";
const WORK: &str = "LANAI_TEST_WORK";
const DIE_AT: &str = "LANAI_TEST_DIE_AT";
/// Which new files the child loses before it can name them.
const LOSE: &str = "LANAI_TEST_LOSE";

/// How many folders are tried at once.
const AT_ONCE: usize = 8;

fn before() -> Package {
    package(&[
        ("Kptfile", "old"),
        ("gone.yaml", "old"),
        ("folder/inner/a", "old"),
        ("kept", "same"),
        ("run", "old"),
        ("link@", "old"),
        ("turns", "a file"),
        // Not ours, whatever they look like.
        (".lanai-change-0.tmp", "the user's"),
        ("folder/.lanai-change-1.tmp", "the user's"),
    ])
}

fn after() -> Package {
    package(&[
        ("Kptfile", "new"),
        ("folder", "a file now"),
        ("kept", "same"),
        ("new/deep/file", "new"),
        ("run*", "old"),
        ("link@", "new"),
        ("turns/into", "a folder"),
        (".lanai-change-0.tmp", "the user's"),
    ])
}

/// Not a test of its own: what the killed process does.
#[test]
fn child() {
    let (Some(root), Ok(work)) = (env::var_os(FOLDER).map(PathBuf::from), env::var(WORK)) else { return };
    let die_at: usize = env::var(DIE_AT).unwrap().parse().unwrap();
    let mut number = 0;
    let lose = env::var(LOSE).is_ok();
    let mut steps = |step: Step| {
        println!("step {step:?}");
        number += 1;
        if lose && matches!(step, Step::FileRemoved | Step::FileRenamed) {
            lose_temporaries(&root);
        }
        if number == die_at {
            std::process::abort();
        }
    };
    let mut copies = Copies::new(root.with_file_name("saved"), "pkg");
    let done = if work == "apply" {
        apply(&lock(&root, "the child").unwrap(), &before(), &after(), &mut copies, &mut steps).map(|_| ())
    } else {
        recover(&root, &mut copies, &mut steps).map(|_| ())
    };
    match done {
        Err(Error::Undone { .. }) if lose => {}
        other => other.unwrap(),
    }
}

/// Removes all new files that have no names of their own yet, so that the change cannot be made.
fn lose_temporaries(root: &Path) {
    let is_ours = |name: &String| {
        // The user's own have fewer dashes.
        name.contains(".lanai-change-") && name.matches('-').count() == 4
            || name.starts_with(".lanai-change/new-")
    };
    for name in names(root).iter().filter(|name| is_ours(name)) {
        std::fs::remove_file(root.join(name)).expect("it is there");
    }
}

/// Runs the child; returns the steps that it reached.
fn run(root: &Path, work: &str, die_at: usize) -> Vec<String> {
    run_with(root, work, die_at, &[])
}

#[allow(clippy::disallowed_methods, reason = "a test starts itself again, to be killed")]
fn run_with(root: &Path, work: &str, die_at: usize, variables: &[(&str, &str)]) -> Vec<String> {
    let output = Command::new(env::current_exe().expect("it runs"))
        .envs(variables.iter().copied())
        .args(["--exact", "killed::child", "--nocapture"])
        .env(FOLDER, root)
        .env(WORK, work)
        .env(DIE_AT, die_at.to_string())
        .stderr(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let steps: Vec<String> =
        text.lines().filter_map(|line| Some(line.split_once("step ")?.1.to_owned())).collect();
    assert_eq!(output.status.success(), steps.len() < die_at, "it dies where it should:\n{text}");
    steps
}

/// All that is in a folder, with its content.
fn snapshot(root: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    names(root).into_iter().map(|name| (name.clone(), std::fs::read(root.join(name)).ok())).collect()
}

#[test]
fn killed_behind_any_step_the_folder_is_old_or_new() {
    let all = run(&Place::with(&before()).root(), "apply", usize::MAX);
    assert_eq!(all.first().map(String::as_str), Some("JournalCreated"));
    assert_eq!(all.last().map(String::as_str), Some("JournalRemoved"));
    for name in [
        "JournalHalfWritten",
        "FileRemoved",
        "FolderRemoved",
        "FolderCreated",
        "TemporaryWritten",
        "OldKept",
        "FileRenamed",
    ] {
        assert!(all.iter().any(|step| step == name), "{name} is among the steps: {all:?}");
    }
    // Where only the process dies, what was written is there; the sync is for power cuts.
    let written = 1 + all.iter().position(|step| step == "JournalWritten").unwrap();
    for die_at in 1..=all.len() {
        let place = Place::with(&before());
        run(&place.root(), "apply", die_at);
        let left = snapshot(&place.root());
        let seen = view(&place.root(), Limits::default()).unwrap();
        assert_eq!(snapshot(&place.root()), left, "looking writes nothing");
        let recovery = recover(&place.root(), &mut place.copies(), &mut ()).unwrap();
        let (expected, as_expected) = match die_at {
            _ if die_at < written => (before(), recovery == Recovery::Undone),
            _ if die_at == all.len() => (after(), recovery == Recovery::Nothing),
            _ => (after(), matches!(&recovery, Recovery::Finished(applied) if applied.kept.is_empty())),
        };
        assert!(as_expected, "killed behind step {die_at} ({}): {recovery:?}", all[die_at - 1]);
        assert_eq!(place.package(), expected, "killed behind step {die_at} ({})", all[die_at - 1]);
        assert_eq!(seen.package, expected, "what is seen is what comes, behind step {die_at}");
        let root = place.root();
        let unfinished = match recovery {
            Recovery::Undone => vec![Unfinished::Planned { root }],
            Recovery::Finished(_) => vec![Unfinished::Interrupted { root }],
            Recovery::Nothing | Recovery::Foreign(_) => Vec::new(),
        };
        assert_eq!(seen.unfinished, unfinished);
        assert_eq!(place.copies().folder(), None);
        assert_eq!(recover(&place.root(), &mut place.copies(), &mut ()).unwrap(), Recovery::Nothing);
    }
}

#[test]
fn killed_behind_any_step_of_the_recovery_the_next_one_finishes() {
    let all = run(&Place::with(&before()).root(), "apply", usize::MAX);
    let synced = 1 + all.iter().position(|step| step == "JournalSynced").unwrap();
    let check = |first: usize| {
        for second in 1.. {
            let place = Place::with(&before());
            run(&place.root(), "apply", first);
            let steps = run(&place.root(), "recover", second);
            recover(&place.root(), &mut place.copies(), &mut ()).unwrap();
            assert_eq!(
                place.package(),
                after(),
                "killed behind step {first}, then behind step {second} of the recovery"
            );
            if steps.len() < second {
                break;
            }
        }
    };
    // Most of the time goes into waiting for the disk.
    let next = AtomicUsize::new(synced);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let first = next.fetch_add(1, Ordering::SeqCst)
                    && first < all.len()
                {
                    check(first);
                }
            });
        }
    });
}

#[test]
fn killed_while_a_failed_change_is_taken_back_the_folder_is_old_or_new() {
    let lose = [(LOSE, "")];
    let place = Place::with(&before());
    let all = run_with(&place.root(), "apply", usize::MAX, &lose);
    assert_eq!(place.package(), before());
    assert!(all.iter().any(|step| step == "FileRestored"), "{all:?}");
    let first = 1 + all.iter().position(|step| step == "FileRemoved").unwrap();
    for die_at in first..=all.len() {
        let place = Place::with(&before());
        run_with(&place.root(), "apply", die_at, &lose);
        let recovery = recover(&place.root(), &mut place.copies(), &mut ()).unwrap();
        // Behind the last step the journal is gone.
        let expected = if die_at == all.len() { before() } else { after() };
        assert_eq!(
            place.package(),
            expected,
            "killed behind step {die_at} ({}): {recovery:?}",
            all[die_at - 1]
        );
    }
}

/// Gives all folders of the package rights that no new one has, and names them.
fn folders_with_rights(place: &Place, rights: u32) -> Vec<PathBuf> {
    let folders: Vec<_> =
        names(&place.root()).into_iter().map(|name| place.path(&name)).filter(|path| path.is_dir()).collect();
    for folder in &folders {
        fs::set_permissions(folder, fs::Permissions::from_mode(rights)).expect("its rights are set");
    }
    assert!(!folders.is_empty(), "the package has folders");
    folders
}

#[test]
fn what_cannot_be_finished_after_a_kill_is_taken_back() {
    let all = run(&Place::with(&before()).root(), "apply", usize::MAX);
    let synced = 1 + all.iter().position(|step| step == "JournalSynced").unwrap();
    let mut undone = 0;
    for die_at in synced..all.len() {
        let place = Place::with(&before());
        let folders = folders_with_rights(&place, 0o751);
        run(&place.root(), "apply", die_at);
        let mut lose = |step| {
            if matches!(step, Step::TemporaryWritten | Step::FileRemoved | Step::FileRenamed) {
                lose_temporaries(&place.root());
            }
        };
        let expected = match recover(&place.root(), &mut place.copies(), &mut lose) {
            Ok(_) => after(),
            Err(Error::Undone { .. }) => before(),
            Err(error) => panic!("killed behind step {die_at} ({}): {error}", all[die_at - 1]),
        };
        if expected == before() {
            undone += 1;
            for folder in &folders {
                let rights = fs::metadata(folder).unwrap().permissions().mode() & 0o7777;
                assert_eq!(rights, 0o751, "killed behind step {die_at}: {}", folder.display());
            }
        }
        assert_eq!(place.package(), expected, "killed behind step {die_at} ({})", all[die_at - 1]);
        assert_eq!(recover(&place.root(), &mut place.copies(), &mut ()).unwrap(), Recovery::Nothing);
    }
    assert!(undone > 10, "most could not be finished: {undone}");
}

#[test]
fn what_a_power_cut_leaves_is_made_whole_and_kept_aside() {
    for left in ["", "n", "n\0", "\0\0\0"] {
        let place = Place::with(&before());
        let all = run(&place.root(), "apply", usize::MAX);
        let place = Place::with(&before());
        let renamed = 1 + all.iter().rposition(|step| step == "FileRenamed").unwrap();
        run(&place.root(), "apply", renamed);
        std::fs::write(place.path("Kptfile"), left).unwrap();
        let mut copies = place.copies();
        let recovery = recover(&place.root(), &mut copies, &mut ()).unwrap();
        assert_eq!(place.package(), after(), "{left:?}");
        // It may have been somebody's work after all.
        let Recovery::Finished(applied) = recovery else { panic!("{recovery:?}") };
        let copy = copies.folder().unwrap().join("Kptfile");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), left);
        assert_eq!(applied.replaced, [Replaced { path: "Kptfile".parse().unwrap(), copy }]);
    }
}

#[test]
fn somebodys_work_after_the_kill_is_kept() {
    let place = Place::with(&before());
    run(&place.root(), "apply", 4);
    std::fs::write(place.path("Kptfile"), "edited").unwrap();
    let mut copies = place.copies();
    let recovery = recover(&place.root(), &mut copies, &mut ()).unwrap();
    let Recovery::Finished(applied) = recovery else { panic!("{recovery:?}") };
    assert_eq!(applied.kept.len(), 1);
    assert_eq!(std::fs::read_to_string(place.path("Kptfile")).unwrap(), "edited");
    assert_eq!(std::fs::read_to_string(copies.folder().unwrap().join("Kptfile")).unwrap(), "new");
}

/// Killed when a file had its new content already; then somebody edited it, and the change cannot be finished.
#[test]
fn somebodys_work_stays_when_a_change_is_taken_back_and_what_it_replaced_is_saved() {
    let all = run(&Place::with(&before()).root(), "apply", usize::MAX);
    let renamed = all.iter().enumerate().filter(|(_, step)| *step == "FileRenamed");
    let last = 1 + renamed.map(|(at, _)| at).max().unwrap();
    let place = Place::with(&before());
    run(&place.root(), "apply", last - 1);
    std::fs::write(place.path("Kptfile"), "edited").unwrap();
    let mut lose = |step| {
        if matches!(step, Step::TemporaryWritten | Step::OldKept) {
            lose_temporaries(&place.root());
        }
    };
    let mut copies = place.copies();
    let error = recover(&place.root(), &mut copies, &mut lose).unwrap_err();
    let Error::Undone { kept, .. } = &error else { panic!("{error}") };
    let copy = copies.folder().unwrap().join("Kptfile.2");
    assert_eq!(kept[..], [Kept { path: "Kptfile".parse().unwrap(), copy: Some(copy.clone()) }], "{error}");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "old", "what the change had replaced");
    assert_eq!(std::fs::read_to_string(place.path("Kptfile")).unwrap(), "edited");
    assert!(
        error.to_string().contains(", but for what somebody else changed meanwhile: \"Kptfile\""),
        "{error}"
    );
}
