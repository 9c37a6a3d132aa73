//! The life of a package, on each kind of remote.

use lanai_repository::Silent;
use lanai_repository::packages::{
    KptfileFacts, Mark, Move, Operation, Person, Place, Publish, Source, Spec, Stage,
};

use super::{Kind, World, lines, publish, publish_content, save, snapshot, write};

fn check(kind: Kind) {
    let world = World::new(kind);
    let repository = world.open();
    let nothing = repository.poll(&Silent).expect("it works");
    assert!(nothing.is_empty());
    let error = write(&repository, save("a/b", "w1", "0", None)).expect_err("it is refused");
    assert!(error.to_string().starts_with("branch \"main\" does not exist"), "{error}");

    write(&repository, Operation::CreateBranch).expect("it works");
    assert_eq!(
        world.git(&["log", "-1", "--format=%an <%ae>|%B", "main"]),
        "Package Orchestration Service <porch@kpt.dev>|Initial commit: Creating main branch"
    );
    assert_eq!(world.git(&["show", "main:README.md"]), "Created by porch");

    let first = write(&repository, save("a/b", "w1", "1", None)).expect("it works").commit.expect("it works");
    let second =
        write(&repository, save("a/b", "w1", "2", Some(first))).expect("it works").commit.expect("it works");
    let lost = write(&repository, save("a/b", "w1", "3", Some(first))).expect_err("it is refused");
    assert!(lost.to_string().contains(&format!("is at {second}, not at {first}")), "{lost}");
    let (_, seen) = snapshot(&repository);
    assert_eq!(lines(&seen), ["a/b w1 0 Draft"]);
    let tasks: Vec<_> = seen.revisions[0].tasks.iter().map(ToString::to_string).collect();
    assert_eq!(tasks, ["{\"type\":\"init\"}", "{\"type\":\"eval\"}"]);

    let place = |stage| Place {
        package: "a/b".parse().expect("it works"),
        workspace: "w1".parse().expect("it works"),
        stage,
        at: second,
    };
    write(&repository, Operation::Move(Move { from: place(Stage::Draft), to: Stage::Proposed }))
        .expect("it works");
    assert_eq!(world.refs(), ["refs/heads/main", "refs/heads/proposed/a/b/w1"]);
    assert_eq!(lines(&snapshot(&repository).1), ["a/b w1 0 Proposed"]);

    let done =
        write(&repository, publish("a/b", "w1", Source::Branch { stage: Stage::Proposed, at: second }))
            .expect("it works");
    assert_eq!(done.revision.expect("it works").get(), 1);
    assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/a/b/v1"]);
    let approved = done.commit.expect("it works").to_string();
    assert_eq!(world.git(&["rev-parse", "main", "a/b/v1^{commit}"]), format!("{approved}\n{approved}"));
    assert_eq!(
        world.git(&["log", "-1", "--format=%an|%cn|%s", "main"]),
        "bob@example.com|Package Orchestration Service|Approving package revision a/b/1"
    );
    assert_eq!(world.git(&["rev-parse", "main^2"]), second.to_string());
    assert_eq!(world.git(&["show", "main:README.md"]), "Created by porch", "what is beside it stays");

    let (refs, seen) = snapshot(&repository);
    assert_eq!(lines(&seen), ["a/b main -1 Published", "a/b w1 1 Published"]);
    let tagged = seen.revisions.iter().find(|found| found.revision.get() == 1).expect("it works");
    assert!(matches!(&*tagged.kptfile, KptfileFacts::Read(fields) if fields.metadata.name == "b"));
    assert_eq!(
        (tagged.author.name(), tagged.time, tagged.tasks.len()),
        ("bob@example.com", 1_700_000_000, 2)
    );
    let content = repository.read(&refs, tagged.commit, &tagged.package, &Silent).expect("it works");
    assert_eq!(content.tree, tagged.tree);
    assert_eq!(content.package, super::package("b", "2"), "modes, links and bytes survive");
    assert_eq!(
        world
            .git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "main", "a/b/"])
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>(),
        [
            "100644 a/b/Kptfile",
            "100755 a/b/bin/run.sh",
            "100644 a/b/config.yaml",
            "120000 a/b/link",
            "100644 a/b/picture.png"
        ]
    );

    let mark = Mark {
        package: "a/b".parse().expect("it works"),
        last: "v1".to_owned(),
        at: done.commit.expect("it works"),
    };
    write(&repository, Operation::Mark(mark.clone())).expect("it works");
    assert_eq!(lines(&snapshot(&repository).1), ["a/b main -1 Published", "a/b w1 1 DeletionProposed"]);
    write(&repository, Operation::Unmark(mark.clone())).expect("it works");
    write(&repository, Operation::Mark(mark.clone())).expect("it works");
    write(&repository, Operation::DeleteRevision(mark)).expect("it works");
    assert_eq!(world.refs(), ["refs/heads/main"]);
    assert_eq!(lines(&snapshot(&repository).1), ["a/b main -1 Published"]);
    write(&repository, Operation::DeletePlaceholder("a/b".parse().expect("it works"))).expect("it works");
    assert_eq!(lines(&snapshot(&repository).1), [""; 0]);
    let draft = write(&repository, save("c", "w", "1", None)).expect("it works").commit.expect("it works");
    let place = Place {
        package: "c".parse().expect("it works"),
        workspace: "w".parse().expect("it works"),
        stage: Stage::Draft,
        at: draft,
    };
    write(&repository, Operation::DeleteDraft(place)).expect("it works");
    assert_eq!(world.refs(), ["refs/heads/main"]);
    // A number is not given twice, also when its tag is gone: main remembers.
    let draft = write(&repository, save("a/b", "w2", "1", None)).expect("it works").commit.expect("it works");
    let done = write(&repository, publish("a/b", "w2", Source::Branch { stage: Stage::Draft, at: draft }))
        .expect("it works");
    assert_eq!(done.revision.expect("it works").get(), 2);
    world.fsck();
}

