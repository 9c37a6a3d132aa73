//! Packages of strangers, with something else under the names of the lock and the journal.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lanai_folder::{Error, Recovery, Unfinished, create, lock, recover, view};
use lanai_types::Limits;
use tempfile::TempDir;

use crate::support::{Place, names, package};

/// A folder of somebody who has nothing to do with the package.
fn victim() -> TempDir {
    let folder = tempfile::tempdir().expect("it works");
    for name in ["lock", "journal", "replaced-0", "removed-0", "new-0"] {
        fs::write(folder.path().join(name), "precious").expect("it works");
    }
    folder
}

#[track_caller]
fn assert_untouched(victim: &TempDir) {
    assert_eq!(names(victim.path()), ["journal", "lock", "new-0", "removed-0", "replaced-0"]);
    for name in names(victim.path()) {
        assert_eq!(fs::read_to_string(victim.path().join(name)).expect("it works"), "precious");
    }
}

#[track_caller]
fn assert_strange(place: &Place, path: &Path) {
    // Without a journal there is nothing to recover; nobody can begin a change.
    let _ = recover(&place.root(), &mut place.copies(), &mut ());
    let error = lock(&place.root(), "a test").expect_err("it is refused");
    assert!(matches!(&error, Error::Strange(found) if found == path), "{error}");
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("it works");
}

#[test]
fn a_link_in_the_place_of_the_folder_is_not_followed() {
    let place = Place::with(&package(&[("a", "1")]));
    let (victim, state) = (victim(), place.path(".lanai-change"));
    symlink(victim.path(), &state).unwrap();
    assert_strange(&place, &state);
    let seen = view(&place.root(), Limits::default()).unwrap();
    assert_eq!(seen.unfinished, [Unfinished::Strange { path: state.clone() }]);
    assert_eq!(seen.package, package(&[("a", "1")]));
    assert_untouched(&victim);
    let said = lock(&place.root(), "a test").unwrap_err().to_string();
    assert_eq!(said, format!("\"{}\" is not what the program keeps there: remove it first", state.display()));
}

#[test]
fn links_in_the_place_of_files_are_not_followed() {
    let victim = victim();
    let targets = [victim.path().join("lock"), victim.path().join("not-there"), PathBuf::from("/dev/zero")];
    for target in targets {
        let place = Place::with(&package(&[("a", "1")]));
        let journal = place.path(".lanai-change/journal");
        fs::create_dir(place.path(".lanai-change")).unwrap();
        symlink(&target, &journal).unwrap();
        assert!(
            matches!(recover(&place.root(), &mut place.copies(), &mut ()), Err(Error::Strange(found)) if found == journal)
        );
        let seen = view(&place.root(), Limits::default()).unwrap();
        assert_eq!(seen.unfinished, [Unfinished::Strange { path: journal.clone() }]);
        // Whoever changes the package all the same takes the link away, and leaves alone where it leads.
        place.apply(&package(&[("a", "1")]), &package(&[("a", "2")])).unwrap();
        assert_eq!(place.package(), package(&[("a", "2")]));

        let place = Place::with(&package(&[("a", "1")]));
        let held = place.path(".lanai-change/lock");
        fs::create_dir(place.path(".lanai-change")).unwrap();
        symlink(&target, &held).unwrap();
        assert_strange(&place, &held);
        assert_untouched(&victim);
    }
}

#[test]
fn nobody_waits_for_the_other_end_of_a_pipe() {
    for name in ["lock", "journal"] {
        let place = Place::with(&package(&[("a", "1")]));
        fs::create_dir_all(place.path("inner")).unwrap();
        fs::create_dir(place.path(".lanai-change")).unwrap();
        let strange = place.path(".lanai-change").join(name);
        pipe(&strange);
        let found =
            recover(&place.root(), &mut place.copies(), &mut ()).and_then(|_| lock(&place.root(), ""));
        assert!(matches!(found, Err(Error::Strange(found)) if found == strange));
        view(&place.root(), Limits::default()).unwrap();
        // Around a package it is in nobody's way.
        view(&place.path("inner"), Limits::default()).unwrap();
        drop(lock(&place.path("inner"), "a test").unwrap());
        let around = recover(&place.path("inner"), &mut place.copies(), &mut ()).unwrap();
        assert_eq!(around, Recovery::Nothing);
    }
}

#[test]
fn a_new_folder_is_not_made_through_a_link() {
    let place = Place::new();
    let victim = tempfile::tempdir().unwrap();
    fs::create_dir(victim.path().join(".lanai-change")).unwrap();
    fs::write(victim.path().join(".lanai-change/lock"), "").unwrap();
    fs::write(victim.path().join("precious"), "precious").unwrap();
    symlink(victim.path(), place.path(".lanai-change-new-made")).unwrap();
    create(&place.path("made"), &package(&[("a", "1")])).unwrap();
    assert_eq!(fs::read_to_string(victim.path().join("precious")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(place.path("made/a")).unwrap(), "1");
}
