//! Pushes that follow each other: the second one asks only for what it is about, and yet is surprised by nobody.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lanai_repository::Error;
use lanai_repository::packages::{Conflict, Intent, Journal, Operation, Outcome, WriteError};
use lanai_types::RevisionNumber;

use super::{Kind, World, publish_content, save, write};
use crate::repository::git;

/// The questions for refs of a listing, and how many greetings of a push there were, from a point on.
fn asked_since(world: &World, requests: usize, questions: usize) -> (Vec<String>, usize) {
    let server = world.server.as_ref().expect("it is served");
    let listings = server.questions().into_iter().skip(questions).filter(|text| text.contains("ls-refs"));
    let greetings = server.requests().into_iter().skip(requests).filter(|text| text.starts_with("GET "));
    (listings.collect(), greetings.count())
}

/// Many tags of others, so that nobody wants to list them all.
fn fill(world: &World) {
    let orders: Vec<_> = (0..600).map(|number| format!("create refs/tags/others/t{number} main")).collect();
    git(&world.folder, &["update-ref", "--stdin"], format!("{}\n", orders.join("\n")).as_bytes());
}

#[test]
fn the_next_push_asks_for_what_it_is_about() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    fill(&world);
    write(&repository, publish_content("p", "w1", "1")).unwrap();
    write(&repository, publish_content("p", "w2", "2")).unwrap();
    let server = world.server.as_ref().unwrap();
    let (requests, questions) = (server.requests().len(), server.questions().len());
    let done = write(&repository, publish_content("p", "w3", "3")).unwrap();
    assert_eq!(done.revision.map(RevisionNumber::get), Some(3));
    let (listings, greetings) = asked_since(&world, requests, questions);
    assert_eq!((listings.len(), greetings), (1, 0), "{listings:?}");
    for prefix in ["refs/heads/main", "refs/tags/p/", "refs/heads/drafts/p/", "refs/heads/proposed/p/"] {
        assert!(listings[0].contains(&format!("ref-prefix {prefix}")), "{listings:?}");
    }
    world.fsck();
}

/// As many requests as `git push` makes, also for the push that follows another one; and one connection for all of them.
#[test]
fn a_publish_is_a_greeting_and_a_push() {
    let behaviour = crate::server::Behaviour { behind: crate::server::Next::Wait, ..Default::default() };
    let world = World::with(Kind::Http, behaviour, Arc::new(lanai_repository::packages::NoJournal));
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    let server = world.server.as_ref().unwrap();
    let (requests, connections) = (server.requests().len(), server.connections());
    for number in 1..=3 {
        let done = write(&repository, publish_content("p", &format!("w{number}"), "1")).unwrap();
        assert_eq!(done.revision.map(RevisionNumber::get), Some(number));
    }
    let asked = server.requests().split_off(requests);
    assert_eq!(asked, ["GET /remote.git/info/refs", "POST /remote.git/git-receive-pack"].repeat(3));
    assert_eq!(server.connections(), connections, "the connection of the first push serves all");
    world.fsck();
}

/// Whatever others do between two pushes counts for the second, as if it had been greeted with all refs.
#[test]
fn what_others_did_meanwhile_counts() {
    for prepare in [|_: &World| {}, fill] {
        check_others(prepare);
    }
}

fn check_others(prepare: fn(&World)) {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).expect("it works");
    prepare(&world);
    let number = |workspace: &str| {
        let done = write(&repository, publish_content("p", workspace, workspace)).expect("it works");
        done.revision.map(RevisionNumber::get)
    };
    assert_eq!(number("w1"), Some(1));
    world.git(&["tag", "p/v7", "p/v1"]);
    assert_eq!(number("w2"), Some(8), "a tag of somebody else");
    let theirs = world.outsider("main", "theirs", "1");
    assert_eq!(number("w3"), Some(9), "a commit of somebody else");
    world.git(&["merge-base", "--is-ancestor", &theirs, "main"]);
    let draft = write(&repository, save("p", "d", "1", None)).expect("it works").commit.expect("it works");
    world.git(&["update-ref", "-d", "refs/heads/drafts/p/d"]);
    let error = write(&repository, save("p", "d", "2", Some(draft))).expect_err("others were there");
    assert!(matches!(error, WriteError::Conflict(Conflict::Moved { found: None, .. })), "{error}");
    // A ref that was not asked for, and stands where a folder must be.
    assert_eq!(number("w4"), Some(10));
    world.git(&["tag", "q", "main"]);
    let error = write(&repository, publish_content("q/r", "w", "1")).expect_err("others were there");
    assert!(!matches!(error, WriteError::Contended { .. }), "{error}");
    assert_eq!(number("w5"), Some(11));
    world.fsck();
}

#[test]
fn a_credential_that_changed_meanwhile_counts() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w1", "1")).unwrap();
    let proof = lanai_repository::Proof::Bearer("another".to_owned());
    world.secrets.set("ns/git", proof);
    let error = write(&repository, publish_content("p", "w2", "2")).unwrap_err();
    assert!(error.to_string().contains("the credential was not accepted"), "{error}");
    let (user, password) = (super::USER.to_owned(), super::PASSWORD.to_owned());
    world.secrets.set("ns/git", lanai_repository::Proof::Basic { user, password });
    write(&repository, publish_content("p", "w2", "2")).unwrap();
    // A server that takes it no more says so to the question, and again to the greeting.
    let authorization = Some("Basic bm9ib2R5".to_owned());
    world.server.as_ref().unwrap().set(crate::server::Behaviour { authorization, ..Default::default() });
    let error = write(&repository, publish_content("p", "w3", "3")).unwrap_err();
    assert!(
        matches!(error, WriteError::Remote(ref cause) if matches!(**cause, Error::Credentials { .. })),
        "{error}"
    );
}

/// A journal in whose place somebody tidies up: between the writing of objects and the move of refs.
#[derive(Default)]
struct Tidying(Mutex<Option<PathBuf>>);

impl Journal for Tidying {
    fn begin(&self, _: &Intent) -> Result<(), String> {
        if let Some(folder) = &*self.0.lock().expect("nobody panicked") {
            git(folder, &["repack", "-a", "-d", "-q"], b"");
            git(folder, &["prune", "--expire=now"], b"");
        }
        Ok(())
    }

    fn end(&self, _: &Intent, _: Outcome) {}
}

#[test]
fn who_tidies_up_in_the_moment_of_a_write_takes_nothing_away() {
    let journal = Arc::new(Tidying::default());
    let world = World::with(Kind::Own, crate::server::Behaviour::default(), Arc::<Tidying>::clone(&journal));
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    *journal.0.lock().unwrap() = Some(world.folder.clone());
    for number in 1..=3 {
        let done = write(&repository, publish_content("p", &format!("w{number}"), "1")).unwrap();
        assert_eq!(done.revision.map(RevisionNumber::get), Some(number));
    }
    world.fsck();
    let packs = std::fs::read_dir(world.folder.join("objects/pack")).unwrap().flatten();
    let holds = packs.filter(|entry| entry.path().extension().is_some_and(|end| end == "keep"));
    assert_eq!(holds.count(), 0, "nothing is held for ever");
}
