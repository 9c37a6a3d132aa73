//! We and Porch work on one repository.

use lanai_repository::Silent;
use lanai_repository::packages::{Mark, Move, Operation, Place, Repository, Source, Stage};
use lanai_types::CommitId;
use serde_json::{Value, json};

use super::super::{PASSWORD, USER, publish, publish_content, save, write};
use super::*;

const KINDS: [Kind; 3] = [Kind::Near, Kind::Http, Kind::Own];

/// Both at one repository.
struct Pair {
    world: World,
    ours: Repository,
    porch: Porch,
}

impl Pair {
    fn new(test: &str, kind: Kind, directory: &str) -> Option<Self> {
        let mut porch = Porch::start(test)?;
        let world = World::new(kind);
        let ours = open(&world, "main", directory);
        write(&ours, Operation::CreateBranch).expect("it works");
        let login =
            if kind == Kind::Http { json!({"user": USER, "password": PASSWORD}) } else { Value::Null };
        porch.open(&Door { url: &url(&world), branch: "main", directory, more: json!({"login": login}) });
        Some(Self { world, ours, porch })
    }

    fn write(&self, what: Operation) -> CommitId {
        let done = write(&self.ours, what).expect("it works");
        done.commit.unwrap_or_else(|| "0".repeat(40).parse().expect("an id"))
    }

    fn number(&self, what: Operation) -> i64 {
        write(&self.ours, what).expect("it works").revision.expect("a number").get()
    }

    fn at(&self, name: &str) -> CommitId {
        let refs = self.ours.poll(&Silent).expect("it is polled");
        refs.commit(&name.parse().expect("a name")).expect(name)
    }

    /// Both say the same; how many revisions there are, and that git is content.
    fn agree(&mut self, count: usize) {
        let listed = self.porch.list();
        let (_, seen) = snapshot(&self.ours);
        assert_eq!(differences(&seen, &listed, &self.world.folder), [""; 0]);
        assert_eq!((seen.revisions.len(), seen.problems.len()), (count, 0));
        self.world.fsck();
    }
}

fn mark(package: &str, last: &str, at: CommitId) -> Mark {
    Mark { package: package.parse().expect("a package"), last: last.to_owned(), at }
}

fn place(package: &str, workspace: &str, stage: Stage, at: CommitId) -> Place {
    let (package, workspace) = (package.parse().expect("a package"), workspace.parse().expect("a workspace"));
    Place { package, workspace, stage, at }
}

fn edit() -> Value {
    json!({"type": "edit", "edit": {"sourceRef": {"name": "x"}}})
}

#[test]
fn porch_reads_what_we_write_and_goes_on() {
    for (kind, directory) in KINDS.into_iter().flat_map(|kind| [(kind, ""), (kind, "dir/sub")]) {
        let Some(mut pair) = Pair::new("turns::porch_reads_what_we_write_and_goes_on", kind, directory)
        else {
            return;
        };
        let below = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        for (name, workspace) in
            [("p", "w1"), ("p", "w2"), ("a/b/c", "w1"), ("q", "w1"), ("q", "w2"), ("r/s", "w1")]
        {
            pair.number(publish_content(name, workspace, workspace));
        }
        let draft = pair.write(save("p", "w3", "3", None));
        pair.write(save("p", "w3", "4", Some(draft)));
        let at = pair.write(save("a/b/c", "w2", "2", None));
        let from = place("a/b/c", "w2", Stage::Draft, at);
        pair.write(Operation::Move(Move { from, to: Stage::Proposed }));
        let at = pair.write(save("new", "w1", "1", None));
        pair.write(Operation::DeleteDraft(place("new", "w1", Stage::Draft, at)));
        for (package, last) in [("p", "v1"), ("q", "v1"), ("r/s", "v1")] {
            let at = pair.at(&format!("refs/tags/{below}{package}/{last}"));
            pair.write(Operation::Mark(mark(package, last, at)));
        }
        pair.write(Operation::Mark(mark("q", "main", pair.at("refs/heads/main"))));
        for package in ["q", "r/s"] {
            let at = pair.at(&format!("refs/tags/{below}{package}/v1"));
            pair.write(Operation::DeleteRevision(mark(package, "v1", at)));
        }
        pair.write(Operation::DeletePlaceholder("r/s".parse().expect("a package")));
        // p: 2 and a draft, a/b/c: 1 and a proposed one, q: 1; and three placeholders.
        pair.agree(9);
        let resources = pair.porch.order("resources", "a/b/c", "w1");
        assert_eq!(resources["bin/run.sh"], "#!/bin/sh\n", "{resources}");

        pair.porch.write("create", "p", "w4", "new", &edit());
        pair.porch.order("propose", "p", "w4");
        let approved = pair.porch.order("approve", "p", "w4");
        assert_eq!((&approved["revision"], &approved["workspace"]), (&json!(3), &json!("w4")));
        let at = pair.at(&format!("refs/heads/proposed/{below}a/b/c/w2"));
        assert_eq!(pair.porch.order("approve", "a/b/c", "w2")["revision"], 2);
        let late = write(&pair.ours, publish("a/b/c", "w2", Source::Branch { stage: Stage::Proposed, at }));
        assert!(late.expect_err("Porch was first").to_string().contains("is at nothing"));
        pair.porch.order("delete", "p", "w1");
        pair.porch.order("delete", "q", "main");
        pair.agree(8);
        assert_eq!(pair.number(publish_content("p", "w5", "5")), 4);
        pair.agree(9);
    }
}

