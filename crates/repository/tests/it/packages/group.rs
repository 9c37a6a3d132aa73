//! Group commit: what arrives together goes in one push, and each gets an answer of its own.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier};
use std::thread;

use lanai_repository::packages::{Done, Operation, Source, Stage, WriteError};
use lanai_types::CommitId;

use super::{Kind, World, lines, publish, publish_content, save, snapshot, write};

const ITEMS: usize = 8;

/// What is wrong with the poisoned one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Poison {
    /// Somebody else has moved its draft.
    Moved,
    /// A hook refuses its tag by name.
    Named,
    /// A hook refuses the whole push because of it.
    Unnamed,
}

pub(crate) fn hook(world: &World, name: &str, text: &str) {
    let path = world.folder.join("hooks").join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a hook");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
}

/// Publishes all at once: the first one holds the pusher until the others wait behind it.
fn publish_together(world: &World, what: Vec<Operation>) -> Vec<Result<Done, WriteError>> {
    let repository = world.open();
    let barrier = Barrier::new(what.len());
    thread::scope(|scope| {
        let (repository, barrier) = (&repository, &barrier);
        let threads: Vec<_> = what
            .into_iter()
            .map(|what| {
                scope.spawn(move || {
                    barrier.wait();
                    write(repository, what)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    })
}

/// Eight at once, one of them poisoned, at each position.
fn check(poison: Poison) {
    let world = World::new(Kind::Near);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).expect("it works");
    match poison {
        Poison::Moved => {}
        Poison::Named => {
            let text = "case $1 in refs/tags/poison*) echo 'poison is not for us' >&2; exit 1;; esac";
            hook(&world, "update", text);
        }
        Poison::Unnamed => {
            let test = "case $name in refs/tags/poison*) echo 'no poison' >&2; exit 1;; esac";
            hook(&world, "pre-receive", &format!("while read old new name; do {test}; done"));
        }
    }
    for position in 0..ITEMS {
        check_position(&world, poison, position);
    }
    let (_, seen) = snapshot(&repository);
    let published = lines(&seen).into_iter().filter(|line| line.contains(" w 1 Published")).count();
    assert_eq!(published, ITEMS * (ITEMS - 1));
    world.fsck();
}

fn check_position(world: &World, poison: Poison, position: usize) {
    let repository = world.open();
    let bad = format!("poison{position}");
    let mut what = Vec::new();
    for number in 0..ITEMS {
        let name = if number == position { bad.clone() } else { format!("p{position}-{number}") };
        if number == position && poison == Poison::Moved {
            let first = write(&repository, save(&name, "w", "1", None)).expect("it works");
            let at = first.commit.expect("a commit");
            write(&repository, save(&name, "w", "2", Some(at))).expect("it works");
            what.push(publish(&name, "w", Source::Branch { stage: Stage::Draft, at }));
        } else {
            what.push(publish_content(&name, "w", "1"));
        }
    }
    let answers = publish_together(world, what);
    for (number, answer) in answers.iter().enumerate() {
        if number != position {
            assert!(answer.is_ok(), "{poison:?} {position}: {number}: {answer:?}");
            let Ok(done) = answer else { continue };
            assert_eq!(done.revision.expect("a number").get(), 1);
            continue;
        }
        let error = answer.as_ref().expect_err("it is poisoned").to_string();
        match poison {
            Poison::Moved => assert!(error.contains(&format!("drafts/{bad}/w\" is at")), "{error}"),
            Poison::Named => {
                assert!(error.contains(&format!("refuses \"refs/tags/{bad}/v1\": hook declined")), "{error}");
                assert!(error.contains("poison is not for us"), "{error}");
            }
            Poison::Unnamed => assert!(error.contains("pre-receive hook declined: no poison"), "{error}"),
        }
    }
}

#[test]
fn a_moved_draft_spoils_nothing_for_the_others() {
    check(Poison::Moved);
}

#[test]
fn a_refusal_by_name_spoils_nothing_for_the_others() {
    check(Poison::Named);
}

#[test]
fn a_refusal_without_a_name_spoils_nothing_for_the_others() {
    check(Poison::Unnamed);
}

/// While one push is under way, those that come wait and then go together.
#[test]
fn what_waits_goes_in_one_push() {
    let world = World::new(Kind::Http);
    let repository = Arc::new(world.open());
    write(&repository, Operation::CreateBranch).unwrap();
    let server = world.server.as_ref().unwrap();
    let pushes = || {
        server
            .requests()
            .iter()
            .filter(|line| line.starts_with("POST") && line.ends_with("git-receive-pack"))
            .count()
    };
    let before = pushes();
    let what = (0..16).map(|number| publish_content(&format!("p{number}"), "w", "1")).collect();
    let answers = publish_together(&world, what);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let used = pushes() - before;
    assert!(used < 16, "{used} pushes for 16 publishes");
    assert_eq!(world.git(&["rev-list", "--count", "--first-parent", "main"]), "17");
    world.fsck();
}

/// Several revisions of one package in one push have numbers in a row.
#[test]
fn one_package_many_times_at_once() {
    let world = World::new(Kind::Own);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let what =
        (0..10).map(|number| publish_content("p", &format!("w{number}"), &number.to_string())).collect();
    let answers = publish_together(&world, what);
    let mut numbers: Vec<_> =
        answers.into_iter().map(|answer| answer.unwrap().revision.unwrap().get()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    world.fsck();
}

/// A draft that is published together with an order to delete it: one of the two wins, on the remote as well.
#[test]
fn two_that_want_the_same_branch_do_not_both_get_it() {
    let world = World::new(Kind::Own);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let at: CommitId = write(&repository, save("p", "w", "1", None)).unwrap().commit.unwrap();
    let source = || Source::Branch { stage: Stage::Draft, at };
    let answers = publish_together(&world, vec![publish("p", "w", source()), publish("p", "w", source())]);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"]);
}
