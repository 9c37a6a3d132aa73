//! What an outsider can do to a remote, and what it means.

use std::sync::OnceLock;

use lanai_repository::Silent;
use lanai_repository::packages::{Operation, Source, Stage};

use crate::repository::git;

use super::{Kind, World, lines, publish, publish_content, save, snapshot, write};

/// A repository with two published revisions of `p`, one of `q`, and a draft of `p`.
fn world(kind: Kind) -> World {
    static TEMPLATE: OnceLock<World> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let world = World::new(Kind::Near);
        let repository = world.open();
        write(&repository, Operation::CreateBranch).expect("it works");
        for (name, workspace, text) in [("p", "w1", "1"), ("p", "w2", "2"), ("q", "w1", "1")] {
            write(&repository, publish_content(name, workspace, text)).expect("it works");
        }
        write(&repository, save("p", "w3", "3", None)).expect("it works");
        world
    });
    let world = World::new(kind);
    let target = world.folder.to_str().expect("a plain name");
    git(&template.folder, &["push", "--quiet", "--mirror", target], b"");
    world
}

const BEFORE: [&str; 6] = [
    "p main -1 Published",
    "p w1 1 Published",
    "p w2 2 Published",
    "p w3 0 Draft",
    "q main -1 Published",
    "q w1 1 Published",
];

/// One row: what the outsider does, and how the lines change (`-` gone, `+` new).
fn check(name: &str, act: impl Fn(&World), changes: &[&str]) {
    for kind in [Kind::Near, Kind::Http] {
        let world = world(kind);
        let repository = world.open();
        assert_eq!(lines(&snapshot(&repository).1), BEFORE);
        act(&world);
        let after = lines(&snapshot(&repository).1);
        let gone = BEFORE
            .iter()
            .filter(|line| !after.iter().any(|other| other == *line))
            .map(|line| format!("-{line}"));
        let new = after.iter().filter(|line| !BEFORE.contains(&line.as_str())).map(|line| format!("+{line}"));
        assert_eq!(gone.chain(new).collect::<Vec<_>>(), changes, "{name}, {kind:?}");
        // What was learnt step by step is what is learnt from nothing.
        let fresh = world.restarted(std::sync::Arc::new(lanai_repository::packages::NoJournal));
        assert_eq!(snapshot(&fresh).1, snapshot(&repository).1, "{name}, {kind:?}");
        world.fsck();
    }
}

#[test]
fn a_moved_tag_is_a_revision_of_what_it_leads_to() {
    check(
        "moved tag",
        |world| drop(world.git(&["tag", "-f", "p/v1", "p/v2"])),
        &["-p w1 1 Published", "+p v1 1 Published"],
    );
    let world = world(Kind::Http);
    let repository = world.open();
    let tree = |number| {
        let (_, seen) = snapshot(&repository);
        let found = seen
            .revisions
            .iter()
            .find(|found| found.package.as_str() == "p" && found.revision.get() == number);
        found.unwrap().tree
    };
    let before = (tree(1), tree(2));
    assert_ne!(before.0, before.1);
    // The commit says that it is number 2 of `w2`; the tag says 1, so the workspace is the tag's.
    world.git(&["tag", "-f", "p/v1", "p/v2"]);
    assert_eq!(tree(1), before.1);
}

#[test]
fn a_deleted_tag_is_a_revision_that_is_gone() {
    check("deleted tag", |world| drop(world.git(&["tag", "-d", "p/v1"])), &["-p w1 1 Published"]);
}

#[test]
fn a_main_branch_that_is_moved_back_takes_placeholders_along() {
    let back = |world: &World| drop(world.git(&["update-ref", "refs/heads/main", "main~1"]));
    check("force-pushed main", back, &["-q main -1 Published"]);
    // Tags stay, and numbers that were given stay given.
    let world = world(Kind::Http);
    let repository = world.open();
    back(&world);
    let done = write(&repository, publish_content("q", "w2", "2")).unwrap();
    assert_eq!(done.revision.unwrap().get(), 2);
    world.git(&["tag", "-d", "q/v1", "q/v2"]);
    world.git(&["update-ref", "refs/heads/main", "main~1"]);
    let done = write(&repository, publish_content("q", "w3", "3")).unwrap();
    assert_eq!(done.revision.unwrap().get(), 3, "also where nothing on the remote remembers them");
}

#[test]
fn a_deleted_draft_branch_is_a_draft_that_is_gone() {
    check("deleted draft", |world| drop(world.git(&["branch", "-D", "drafts/p/w3"])), &["-p w3 0 Draft"]);
    let world = world(Kind::Http);
    let repository = world.open();
    let (refs, _) = snapshot(&repository);
    let at = refs.commit(&"refs/heads/drafts/p/w3".parse().unwrap()).unwrap();
    world.git(&["branch", "-D", "drafts/p/w3"]);
    let error =
        write(&repository, publish("p", "w3", Source::Branch { stage: Stage::Draft, at })).unwrap_err();
    assert_eq!(error.to_string(), format!("\"refs/heads/drafts/p/w3\" is at nothing, not at {at}"));
}