#[test]
fn we_read_what_porch_writes_and_go_on() {
    for (kind, directory) in KINDS.into_iter().flat_map(|kind| [(kind, ""), (kind, "dir/sub")]) {
        let Some(mut pair) = Pair::new("turns::we_read_what_porch_writes_and_go_on", kind, directory) else {
            return;
        };
        let below = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let (draft, proposed) =
            (format!("refs/heads/drafts/{below}a/p/w2"), format!("refs/heads/proposed/{below}a/p/w2"));
        pair.porch.write("publish", "a/p", "w1", "one", &json!({"type": "init", "init": {}}));
        pair.agree(2);
        // One draft that goes from hand to hand.
        pair.porch.write("create", "a/p", "w2", "two", &edit());
        pair.write(save("a/p", "w2", "3", Some(pair.at(&draft))));
        pair.agree(3);
        pair.porch.write("update", "a/p", "w2", "four", &json!({"type": "render"}));
        let from = place("a/p", "w2", Stage::Draft, pair.at(&draft));
        pair.write(Operation::Move(Move { from, to: Stage::Proposed }));
        pair.agree(3);
        pair.porch.order("reject", "a/p", "w2");
        pair.agree(3);
        pair.porch.order("propose", "a/p", "w2");
        let at = pair.at(&proposed);
        let number = pair.number(publish("a/p", "w2", Source::Branch { stage: Stage::Proposed, at }));
        assert_eq!(number, 2);
        pair.agree(3);
        // Marks of each, taken back by the other.
        pair.porch.order("propose-deletion", "a/p", "w1");
        pair.agree(3);
        let at = pair.at(&format!("refs/heads/deletionProposed/{below}a/p/v1"));
        pair.write(Operation::Unmark(mark("a/p", "v1", at)));
        pair.agree(3);
        pair.write(Operation::Mark(mark("a/p", "v1", at)));
        pair.porch.order("reject-deletion", "a/p", "w1");
        pair.agree(3);
        pair.porch.order("propose-deletion", "a/p", "w1");
        pair.write(Operation::DeleteRevision(mark("a/p", "v1", at)));
        pair.agree(2);
        pair.porch.order("propose-deletion", "a/p", "main");
        pair.agree(2);
        pair.write(Operation::DeletePlaceholder("a/p".parse().expect("a package")));
        pair.agree(1);
        let three = pair.porch.write("publish", "a/p", "w3", "five", &edit());
        assert_eq!(three["revision"], 3);
        assert_eq!(pair.number(publish_content("a/p", "w4", "6")), 4);
        pair.agree(4);
    }
}
