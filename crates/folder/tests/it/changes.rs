//! Changing a folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use lanai_folder::{Applied, Error, Kept, Step, create};
use lanai_krm::Package;

use crate::support::{Place, names, package, safe};

/// Makes one package of the other on disk, both ways.
fn check(one: &[(&str, &str)], other: &[(&str, &str)]) {
    let (one, other) = (package(one), package(other));
    let place = Place::with(&one);
    for (before, after) in [(&one, &other), (&other, &one)] {
        let applied = place.apply(before, after).expect("it can be written");
        let diff = before.diff(after);
        let expected = (diff.added.len() + diff.changed.len(), diff.removed.len());
        assert_eq!((applied.written, applied.removed), expected);
        assert_eq!(&place.package(), after);
    }
}

#[test]
fn the_difference_is_written() {
    check(&[], &[("a", "1")]);
    check(&[("a", "1"), ("b/c/d", "2"), ("e", "3")], &[("a", "one"), ("e", "3"), ("f/g", "4")]);
    check(&[("a", "1")], &[("a*", "1")]);
    check(&[("a", "1")], &[("a@", "1")]);
    check(&[("a@", "x")], &[("a@", "y")]);
    check(&[("a", "1")], &[("a/b", "a folder where a file was")]);
    check(&[("a/b/c", "1"), ("a/d", "2")], &[("a", "a file where a folder was")]);
    check(&[("a@", "b"), ("b/c", "1")], &[("a/c", "not behind the link"), ("b/c", "1")]);
    check(&[("a", "")], &[("a", "text")]);
}

#[test]
fn permissions_stay() {
    let place = Place::with(&package(&[("a", "1"), ("b", "1")]));
    let mode = |path| fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(place.path("b"), fs::Permissions::from_mode(0o600)).unwrap();
    place.apply(&package(&[("a", "1"), ("b", "1")]), &package(&[("a", "2"), ("b*", "2")])).unwrap();
    assert_eq!((mode("a"), mode("b")), (0o640, 0o700));
}

#[test]
fn what_is_no_part_of_the_package_stays() {
    let place = Place::with(&package(&[("a/b", "1")]));
    fs::create_dir(place.path("a/.git")).unwrap();
    place.apply(&package(&[("a/b", "1")]), &package(&[])).unwrap();
    assert_eq!(names(&place.root()), ["a", "a/.git"]);
}

#[test]
fn names_that_look_like_ours_are_the_users_own() {
    check(
        &[(".lanai-change-0.tmp", "1"), ("a", "1"), ("b/.lanai-change-1.tmp", "1")],
        &[(".lanai-change-0.tmp", "1"), ("a", "2"), ("b/.lanai-change-1.tmp", "2"), ("b/c", "2")],
    );
}

#[test]
fn a_file_that_is_not_as_it_was_read_stops_everything() {
    let before = package(&[("a", "1"), ("b", "1")]);
    let place = Place::with(&before);
    fs::write(place.path("b"), "edited").unwrap();
    let error = place.apply(&before, &package(&[("a", "2"), ("b", "2")])).unwrap_err();
    assert!(matches!(&error, Error::Changed { path, .. } if path.as_str() == "b"), "{error}");
    assert_eq!(place.package(), package(&[("a", "1"), ("b", "edited")]));
    // A file that appeared where a new one is to be.
    let error = place.apply(&package(&[]), &package(&[("a", "2")])).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    // A file that is the same whatever happens does not matter.
    place.apply(&before, &package(&[("a", "2"), ("b", "1")])).unwrap();
    assert_eq!(place.package(), package(&[("a", "2"), ("b", "edited")]));
}

#[test]
fn a_file_that_changes_under_our_hands_is_not_overwritten() {
    let before = package(&[("a", "1"), ("b", "1"), ("c", "1"), ("d/e", "1")]);
    let after = package(&[("a", "2"), ("b", "2"), ("d/e", "2")]);
    let place = Place::with(&before);
    let mut copies = place.copies();
    let mut meddle = |step| {
        if step == Step::JournalSynced {
            fs::write(place.path("b"), "edited").unwrap();
            fs::write(place.path("c"), "edited too").unwrap();
            fs::remove_dir_all(place.path("d")).unwrap();
            symlink("..", place.path("d")).unwrap();
        }
    };
    let applied = lanai_folder::apply(&place.lock(), &before, &after, &mut copies, &mut meddle).unwrap();
    let folder = copies.folder().unwrap();
    let kept = |path: &str, copy| Kept { path: safe(path), copy };
    let copy = |path: &str| Some(folder.join(path));
    assert_eq!(
        applied,
        Applied {
            untidy: None,
            written: 1,
            removed: 0,
            kept: vec![kept("c", None), kept("b", copy("b")), kept("d/e", copy("d/e"))],
            replaced: Vec::new(),
        }
    );
    assert_eq!(place.package(), package(&[("a", "2"), ("b", "edited"), ("c", "edited too"), ("d@", "..")]));
    assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), "2");
    assert!(!place.path("../e").exists(), "nothing was written through the link");
}

