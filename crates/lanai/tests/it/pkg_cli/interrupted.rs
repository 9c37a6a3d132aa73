//! What a killed command leaves behind, the next one finishes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lanai_folder::{Copies, Step};
use lanai_types::Limits;

use super::World;

/// Changes `deploy.yaml`, and stops right behind a step.
fn interrupt(world: &World, at: Step) {
    let root = world.path("desk/web");
    let before = lanai_folder::read(&root, Limits::default()).expect("it can be read").package;
    let mut after = before.clone();
    let path = "deploy.yaml".parse().expect("it is a path");
    after.insert(path, lanai_krm::package::File::from_text("a: new\n")).expect("it is small");
    let lock = lanai_folder::lock(&root, "a test").expect("nobody else has it");
    let mut copies = Copies::new(world.path("saved"), "web");
    let mut steps = |step| assert!(step != at, "killed here");
    let done = catch_unwind(AssertUnwindSafe(|| {
        lanai_folder::apply(&lock, &before, &after, &mut copies, &mut steps)
    }));
    assert!(done.is_err(), "it was killed");
}

#[test]
fn every_command_finishes_what_was_begun() {
    for command in ["tree", "cat", "diff", "update"] {
        let world = World::with_web();
        world.get_web();
        interrupt(&world, Step::JournalSynced);
        assert!(world.path("desk/web/.lanai-change/journal").is_file());
        let seen = world.lanai(&[command, "web"]);
        let note = "note: a command was interrupted here; its changes have been finished\n";
        assert!(seen.stderr.starts_with(note), "{command}: {seen:?}");
        assert_eq!(world.read("desk/web/deploy.yaml"), "a: new\n", "{command}");
        assert_eq!(world.names("desk/web"), ["Kptfile", "README.md", "deploy.yaml"], "{command}");
    }
}

#[test]
fn a_plan_that_was_not_complete_is_dropped() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalHalfWritten);
    let seen = world.lanai(&["tree", "web"]);
    let note = "note: a command was interrupted here before it changed anything; its plan was dropped\n";
    assert_eq!(seen.stderr, note);
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

#[test]
fn from_the_outside_and_from_the_inside() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    std::fs::create_dir(world.path("desk/web/inner")).unwrap();
    let seen = world.lanai(&["tree", "."]);
    assert!(seen.stderr.contains("its changes have been finished"), "{seen:?}");
    interrupt_again(&world);
    let seen = world.lanai(&["tree", "web/inner"]);
    assert!(seen.stderr.contains("its changes have been finished"), "{seen:?}");
    assert!(!world.path("desk/web/.lanai-change").exists());
}

#[test]
fn an_update_of_the_package_around_it_finishes_it_too() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    world.write("desk/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: around\n");
    let seen = world.lanai(&["update", "."]);
    assert!(seen.stderr.contains("its changes have been finished"), "{seen:?}");
    assert!(!seen.stderr.contains("is being changed by"), "{seen:?}");
}

#[test]
fn a_journal_of_another_folder_stops_an_update() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    let files = ["Kptfile", "README.md", "deploy.yaml", ".lanai-change/journal"];
    for file in files {
        world.write(&format!("desk/copy/{file}"), &world.read(&format!("desk/web/{file}")));
    }
    let seen = world.lanai(&["update", "copy"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains("was made for another folder: the package may be half changed"), "{seen:?}");
    assert!(seen.stderr.contains("hint: restore its files"), "{seen:?}");
    let seen = world.lanai(&["tree", "copy"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
}

fn interrupt_again(world: &World) {
    world.write("desk/web/deploy.yaml", "a: other\n");
    interrupt(world, Step::TemporaryWritten);
}

#[test]
fn an_edit_after_the_kill_is_kept_and_told() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    world.write("desk/web/deploy.yaml", "a: edited\n");
    let seen = world.lanai(&["tree", "web"]);
    let copy = world.path("home/.local/state/lanai/saved/web-1/deploy.yaml");
    assert!(
        seen.stderr.contains(&format!(
            "/deploy.yaml\" was changed by somebody else and stays; what it was to become is in \"{}\"\n",
            copy.display()
        )),
        "{}",
        seen.stderr
    );
    assert_eq!(world.read("desk/web/deploy.yaml"), "a: edited\n");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "a: new\n");
}

#[test]
fn two_at_once_do_not_meet() {
    let world = World::with_web();
    world.get_web();
    let _held = lanai_folder::lock(&world.path("desk/web"), "\"lanai pkg update\" (process 7)").unwrap();
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.contains("/desk/web\" is being changed by \"lanai pkg update\" (process 7)\nhint: wait until that is done\n"),
        "{}",
        seen.stderr
    );
    assert_eq!(world.lanai(&["tree", "web"]).code, Some(0), "looking is no problem");
}

#[test]
fn a_file_that_was_cut_short_is_made_whole_and_a_copy_is_kept() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    world.write("desk/web/deploy.yaml", "a: n");
    let seen = world.lanai(&["tree", "web"]);
    let copy = world.path("home/.local/state/lanai/saved/web-1/deploy.yaml");
    let told = format!(
        "/deploy.yaml\" was cut short and is whole now; what was there is in \"{}\"\n",
        copy.display()
    );
    assert!(seen.stderr.contains(&told), "{}", seen.stderr);
    assert_eq!(world.read("desk/web/deploy.yaml"), "a: new\n");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "a: n");
}