#[test]
fn a_commit_on_a_draft_branch_is_the_drafts_new_content() {
    let add = |world: &World| drop(world.outsider("drafts/p/w3", "p/extra.yaml", "a: 1\n"));
    check("commit on a draft", add, &[]);
    let world = world(Kind::Http);
    let repository = world.open();
    let (refs, _) = snapshot(&repository);
    let name = "refs/heads/drafts/p/w3".parse().unwrap();
    let ours = refs.commit(&name).unwrap();
    let theirs = world.outsider("drafts/p/w3", "p/extra.yaml", "a: 1\n");
    let error = write(&repository, save("p", "w3", "4", Some(ours))).unwrap_err();
    assert!(error.to_string().contains(&format!("is at {theirs}, not at {ours}")), "{error}");
    let (refs, seen) = snapshot(&repository);
    let draft = seen.revisions.iter().find(|found| found.workspace.as_str() == "w3").unwrap();
    assert_eq!((draft.commit.to_string(), draft.author.name(), draft.tasks.len()), (theirs, "Ann", 1));
    let content = repository.read(&refs, draft.commit, &draft.package, &Silent).unwrap();
    assert!(content.package.get(&"extra.yaml".parse().unwrap()).is_some());
}

#[test]
fn a_foreign_tag_is_a_revision_if_it_names_a_package() {
    let tag = |name: &'static str| move |world: &World| drop(world.git(&["tag", name, "main"]));
    check("v7 without a package", tag("v7"), &[]);
    check("p/v7", tag("p/v7"), &["+p v7 7 Published"]);
    check("p/7", tag("p/7"), &["+p v7 7 Published"]);
    check("p/v1.2.3", tag("p/v1.2.3"), &["+p v1.2.3 -1 Published"]);
    check("p/release", tag("p/release"), &["+p release -1 Published"]);
    check("no such package", tag("nothing/v1"), &[]);
    check(
        "annotated",
        |world| drop(world.git(&["tag", "-a", "-m", "x", "p/v8", "main"])),
        &["+p v8 8 Published"],
    );
    let world = world(Kind::Http);
    world.git(&["tag", "p/v7", "main"]);
    world.git(&["tag", "p/9", "main"]);
    let done = write(&world.open(), publish_content("p", "w9", "9")).unwrap();
    assert_eq!(done.revision.unwrap().get(), 10, "taken numbers are skipped");
}

#[test]
fn a_renamed_branch_is_what_its_new_name_says() {
    check(
        "draft becomes proposed",
        |world| drop(world.git(&["branch", "-m", "drafts/p/w3", "proposed/p/w3"])),
        &["-p w3 0 Draft", "+p w3 0 Proposed"],
    );
    check(
        "another workspace",
        |world| drop(world.git(&["branch", "-m", "drafts/p/w3", "drafts/p/w4"])),
        &["-p w3 0 Draft", "+p w4 0 Draft"],
    );
    check(
        "another package",
        |world| drop(world.git(&["branch", "-m", "drafts/p/w3", "drafts/x/w3"])),
        &["-p w3 0 Draft"],
    );
}

#[test]
fn an_emptied_repository_holds_nothing() {
    let empty = |world: &World| {
        for name in world.refs() {
            world.git(&["update-ref", "-d", &name]);
        }
    };
    check(
        "emptied",
        empty,
        &[
            "-p main -1 Published",
            "-p w1 1 Published",
            "-p w2 2 Published",
            "-p w3 0 Draft",
            "-q main -1 Published",
            "-q w1 1 Published",
        ],
    );
}

/// Outside commits on main stay, whatever is published at the same time.
#[test]
fn commits_of_others_on_main_are_kept() {
    for kind in [Kind::Own, Kind::Near, Kind::Http] {
        let world = world(kind);
        let repository = world.open();
        let theirs = world.outsider("main", "theirs/file", "x");
        write(&repository, publish_content("p", "w5", "5")).unwrap();
        let again = world.outsider("main", "p/theirs.yaml", "a: 1\n");
        write(&repository, publish_content("q", "w5", "5")).unwrap();
        for commit in [theirs, again] {
            world.git(&["merge-base", "--is-ancestor", &commit, "main"]);
        }
        assert_eq!(world.git(&["show", "main:theirs/file", "main:p/theirs.yaml"]), "xa: 1");
        world.fsck();
    }
}