/// The new files that have no names of their own yet, in the folder of the package.
fn temporaries(place: &Place) -> Vec<String> {
    let all = names(&place.root()).into_iter();
    all.filter(|name| name.starts_with(".lanai-change-") || name.starts_with(".lanai-change/new-")).collect()
}

/// What is changed in the tests of failures.
fn one_and_other() -> (Package, Package) {
    (
        package(&[("a", "1"), ("b", "1"), ("c*", "1"), ("d@", "1"), ("e", "1"), ("f/g", "1"), ("h", "1")]),
        package(&[
            ("a", "2"),
            ("b", "2"),
            ("c*", "2"),
            ("d@", "2"),
            ("f", "2"),
            ("h/i/k", "2"),
            ("new/l", "2"),
        ]),
    )
}

#[test]
fn a_new_file_that_cannot_be_written_changes_nothing() {
    let (before, after) = one_and_other();
    let place = Place::with(&before);
    let mut done = false;
    let mut block = |step| {
        if step == Step::TemporaryWritten && !std::mem::replace(&mut done, true) {
            let first = temporaries(&place).pop().unwrap();
            fs::create_dir(place.path(&first.replace("-0.tmp", "-3.tmp"))).unwrap();
        }
    };
    let error =
        lanai_folder::apply(&place.lock(), &before, &after, &mut place.copies(), &mut block).unwrap_err();
    assert!(matches!(error, Error::Undone { .. }), "{error}");
    let told = error.to_string();
    assert!(
        told.starts_with("cannot write \"") && told.ends_with("; all files are as they were before"),
        "{told}"
    );
    for folder in temporaries(&place) {
        fs::remove_dir(place.path(&folder)).unwrap();
    }
    assert_eq!(place.package(), before);
    assert!(!place.path(".lanai-change").exists(), "no journal is left");
    assert!(!place.path("new").exists(), "no folder is left");
    place.apply(&before, &after).unwrap();
    assert_eq!(place.package(), after);
}

#[test]
fn a_change_that_fails_between_two_renames_is_taken_back() {
    let (before, after) = one_and_other();
    let mut failures = 0;
    for at in 0.. {
        let place = Place::with(&before);
        fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(place.path("f"), fs::Permissions::from_mode(0o2751)).unwrap();
        let id = |path| std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(place.path(path)).unwrap());
        let ids = ["a", "b", "c", "d", "e", "f/g", "h"].map(id);
        let mut number = 0;
        let mut break_it = |step| {
            // Behind the first of these steps all new files are written.
            if matches!(step, Step::FileRemoved | Step::FileRenamed | Step::OldKept) {
                number += 1;
                if number == at + 1 {
                    for name in temporaries(&place) {
                        fs::remove_file(place.path(&name)).unwrap();
                    }
                }
            }
        };
        let done = lanai_folder::apply(&place.lock(), &before, &after, &mut place.copies(), &mut break_it);
        let left = names(&place.root());
        assert!(!left.iter().any(|name| name.starts_with(".lanai-change")), "{at}: {left:?}");
        let Err(error) = done else {
            assert_eq!(place.package(), after);
            break;
        };
        failures += 1;
        assert!(matches!(error, Error::Undone { .. }), "{at}: {error}");
        assert_eq!(place.package(), before, "{at}");
        assert_eq!(["a", "b", "c", "d", "e", "f/g", "h"].map(id), ids, "the files themselves are back");
        assert!(!place.path("new").exists(), "no folder is left");
        let rights = fs::metadata(place.path("f")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(rights, 0o2751, "{at}: a folder that went is back as it was");
    }
    assert!(failures > 8, "it failed at many places: {failures}");
}

#[test]
fn an_empty_folder_of_the_user_stays_when_a_change_is_taken_back() {
    let before = package(&[("a", "1")]);
    let after = package(&[("a", "2"), ("mine/b", "new"), ("ours/b", "new")]);
    let place = Place::with(&before);
    fs::create_dir(place.path("mine")).unwrap();
    let mut break_it = |step| {
        if step == Step::OldKept {
            for name in temporaries(&place) {
                fs::remove_file(place.path(&name)).unwrap();
            }
        }
    };
    let done = lanai_folder::apply(&place.lock(), &before, &after, &mut place.copies(), &mut break_it);
    assert!(matches!(done, Err(Error::Undone { .. })), "{done:?}");
    assert!(place.path("mine").is_dir(), "it was there before");
    assert!(!place.path("ours").exists(), "it was not");
}

