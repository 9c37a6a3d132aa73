//! What a killed command leaves behind, the next one that changes the package finishes; those that look see it finished.

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

/// All files of the package with their contents, also those that belong to an interrupted change.
fn snapshot(world: &World) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let content = std::fs::read(world.path("desk/web").join(&name)).expect("it can be read");
        (name, content)
    };
    world.names("desk/web").into_iter().map(read).collect()
}

#[test]
fn an_update_finishes_what_was_begun() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    assert!(world.path("desk/web/.lanai-change/journal").is_file());
    let seen = world.lanai(&["update", "web"]);
    let note = "note: a command was interrupted here; its changes have been finished\n";
    assert!(seen.stderr.starts_with(note), "{seen:?}");
    assert_eq!(world.read("desk/web/deploy.yaml"), "a: new\n");
    assert_eq!(world.names("desk/web"), ["Kptfile", "README.md", "deploy.yaml"]);
}

#[test]
fn whoever_only_looks_sees_it_finished_and_writes_nothing() {
    let looks: [&[&str]; 5] = [
        &["tree", "web"],
        &["cat", "web"],
        &["cat", "web/deploy.yaml"],
        &["diff", "web"],
        &["update", "web@v2", "--dry-run", "--policy", "local"],
    ];
    for at in [Step::JournalSynced, Step::TemporaryWritten, Step::FileRenamed] {
        let world = World::with_web();
        world.get_web();
        interrupt(&world, at);
        let left = snapshot(&world);
        let shown: Vec<_> = looks.iter().map(|look| world.lanai(look)).collect();
        assert_eq!(snapshot(&world), left, "{at:?}");
        let root = world.path("desk/web").display().to_string();
        let note = format!(
            "note: a command was interrupted in \"{root}\"; shown is what comes out when the next command that changes the package finishes it\n"
        );
        assert!(world.lanai(&["update", "web"]).stderr.contains("have been finished"), "{at:?}");
        for (look, shown) in looks.iter().zip(shown) {
            assert!(shown.stderr.starts_with(&note), "{look:?}: {shown:?}");
            let finished = world.lanai(look);
            assert_eq!((shown.code, shown.stdout), (finished.code, finished.stdout), "{look:?} {at:?}");
        }
    }
}

#[test]
fn a_file_that_is_to_come_can_be_printed() {
    let world = World::with_web();
    world.get_web();
    std::fs::remove_file(world.path("desk/web/deploy.yaml")).unwrap();
    interrupt(&world, Step::JournalSynced);
    assert_eq!(world.lanai(&["cat", "web/deploy.yaml"]).stdout, "a: new\n");
    assert_eq!(world.lanai(&["cat", "web/nothing.yaml"]).code, Some(1));
}

#[test]
fn a_plan_that_was_not_complete_is_dropped() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalHalfWritten);
    let seen = world.lanai(&["tree", "web"]);
    assert!(seen.stderr.ends_with("drops its plan\n"), "{seen:?}");
    assert!(world.path("desk/web/.lanai-change/journal").is_file(), "looking writes nothing");
    let seen = world.lanai(&["update", "web"]);
    let note = "note: a command was interrupted here before it changed anything; its plan was dropped\n";
    assert!(seen.stderr.starts_with(note), "{seen:?}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

#[test]
fn from_the_outside_and_from_the_inside() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    std::fs::create_dir(world.path("desk/web/inner")).unwrap();
    for folder in [".", "web/inner"] {
        let seen = world.lanai(&["tree", folder]);
        assert!(seen.stderr.contains("note: a command was interrupted in "), "{seen:?}");
    }
    let seen = world.lanai(&["update", "web/inner"]);
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
    assert!(seen.stderr.contains("was made for another folder, or by another version of the program: the package may be half changed"), "{seen:?}");
    assert!(seen.stderr.contains("hint: restore its files"), "{seen:?}");
    let seen = world.lanai(&["tree", "copy"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
}

#[test]
fn an_edit_after_the_kill_is_kept_and_told() {
    let world = World::with_web();
    world.get_web();
    interrupt(&world, Step::JournalSynced);
    world.write("desk/web/deploy.yaml", "a: edited\n");
    let seen = world.lanai(&["update", "web"]);
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
    let seen = world.lanai(&["update", "web"]);
    let copy = world.path("home/.local/state/lanai/saved/web-1/deploy.yaml");
    let told = format!(
        "/deploy.yaml\" was cut short and is whole now; what was there is in \"{}\"\n",
        copy.display()
    );
    assert!(seen.stderr.contains(&told), "{}", seen.stderr);
    assert_eq!(world.read("desk/web/deploy.yaml"), "a: new\n");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "a: n");
}

/// A file that nobody may change or replace, as long as this lives.
struct Fixed(std::path::PathBuf);

impl Fixed {
    /// `None` where the system or the disk knows no such files.
    fn new(world: &World, path: &str) -> Option<Self> {
        let fixed = Self(world.path(path));
        fixed.chattr("+i").then_some(fixed)
    }

    #[allow(clippy::disallowed_methods, reason = "a test prepares its files")]
    fn chattr(&self, flag: &str) -> bool {
        let done = std::process::Command::new("chattr").arg(flag).arg(&self.0).output();
        done.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        self.chattr("-i");
    }
}

#[test]
fn a_file_that_may_not_be_changed_stops_an_update_without_a_trace() {
    let world = World::with_web();
    world.get_web();
    for path in ["desk/web/deploy.yaml", "desk/web/Kptfile", "desk/web"] {
        let Some(fixed) = Fixed::new(&world, path) else {
            lanai_testkit::skip("a_file_that_may_not_be_changed", "files cannot be made immutable here");
            return;
        };
        let seen = world.lanai(&["update", "web@v2"]);
        assert_eq!(seen.code, Some(1), "{seen:?}");
        let name =
            format!("error: cannot write \"{}\": Operation not permitted; ", world.path(path).display());
        let refused = "all files are as they were before\n";
        match path {
            "desk/web" => assert!(seen.stderr.contains("error: cannot change \""), "{seen:?}"),
            _ => assert!(seen.stderr.contains(&name) && seen.stderr.ends_with(refused), "{seen:?}"),
        }
        assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
        assert_eq!(world.names("desk/web"), ["Kptfile", "README.md", "deploy.yaml"]);
        drop(fixed);
    }
    assert_eq!(world.lanai(&["update", "web@v2"]).code, Some(0));
    assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
}
