//! A folder as it is when an interrupted change is finished.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lanai_folder::{Step, Unfinished, View, change_around, view};
use lanai_krm::Package;
use lanai_types::Limits;

use crate::support::{Place, package};

fn before() -> Package {
    package(&[("a", "1"), ("inner/b", "1"), ("inner/gone", "1")])
}

fn after() -> Package {
    package(&[("a", "2"), ("inner/b", "2"), ("inner/new", "2")])
}

/// A place where a change was interrupted right behind a step.
fn interrupted(at: Step) -> Place {
    let place = Place::with(&before());
    let mut steps = |step| assert!(step != at, "killed here");
    let mut copies = place.copies();
    let work =
        AssertUnwindSafe(|| lanai_folder::apply(&place.lock(), &before(), &after(), &mut copies, &mut steps));
    assert!(catch_unwind(work).is_err());
    place
}

fn seen(place: &Place, folder: &str) -> View {
    view(&place.path(folder).components().collect::<std::path::PathBuf>(), Limits::default())
        .expect("it can be read")
}

#[test]
fn from_around_and_from_inside() {
    let place = interrupted(Step::TemporaryWritten);
    let unfinished = [Unfinished::Interrupted { root: place.root() }];
    let inside = seen(&place, "inner");
    assert_eq!(inside.package, package(&[("b", "2"), ("new", "2")]));
    assert_eq!(inside.unfinished, unfinished);
    let around = view(place.root().parent().unwrap(), Limits::default()).unwrap();
    assert_eq!(around.package, package(&[("pkg/a", "2"), ("pkg/inner/b", "2"), ("pkg/inner/new", "2")]));
    assert_eq!(around.unfinished, unfinished);
    assert_eq!(change_around(&place.path("inner/new")), Some(place.root().as_path()));
    assert_eq!(change_around(place.root().parent().unwrap()), None);
}

#[test]
fn what_somebody_changed_meanwhile_is_seen_as_it_is() {
    let place = interrupted(Step::JournalSynced);
    fs::write(place.path("a"), "edited").unwrap();
    fs::write(place.path("inner/gone"), "edited").unwrap();
    assert_eq!(
        seen(&place, "").package,
        package(&[("a", "edited"), ("inner/b", "2"), ("inner/gone", "edited"), ("inner/new", "2")])
    );
}

#[test]
fn somebody_at_work_is_named() {
    let place = interrupted(Step::JournalSynced);
    let _held = place.lock();
    let working = Unfinished::Working { root: place.root(), holder: "a test".into() };
    assert_eq!(seen(&place, "").unfinished, [working]);
    assert_eq!(seen(&place, "").package, after());
}

#[test]
fn a_plan_for_another_folder_is_not_followed() {
    let place = interrupted(Step::JournalSynced);
    let other = Place::with(&before());
    fs::create_dir(other.path(".lanai-change")).unwrap();
    let journal = other.path(".lanai-change/journal");
    fs::copy(place.path(".lanai-change/journal"), &journal).unwrap();
    assert_eq!(seen(&other, "").unfinished, [Unfinished::Foreign { journal: journal.clone() }]);
    assert_eq!(seen(&other, "").package, before());
    fs::write(&journal, "lanai journal 1\nof an older program").unwrap();
    assert_eq!(seen(&other, "").unfinished, [Unfinished::Foreign { journal }]);
}