#[test]
fn a_package_lives_in_a_repository_of_our_own() {
    check(Kind::Own);
}

#[test]
fn a_package_lives_in_a_folder_of_somebody_else() {
    check(Kind::Near);
}

#[test]
fn a_package_lives_behind_http() {
    check(Kind::Http);
}

/// Commits are the user's, unless the repository sets somebody else.
#[test]
fn the_author_is_the_user_unless_the_repository_sets_one() {
    let world = World::new(Kind::Near);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w1", "1")).unwrap();
    let author = || world.git(&["log", "-1", "--format=%an <%ae>", "main"]);
    assert_eq!(author(), "bob@example.com <bob@example.com>");
    let author_of_repository = Person::of_repository(Some("Robot"), Some("robot@example.com"));
    let spec = Spec { author: author_of_repository, ..repository.spec().clone() };
    write(&world.all.open(spec).unwrap(), publish_content("p", "w2", "2")).unwrap();
    assert_eq!(author(), "Robot <robot@example.com>");
    let (_, seen) = snapshot(&repository);
    let of = |number: i64| seen.revisions.iter().find(|found| found.revision.get() == number).unwrap();
    assert_eq!(of(1).author, Person::user("bob@example.com"));
    assert_eq!(of(2).author, Person::new("Robot", "robot@example.com"));
}

/// What the caller has ever seen counts as well, whatever happened to the remote since.
#[test]
fn a_number_is_above_all_that_was_ever_seen() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let number = |workspace: &str, highest_seen: i64| {
        let Operation::Publish(publish) = publish_content("p", workspace, workspace) else { unreachable!() };
        let what = Operation::Publish(Publish { highest_seen, ..publish });
        write(&repository, what).unwrap().revision.unwrap().get()
    };
    assert_eq!(number("w1", 0), 1);
    assert_eq!(number("w2", 41), 42);
    assert_eq!(number("w3", 7), 43);
    world.git(&["tag", "--delete", "p/v43"]);
    assert_eq!(number("w4", 0), 44, "what was published on main");
}
