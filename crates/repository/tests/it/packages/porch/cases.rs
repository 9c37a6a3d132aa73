//! What Porch is asked to write, and where we read it in another way.

use serde_json::{Value, json};

use super::super::World;
use super::program::{Door, Porch};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) make: fn(&mut Porch, &World),
    pub(super) views: &'static [View],
}

/// A branch and directory, and in what we do not say what Porch says.
pub(super) struct View {
    pub(super) branch: &'static str,
    pub(super) directory: &'static str,
    pub(super) differs: &'static [Deviation],
}

pub(super) struct Deviation {
    pub(super) line: &'static str,
    #[expect(dead_code, reason = "it is for readers")]
    why: &'static str,
}

const MAIN: View = View { branch: "main", directory: "", differs: &[] };

const EDITED: &str =
    "somebody edited the package on the branch: Porch names who published it last, we who made the commit";
const NUMBERS: &str = "Porch reads any whole number, we those that it could have written itself";
const NAMES: &str =
    "the commit names the workspace of another number; Porch then lists two revisions of one name";
const NOBODY: &str = "Porch never published it and names nobody, we who made the commit";

pub(super) const CASES: &[Case] = &[
    Case { name: "life", make: life, views: &[MAIN] },
    Case {
        name: "places",
        make: places,
        views: &[
            MAIN,
            View { branch: "main", directory: "dir/sub", differs: &[] },
            View { branch: "main", directory: "dir", differs: &[] },
            View { branch: "release", directory: "", differs: &[] },
            View {
                branch: "nested/stable",
                directory: "",
                differs: &[Deviation {
                    line: "p nested/stable: workspace \"nested-stable\", Porch \"nested/stable\"",
                    why: "a workspace is part of the name of an object, which cannot hold a slash",
                }],
            },
        ],
    },
    Case {
        name: "others",
        make: others,
        views: &[View {
            branch: "main",
            directory: "",
            differs: &[
                Deviation {
                    line: "p main: author \"ann@example.com\", Porch \"bob@example.com\"",
                    why: EDITED,
                },
                Deviation { line: "p main: time", why: EDITED },
                Deviation { line: "p p/v07: revision -1, Porch 7", why: NUMBERS },
                Deviation { line: "p p/v07: workspace \"v07\", Porch \"v7\"", why: NUMBERS },
                Deviation {
                    line: "p p/v9: tasks [], Porch [{\"type\":\"edit\",\"edit\":{\"sourceRef\":{\"name\":\"repo.p.w1\"}}}]",
                    why: NAMES,
                },
                Deviation { line: "p p/v9: workspace \"v9\", Porch \"w2\"", why: NAMES },
                Deviation { line: "plain main: author \"ann@example.com\", Porch \"\"", why: NOBODY },
                Deviation { line: "plain main: time", why: NOBODY },
            ],
        }],
    },
];

fn init() -> Value {
    json!({"type": "init", "init": {"description": "a \"text\" <with> & signs", "keywords": ["x"]}})
}

fn render() -> Value {
    json!({"type": "render"})
}

fn edit(source: &str) -> Value {
    json!({"type": "edit", "edit": {"sourceRef": {"name": source}}})
}

fn clone() -> Value {
    let git = json!({"repo": "https://git.example.com/x.git", "ref": "v1", "directory": "d", "secretRef": {"name": ""}});
    json!({"type": "clone", "clone": {"upstreamRef": {"type": "git", "git": git}}})
}

fn upgrade() -> Value {
    let name = |name: &str| json!({"name": name});
    json!({"type": "upgrade", "upgrade": {
        "oldUpstreamRef": name("a"), "newUpstreamRef": name("b"), "localPackageRevisionRef": name("c"),
    }})
}

fn begin(porch: &mut Porch, world: &World, branch: &str, directory: &str, author: &str) {
    let more = json!({"createBranch": true, "user": "bob@example.com", "author": author});
    porch.open(&Door { url: &super::url(world), branch, directory, more });
}