#[test]
fn our_own_name_is_refused() {
    let place = Place::new();
    let error = place.apply(&package(&[]), &package(&[("a/.lanai-change/x", "")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "file \"a/.lanai-change/x\" cannot be written: the name \".lanai-change\" is kept for the program"
    );
    assert_eq!(names(&place.root()), [""; 0]);
}

#[test]
fn a_new_folder_appears_as_a_whole() {
    let place = Place::new();
    let files = package(&[("a/b", "1"), ("run*", "2"), ("l@", "a")]);
    create(&place.path("new"), &files).unwrap();
    assert_eq!(names(&place.root()), ["new", "new/a", "new/a/b", "new/l", "new/run"]);
    assert!(matches!(create(&place.path("new"), &files), Err(Error::Exists(_))));
    // What a killed process left is in nobody's way.
    fs::create_dir_all(place.path(".lanai-change-new-other/junk")).unwrap();
    fs::create_dir(place.path(".lanai-change-new-other/.lanai-change")).unwrap();
    fs::write(place.path(".lanai-change-new-other/.lanai-change/lock"), "").unwrap();
    create(&place.path("other"), &package(&[("x", "")])).unwrap();
    assert_eq!(names(&place.path("other")), ["x"]);
    assert!(!place.path(".lanai-change-new-other").exists());
    // What somebody else has under that name is not touched.
    fs::create_dir(place.path(".lanai-change-new-third")).unwrap();
    fs::write(place.path(".lanai-change-new-third/mine"), "").unwrap();
    create(&place.path("third"), &package(&[("x", "")])).unwrap();
    assert_eq!(names(&place.path("third")), ["x"]);
    assert_eq!(names(&place.path(".lanai-change-new-third")), ["mine"]);
    assert!(matches!(create(&place.path("no/parent"), &files), Err(Error::Io { .. })));
}

#[test]
fn copies_are_saved_outside() {
    let files = package(&[("a", "1"), ("b/c*", "2")]);
    let place = Place::with(&files);
    let mut copies = place.copies();
    copies.save(&files, []).unwrap();
    assert_eq!(copies.folder(), None, "nothing was saved, nothing is made");
    copies.save(&files, [&safe("b/c"), &safe("new")]).unwrap();
    assert_eq!(names(copies.folder().unwrap()), ["b", "b/c"]);
    let mut second = place.copies();
    second.save(&files, [&safe("a")]).unwrap();
    assert_ne!(copies.folder(), second.folder());
    let folder = copies.folder().expect("it was made");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder).expect("it is there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o700, "what was private stays so");
}

#[test]
fn nobody_can_read_more_while_a_file_is_replaced() {
    let before = package(&[("secret", "old"), ("other", "old")]);
    let after = package(&[("secret", "new"), ("other", "new")]);
    let place = Place::with(&before);
    fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut looked = 0;
    let mut look = |_| {
        let journal = place.path(".lanai-change/journal");
        let held = [journal, place.path("secret")].into_iter().chain(
            temporaries(&place)
                .into_iter()
                .filter(|name| name.ends_with("-1.tmp"))
                .map(|name| place.path(&name)),
        );
        for path in held {
            if let Ok(found) = fs::symlink_metadata(&path) {
                assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
                looked += 1;
            }
        }
    };
    lanai_folder::apply(&place.lock(), &before, &after, &mut place.copies(), &mut look).unwrap();
    assert!(looked > 10, "there was something to look at: {looked}");
}

#[test]
fn a_file_takes_the_place_of_a_folder_in_which_an_empty_one_is() {
    let (before, after) = (package(&[("a/b", "1")]), package(&[("a", "a file")]));
    let place = Place::with(&before);
    fs::create_dir_all(place.path("a/nothing/at/all")).unwrap();
    let applied = place.apply(&before, &after).unwrap();
    assert_eq!((applied.written, applied.removed, applied.kept.len()), (1, 1, 0));
    assert_eq!(place.package(), after);
}

#[test]
fn what_cannot_be_tidied_up_is_told_and_the_change_is_made() {
    let (before, after) = (package(&[("a", "1")]), package(&[("a", "2")]));
    let place = Place::with(&before);
    let mut break_it = |step| {
        if step == Step::Synced {
            fs::remove_file(place.path(".lanai-change/journal")).unwrap();
        }
    };
    let applied =
        lanai_folder::apply(&place.lock(), &before, &after, &mut place.copies(), &mut break_it).unwrap();
    assert!(applied.untidy.is_some_and(|cause| cause.contains("cannot remove")));
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "2");
}
