//! Pushes that go wrong: lost answers, remotes that refuse, remotes that cannot move several refs at once.

use std::sync::{Arc, Mutex, PoisonError};

use lanai_repository::packages::{
    Conflict, Intent, Journal, Operation, Outcome, Place, Source, Stage, WriteError,
};
use lanai_repository::{Error, Silent};

use super::{Kind, World, publish, publish_content, save, write};
use crate::repository::git;
use crate::server::Behaviour;

/// A journal that remembers what it was told.
#[derive(Default)]
pub(crate) struct Remembering(Mutex<Vec<(Intent, Option<Outcome>)>>);

impl Remembering {
    pub(crate) fn all(&self) -> Vec<(Intent, Option<Outcome>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for Remembering {
    fn begin(&self, intent: &Intent) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((intent.clone(), None));
        Ok(())
    }

    fn end(&self, intent: &Intent, outcome: Outcome) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.iter_mut().rev().find(|(begun, _)| begun == intent).expect("it was begun");
        last.1 = Some(outcome);
    }
}

/// A journal that keeps nothing: the process dies before the push.
struct Dying;

impl Journal for Dying {
    fn begin(&self, _: &Intent) -> Result<(), String> {
        Err("the disk is full".to_owned())
    }

    fn end(&self, _: &Intent, _: Outcome) {}
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again() {
    for (lose_answers, lose_pushes) in [(1, 0), (0, 1), (2, 0), (0, 2), (1, 1)] {
        let journal = Arc::new(Remembering::default());
        let world = World::with(Kind::Http, Behaviour::default(), Arc::<Remembering>::clone(&journal));
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        let server = world.server.as_ref().unwrap();
        let authorization = Some(super::basic(super::USER, super::PASSWORD));
        server.set(Behaviour { authorization, lose_answers, lose_pushes, ..Behaviour::default() });
        let done = write(&repository, publish_content("p", "w", "1")).unwrap();
        assert_eq!(done.revision.unwrap().get(), 1);
        assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"]);
        assert_eq!(world.git(&["rev-list", "--count", "--first-parent", "main"]), "2", "it is there once");
        let (intent, outcome) = journal.all().pop().unwrap();
        assert_eq!((intent.commands.len(), outcome), (2, Some(Outcome::Landed)));
        world.fsck();
    }
}

#[test]
fn an_answer_that_cannot_be_had_is_unknown_and_settled_later() {
    for (lose_answers, lose_pushes, expected) in [(100, 0, 1), (0, 100, 1)] {
        let journal = Arc::new(Remembering::default());
        let world = World::with(Kind::Http, Behaviour::default(), Arc::<Remembering>::clone(&journal));
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        let server = world.server.as_ref().unwrap();
        let authorization = Some(super::basic(super::USER, super::PASSWORD));
        let well = Behaviour { authorization, ..Behaviour::default() };
        server.set(Behaviour { lose_answers, lose_pushes, ..well.clone() });
        let answer = write(&repository, publish_content("p", "w", "1"));
        let (intent, outcome) = journal.all().pop().unwrap();
        if lose_pushes > 0 {
            assert!(matches!(answer, Err(WriteError::Unknown { .. })), "{answer:?}");
            assert_eq!(outcome, Some(Outcome::Unknown));
            server.set(well.clone());
            // Another process finds the intent, and what was staged for it.
            let other = world.restarted(Arc::new(lanai_repository::packages::NoJournal));
            assert_eq!(other.recover(&intent, &Silent).unwrap(), Outcome::Landed);
            assert_eq!(other.recover(&intent, &Silent).unwrap(), Outcome::Landed, "once more does no harm");
        } else {
            assert!(answer.is_ok(), "the next look shows it: {answer:?}");
        }
        assert_eq!(world.git(&["rev-list", "--count", "p/v1"]), "3");
        assert_eq!(world.git(&["tag", "--list", "p/*"]).lines().count(), expected);
        world.fsck();
    }
}

/// A process that died before its push: the same commands land later, or prove that they cannot.
#[test]
fn an_intent_of_a_dead_process_lands_or_cannot_any_more() {
    for kind in [Kind::Own, Kind::Near, Kind::Http] {
        for is_overtaken in [false, true] {
            let journal = Arc::new(Remembering::default());
            let world = World::with(kind, Behaviour::default(), Arc::<Remembering>::clone(&journal));
            let repository = world.open();
            write(&repository, Operation::CreateBranch).unwrap();
            let at = write(&repository, save("p", "w", "1", None)).unwrap().commit.unwrap();
            write(&repository, publish("p", "w", Source::Branch { stage: Stage::Draft, at })).unwrap();
            let intent = journal.all().pop().unwrap().0;
            // As if the push had not happened: the refs are where they were.
            for command in &intent.commands {
                match command.old {
                    Some(old) => drop(world.git(&["update-ref", command.name.as_str(), &old.to_string()])),
                    None => drop(world.git(&["update-ref", "-d", command.name.as_str()])),
                }
            }
            if is_overtaken {
                world.outsider("main", "theirs", "x");
            }
            let other = world.restarted(Arc::new(lanai_repository::packages::NoJournal));
            let outcome = other.recover(&intent, &Silent).unwrap();
            if is_overtaken {
                assert_eq!(outcome, Outcome::NotLanded, "{kind:?}");
                assert_eq!(world.refs(), ["refs/heads/drafts/p/w", "refs/heads/main"]);
            } else {
                assert_eq!(outcome, Outcome::Landed, "{kind:?}");
                assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"]);
            }
            world.fsck();
        }
    }
}

#[test]
fn nothing_is_pushed_that_could_not_be_noted() {
    let world = World::new(Kind::Own);
    write(&world.open(), Operation::CreateBranch).unwrap();
    let error = write(&world.restarted(Arc::new(Dying)), publish_content("p", "w", "1")).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(world.refs(), ["refs/heads/main"]);
}

#[test]
fn a_protected_branch_refuses_in_its_own_words_at_once() {
    for kind in [Kind::Near, Kind::Http] {
        let world = World::new(kind);
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        super::group::hook(
            &world,
            "update",
            "case $1 in refs/heads/main) echo 'GH006: main is protected' >&2; exit 1;; esac",
        );
        let error = write(&repository, publish_content("p", "w", "1")).unwrap_err();
        assert!(matches!(error, WriteError::Refused { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "\"{}\" refuses \"refs/heads/main\": hook declined: GH006: main is protected; error: hook declined to update refs/heads/main",
                world.address
            )
        );
        if let Some(server) = &world.server {
            let pushes = server
                .requests()
                .iter()
                .filter(|line| line.starts_with("POST") && line.ends_with("receive-pack"))
                .count();
            assert_eq!(pushes, 2, "one for the branch, one that was refused");
        }
        assert_eq!(world.refs(), ["refs/heads/main"]);
    }
}

#[test]
fn a_remote_without_atomic_pushes_goes_step_by_step() {
    for kind in [Kind::Near, Kind::Http] {
        let journal = Arc::new(Remembering::default());
        let world = World::with(kind, Behaviour::default(), Arc::<Remembering>::clone(&journal));
        world.git(&["config", "receive.advertiseAtomic", "false"]);
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        let at = write(&repository, save("p", "w", "1", None)).unwrap().commit.unwrap();
        let source = Source::Branch { stage: Stage::Draft, at };
        let done = write(&repository, publish("p", "w", source)).unwrap();
        assert_eq!(done.revision.unwrap().get(), 1);
        assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"]);
        // Main refuses: what was made before it is taken back.
        super::group::hook(&world, "update", "case $1 in refs/heads/main) echo 'not now' >&2; exit 1;; esac");
        let error = write(&repository, publish_content("q", "w", "1")).unwrap_err();
        assert!(error.to_string().contains("hook declined: not now"), "{error}");
        assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"], "the tag is gone again");
        std::fs::remove_file(world.folder.join("hooks/update")).unwrap();

        // A process dies after each step; the next one goes on or goes back.
        write(&repository, publish_content("q", "w", "1")).unwrap();
        let intent = journal.all().pop().unwrap().0;
        let main = intent.commands.iter().find(|command| command.name.as_str() == "refs/heads/main").unwrap();
        let tag = intent.commands.iter().find(|command| command.name.as_str() == "refs/tags/q/v1").unwrap();
        let back = main.old.unwrap().to_string();
        world.git(&["update-ref", "refs/heads/main", &back]);
        let other = world.restarted(Arc::new(lanai_repository::packages::NoJournal));
        assert_eq!(other.recover(&intent, &Silent).unwrap(), Outcome::Landed, "after the tag: goes on");
        assert_eq!(world.git(&["rev-parse", "main"]), main.new.unwrap().to_string());
        world.git(&["update-ref", "refs/heads/main", &back]);
        let theirs = world.outsider("main", "theirs", "x");
        assert_eq!(other.recover(&intent, &Silent).unwrap(), Outcome::NotLanded, "main moved on: goes back");
        assert_eq!(world.git(&["rev-parse", "main"]), theirs);
        assert!(!world.refs().contains(&tag.name.to_string()), "{:?}", world.refs());
        world.fsck();
    }
}

#[test]
fn trouble_that_passes_is_waited_for_and_other_trouble_is_not() {
    let authorization = Some(super::basic(super::USER, super::PASSWORD));
    for (status, times, works) in
        [(503, 2, true), (429, 1, true), (503, 50, false), (500, 1, false), (404, 1, false)]
    {
        let world = World::new(Kind::Http);
        let server = world.server.as_ref().unwrap();
        server.set(Behaviour {
            troubles: Some((times, status)),
            authorization: authorization.clone(),
            ..Behaviour::default()
        });
        let result = world.open().poll(&Silent);
        assert_eq!(result.is_ok(), works, "{status} {times}: {result:?}");
        assert!(server.requests().len() <= 6, "{status}: there is a bound: {:?}", server.requests());
    }
}

/// What the mirror has, the remote may have no more: all that a push needs is sent.
#[test]
fn a_remote_that_was_made_anew_gets_everything() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w", "1")).unwrap();
    std::fs::remove_dir_all(&world.folder).unwrap();
    std::fs::create_dir_all(&world.folder).unwrap();
    world.git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
    world.git(&["config", "http.receivepack", "true"]);
    write(&repository, Operation::CreateBranch).unwrap();
    let done = write(&repository, publish_content("p", "w", "1")).unwrap();
    assert_eq!(done.revision.unwrap().get(), 2, "numbers go on");
    world.fsck();
}

/// A request whose ref cannot stand beside another is answered, and no other request suffers.
#[test]
fn refs_that_cannot_stand_together_are_told() {
    for kind in [Kind::Own, Kind::Near, Kind::Http] {
        let world = World::new(kind);
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        write(&repository, save("a", "w", "1", None)).unwrap();
        let error = write(&repository, save("a/w", "x", "1", None)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"refs/heads/drafts/a/w/x\" cannot be made beside \"refs/heads/drafts/a/w\""
        );
        write(&repository, save("b/w", "x", "1", None)).unwrap();
        let error = write(&repository, save("b", "w", "1", None)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"refs/heads/drafts/b/w\" cannot be made beside \"refs/heads/drafts/b/w/x\""
        );
        write(&repository, publish_content("a", "w2", "1")).unwrap();
        let error = write(&repository, publish_content("a/v1", "w", "1")).unwrap_err();
        assert!(matches!(error, WriteError::Conflict(Conflict::Beside { .. })), "{error}");
        world.fsck();
        let clone = world.home.path().join(format!("clone-{kind:?}"));
        git(
            world.home.path(),
            &["clone", "--quiet", "--mirror", world.folder.to_str().unwrap(), clone.to_str().unwrap()],
            b"",
        );
    }
}

#[test]
fn a_ref_that_git_made_below_a_name_is_in_its_way() {
    let world = World::new(Kind::Own);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let head = world.git(&["rev-parse", "main"]);
    world.git(&["update-ref", "refs/heads/drafts/a/w/x", &head]);
    let error = write(&repository, save("a", "w", "1", None)).unwrap_err();
    assert!(matches!(error, WriteError::Conflict(Conflict::Beside { .. })), "{error}");
}

/// Files of others are not replaced by a package.
#[test]
fn a_package_does_not_take_the_place_of_a_file() {
    let world = World::new(Kind::Near);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    world.outsider("main", "apps", "a file");
    let error = write(&repository, publish_content("apps/web", "w", "1")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("package \"apps/web\" cannot be written: \"apps\" is no folder in commit "),
        "{error}"
    );
    let error = write(&repository, save("apps", "w", "1", None)).unwrap_err();
    assert!(matches!(error, WriteError::Conflict(Conflict::Occupied { .. })), "{error}");
}

/// Where deletions are not allowed, nobody is told that something was deleted.
#[test]
fn a_refused_deletion_is_told_by_remotes_without_atomic_pushes() {
    let world = World::new(Kind::Http);
    world.git(&["config", "receive.advertiseAtomic", "false"]);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let at = write(&repository, save("p", "w", "1", None)).unwrap().commit.unwrap();
    world.git(&["config", "receive.denyDeletes", "true"]);
    let place =
        Place { package: "p".parse().unwrap(), workspace: "w".parse().unwrap(), stage: Stage::Draft, at };
    let error = write(&repository, Operation::DeleteDraft(place)).unwrap_err();
    assert!(matches!(error, WriteError::Refused { .. }), "{error}");
    assert!(world.refs().contains(&"refs/heads/drafts/p/w".to_owned()));
}

/// Marks are made for what is there; a tag that is an object is the revision that it is about.
#[test]
fn marks_and_deletions_look_at_the_tag() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let at = write(&repository, publish_content("p", "w", "1")).unwrap().commit.unwrap();
    world.git(&["-c", "user.name=x", "-c", "user.email=x", "tag", "-a", "-m", "by hand", "p/v8", "p/v1"]);
    repository.poll(&Silent).unwrap();
    let mark = |last: &str| lanai_repository::packages::Mark {
        package: "p".parse().unwrap(),
        last: last.to_owned(),
        at,
    };
    write(&repository, Operation::Mark(mark("v8"))).unwrap();
    let error = write(&repository, Operation::Mark(mark("v9"))).unwrap_err();
    assert_eq!(error.to_string(), format!("\"refs/tags/p/v9\" is at nothing, not at {at}"));
    let error = write(&repository, Operation::Mark(mark("a b"))).unwrap_err();
    assert_eq!(error.to_string(), "no ref can be called \"p/a b\"");
    write(&repository, Operation::DeleteRevision(mark("v8"))).unwrap();
    assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"], "the mark is gone as well");
}