/// All that can happen to packages.
fn life(porch: &mut Porch, world: &World) {
    begin(porch, world, "main", "", "");
    porch.write("create", "top", "w1", "one", &init());
    porch.write("update", "top", "w1", "two", &render());
    porch.order("propose", "top", "w1");
    porch.order("reject", "top", "w1");
    porch.write("propose", "top", "w1", "three", &render());
    porch.order("approve", "top", "w1");
    porch.write("create", "top", "w2", "four", &edit("repo.top.w1"));
    porch.order("propose", "top", "w2");
    porch.order("approve", "top", "w2");
    porch.write("create", "a/b/c", "w1", "one", &clone());
    porch.order("propose", "a/b/c", "w1");
    porch.order("approve", "a/b/c", "w1");
    porch.write("publish", "a/d", "w1", "one", &upgrade());
    // A draft on each way.
    porch.write("create", "top", "w3", "five", &edit("repo.top.w2"));
    porch.write("create", "a/b/c", "w2", "two", &upgrade());
    porch.order("propose", "a/b/c", "w2");
    porch.write("create", "new/one", "w1", "one", &init());
    porch.write("create", "gone", "draft", "one", &init());
    porch.order("delete", "gone", "draft");
    // Marks on a revision and on a placeholder, and one that is taken back.
    porch.order("propose-deletion", "top", "w1");
    porch.order("propose-deletion", "top", "w2");
    porch.order("reject-deletion", "top", "w2");
    porch.order("propose-deletion", "a/d", "main");
    // Deleted: an older revision, the newest (its number is given again), and all of a package.
    porch.write("publish", "gone", "w1", "one", &init());
    porch.write("publish", "gone", "w2", "two", &edit("repo.gone.w1"));
    porch.order("propose-deletion", "gone", "w1");
    porch.order("delete", "gone", "w1");
    porch.write("publish", "again", "w1", "one", &init());
    porch.order("propose-deletion", "again", "w1");
    porch.order("delete", "again", "w1");
    let again = porch.write("publish", "again", "w2", "two", &edit("repo.again.main"));
    assert_eq!(again["revision"], 1);
    porch.write("publish", "away/deep", "w1", "one", &init());
    for workspace in ["w1", "main"] {
        porch.order("propose-deletion", "away/deep", workspace);
        porch.order("delete", "away/deep", workspace);
    }
}

/// Directories and branches.
fn places(porch: &mut Porch, world: &World) {
    begin(porch, world, "main", "dir/sub", "");
    porch.write("publish", "p", "w1", "one", &init());
    porch.write("create", "q/r", "w1", "one", &init());
    porch.write("publish", "q/r", "w2", "two", &init());
    porch.order("propose-deletion", "p", "w1");
    begin(porch, world, "main", "dir/subset", "Ann");
    porch.write("publish", "p", "w1", "one", &init());
    porch.write("create", "p", "w2", "one", &edit("repo.p.w1"));
    porch.order("propose", "p", "w2");
    begin(porch, world, "release", "", "");
    porch.write("publish", "p", "w1", "one", &clone());
    porch.write("create", "p", "w2", "two", &edit("repo.p.w1"));
    begin(porch, world, "nested/stable", "", "");
    porch.write("publish", "p", "w3", "three", &clone());
    porch.order("propose-deletion", "p", "nested/stable");
}

/// What others add with git.
fn others(porch: &mut Porch, world: &World) {
    begin(porch, world, "main", "", "");
    porch.write("publish", "p", "w1", "one", &init());
    porch.write("publish", "p", "w2", "two", &edit("repo.p.w1"));
    porch.write("create", "p", "w3", "three", &edit("repo.p.w2"));
    porch.write("publish", "q", "w1", "one", &init());
    world.outsider("drafts/p/w3", "p/extra.yaml", "a: 1\n");
    world.outsider("main", "p/extra.yaml", "b: 1\n");
    world.outsider(
        "main",
        "plain/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: plain\n",
    );
    world.outsider("main", "docs/readme.md", "no package\n");
    for tag in ["v7", "p/release", "p/v1.2.3", "p/8", "p/v07", "nothing/v1", "plain/v1"] {
        world.git(&["tag", tag, "main"]);
    }
    world.git(&["tag", "-a", "-m", "annotated", "p/v9", "p/v2"]);
    world.git(&["branch", "drafts/p/empty/w1", "main"]);
    world.git(&["branch", "feature/x", "main"]);
}
