//! Differences that the meaning of a package does not show: layout, comments and conflicts.

use lanai_merge::{Options, three_way};

use super::cases::{Case, cases};
use super::files::{self, Answer};

/// A row of the table, a case that shows it, and a text that only kpt's answer has and one that only ours has.
pub struct Shown {
    pub row: &'static str,
    case: &'static str,
    kpt: &'static str,
    ours: &'static str,
    /// The kinds of our conflicts.
    conflicts: &'static [&'static str],
}

pub const SHOWN: &[Shown] = &[
    Shown {
        row: "conflicts",
        case: "scalar changed on both sides",
        kpt: "v: 2\n",
        ours: "v: 2\n",
        conflicts: &["BothChanged"],
    },
    Shown {
        row: "keys of new mappings",
        case: "mapping added upstream",
        kpt: "v:\n  a:\n    b: 2\n    y: 1\n  z: 1\n",
        ours: "v: {z: 1, a: {y: 1, b: 2}}\n",
        conflicts: &[],
    },
    Shown {
        row: "new keys",
        case: "key added upstream between others",
        kpt: "a: 1\nc: 1\nb: 1\n",
        ours: "a: 1\nb: 1\nc: 1\n",
        conflicts: &[],
    },
    Shown {
        row: "local comment on a line whose value upstream changed",
        case: "comment here, value changed upstream",
        kpt: "v: 2\n",
        ours: "v: 2 # mine\n",
        conflicts: &[],
    },
    Shown {
        row: "comment changed on both sides",
        case: "comment changed on both sides",
        kpt: "v: 1 # ours\n",
        ours: "v: 1 # theirs\n",
        conflicts: &["CommentsDiffer"],
    },
    Shown {
        row: "documents of comments only",
        case: "document of comments only",
        kpt: "v: 2\n",
        ours: "v: 2\n---\n# theirs\n",
        conflicts: &[],
    },
];

#[test]
fn differences_that_values_do_not_show() {
    let answers = files::read(super::ANSWERS);
    for Shown { row, case, kpt, ours, conflicts } in SHOWN {
        let Answer::Files(theirs) = &answers[*case].answer else { panic!("{case}: kpt stopped") };
        let found: Vec<Case> = cases().into_iter().filter(|one| one.name == *case).collect();
        let [found] = &found[..] else { panic!("there is no case {case:?}") };
        let [original, upstream, local] = found.sides.each_ref().map(files::Files::package);
        let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
        let result = crate::support::text(&merged.package, "a.yaml");
        assert!(theirs.0["a.yaml"].ends_with(kpt), "{row}: kpt has\n{}", theirs.0["a.yaml"]);
        assert!(result.ends_with(ours), "{row}: ours is\n{result}");
        let kinds: Vec<&str> = merged.conflicts.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(&kinds, conflicts, "{row}");
        assert!(kpt != ours || !conflicts.is_empty(), "{row}: there is no difference");
    }
}