/// Who leaves while others wait takes nobody along, and is not waited for.
#[test]
fn who_leaves_the_queue_leaves_alone() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    super::group::hook(&world, "pre-receive", "while [ -e ../hold ]; do :; done");
    std::fs::write(world.folder.join("../hold"), "").unwrap();
    let repository = &repository;
    std::thread::scope(|scope| {
        let leader = Leaver::default();
        let first = {
            let progress = leader.clone();
            scope.spawn(move || repository.write(super::request(publish_content("a", "w", "1")), &progress))
        };
        // The first push was for the branch.
        let is_push = |line: &&String| line.starts_with("POST") && line.ends_with("receive-pack");
        while world.server.as_ref().expect("a server").requests().iter().filter(is_push).count() < 2 {
            std::thread::yield_now();
        }
        let waiter = Leaver::default();
        let second = {
            let progress = waiter.clone();
            scope.spawn(move || repository.write(super::request(publish_content("b", "w", "1")), &progress))
        };
        let third = scope.spawn(move || write(repository, publish_content("c", "w", "1")));
        while repository.waiting() < 2 {
            std::thread::yield_now();
        }
        waiter.0.cancel();
        let gone = second.join().unwrap();
        leader.0.cancel();
        std::fs::remove_file(world.folder.join("../hold")).unwrap();
        assert!(
            matches!(&gone, Err(WriteError::Remote(error)) if matches!(**error, Error::Cancelled)),
            "{gone:?}"
        );
        first.join().unwrap().expect("what was begun is finished");
        third.join().unwrap().expect("it does not matter who began");
    });
    assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/a/v1", "refs/tags/c/v1"]);
}

