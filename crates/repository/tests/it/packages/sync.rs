//! What is asked for, and what comes.

use std::sync::Arc;

use lanai_repository::packages::{NoJournal, Operation};

use super::{Kind, World, open, publish_content, repositories, snapshot, write};

/// The lines of a request for a pack.
fn asked(question: &str, what: &str) -> usize {
    question.matches(what).count()
}

/// Who has the branches asks for what is new. A pack must stand for itself: in one whose deltas build upon what is here, the
/// library that completes it can go wrong.
#[test]
fn only_what_is_new_is_asked_for_and_in_a_pack_of_its_own() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    // Another machine, as it were: it shares nothing.
    let elsewhere = tempfile::tempdir().unwrap();
    let all = repositories(elsewhere.path(), &world.secrets, Arc::new(NoJournal));
    let other = open(&all, &world.address, "ns/git", "");
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w1", "1")).unwrap();
    snapshot(&other);
    write(&repository, publish_content("p", "w2", "2")).unwrap();
    let before = world.git(&["rev-parse", "p/v1"]);
    let now = world.git(&["rev-parse", "p/v2"]);
    snapshot(&other);
    let server = world.server.as_ref().unwrap();
    let packs: Vec<_> =
        server.questions().into_iter().filter(|text| text.contains("command=fetch")).collect();
    assert!(packs.len() >= 2, "{packs:?}");
    let last = packs.last().unwrap();
    assert_eq!(asked(last, "want "), 1, "{last}");
    assert_eq!(asked(last, &format!("want {now}")), 1, "{last}");
    assert!(asked(last, &format!("have {before}")) == 1 && asked(last, "have ") <= 64, "{last}");
    for question in packs {
        assert!(question.contains("ofs-delta") && !question.contains("thin-pack"), "{question}");
    }
}