#[derive(Clone, Default)]
struct Leaver(lanai_repository::Cancel);

impl lanai_repository::Progress for Leaver {
    fn cancel(&self) -> lanai_repository::Cancel {
        self.0.clone()
    }
}

/// A server in front of the repository refuses: that is an answer, and nothing is sent again.
#[test]
fn a_refusal_over_http_is_final_and_told() {
    for (status, headers, text, expected) in [
        (403, "", "read-only until noon", "read-only until noon"),
        (413, "", "too large", "HTTP status 413 Payload Too Large: too large"),
        (404, "", "gone", "HTTP status 404 Not Found: gone"),
        (429, "Retry-After: 1\r\n", "slowly", "slowly"),
        (302, "Location: http://127.0.0.1:1/\r\n", "", "HTTP status 302 Found"),
    ] {
        let journal = Arc::new(Remembering::default());
        let world = World::with(Kind::Http, Behaviour::default(), Arc::<Remembering>::clone(&journal));
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        let server = world.server.as_ref().unwrap();
        let authorization = Some(super::basic(super::USER, super::PASSWORD));
        let refuse_pushes = Some((status, headers.to_owned(), text.to_owned()));
        server.set(Behaviour { authorization: authorization.clone(), refuse_pushes, ..Behaviour::default() });
        let before = pushes(&world);
        let error = write(&repository, publish_content("p", "w", "1")).unwrap_err();
        assert!(error.to_string().contains(expected), "{status}: {error}");
        let is_refusal = matches!(error, WriteError::Refused { .. });
        assert_eq!(is_refusal, !matches!(status, 403 | 429), "{status}: {error:?}");
        assert_eq!(pushes(&world) - before, 1, "{status}");
        assert_eq!(journal.all().pop().unwrap().1, Some(Outcome::NotLanded), "{status}");
        assert_eq!(world.refs(), ["refs/heads/main"]);
        server.set(Behaviour { authorization, ..Behaviour::default() });
        write(&repository, publish_content("p", "w", "1")).unwrap();
    }
}

fn pushes(world: &World) -> usize {
    let is_push = |line: &&String| line.starts_with("POST") && line.ends_with("receive-pack");
    world.server.as_ref().expect("a server").requests().iter().filter(is_push).count()
}

/// What proves that a push landed, or cannot land any more, when its answer was lost.
#[test]
fn only_refs_prove_what_became_of_a_lost_push() {
    // Somebody builds upon it before anybody looks.
    let follow = "while read old new name; do if [ $name = refs/heads/main ]; then
        next=$(GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x \\
            git commit-tree -p $new -m theirs $new^{tree}) && git update-ref refs/heads/main $next; fi; done";
    // It is not let in a second time, which proves nothing: the first may be under way still.
    let refuse = "echo 'not again' >&2; exit 1";
    for (lose_answers, lose_pushes, name, text, expected) in [
        (1, 0, "post-receive", follow, Some(Outcome::Landed)),
        (0, 1, "pre-receive", refuse, Some(Outcome::Unknown)),
    ] {
        let journal = Arc::new(Remembering::default());
        let world = World::with(Kind::Http, Behaviour::default(), Arc::<Remembering>::clone(&journal));
        let repository = world.open();
        write(&repository, Operation::CreateBranch).unwrap();
        super::group::hook(&world, name, text);
        let authorization = Some(super::basic(super::USER, super::PASSWORD));
        let behaviour = Behaviour { authorization, lose_answers, lose_pushes, ..Behaviour::default() };
        world.server.as_ref().unwrap().set(behaviour);
        let answer = write(&repository, publish_content("p", "w", "1"));
        assert_eq!(journal.all().pop().unwrap().1, expected, "{name}: {answer:?}");
        if expected == Some(Outcome::Landed) {
            assert_eq!(answer.unwrap().revision.unwrap().get(), 1);
            let count = world.git(&["rev-list", "--count", "--first-parent", "main"]);
            assert_eq!(count, "3", "it is there once, and theirs");
            assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/p/v1"]);
        } else {
            let error = answer.unwrap_err();
            assert!(matches!(error, WriteError::Unknown { .. }), "{error:?}");
            assert!(error.to_string().contains("not again"), "{error}");
        }
        world.fsck();
    }
}

/// Git moves refs from files of their own into one file while they are listed: none is missed.
#[test]
fn refs_are_listed_whole_while_git_packs_them() {
    let world = World::new(Kind::Near);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let head = world.git(&["rev-parse", "main"]);
    let (there, is_over) =
        (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=60 {
                world.git(&["update-ref", &format!("refs/tags/t{number}"), &head]);
                there.store(number, std::sync::atomic::Ordering::SeqCst);
                world.git(&["pack-refs", "--all"]);
            }
            is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
            let least = there.load(std::sync::atomic::Ordering::SeqCst);
            let refs = repository.poll(&Silent).unwrap();
            assert!(refs.len() > least, "{} of {least} and main", refs.len());
        }
    });
}
