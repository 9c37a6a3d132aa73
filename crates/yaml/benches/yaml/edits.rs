//! Many edits of one large collection, at three sizes: the edits, and the write behind them.

use std::error::Error;
use std::fmt::Write;

use lanai_yaml::path::Segment;
use lanai_yaml::{CommentPlace, Content, Document, Path, Style, edit};

use crate::clock::{Effort, best};
use crate::growth::measure;
use crate::report::Report;

/// Edits a document of that many entries.
type Edit = fn(&mut Document, usize) -> Result<(), edit::Error>;

/// What the document is before.
#[derive(Clone, Copy)]
enum Before {
    /// `k0: v0`, `k1: v1` and so on.
    Mapping,
    /// The same in braces on one line.
    FlowMapping,
    /// `- v0`, `- v1` and so on.
    List,
    /// The same in brackets on one line.
    FlowList,
    /// The same on lines, each with a comment.
    CommentedFlowList,
    /// `- {name: n0}` and so on, as block mappings.
    ListOfMappings,
    /// `list: []`.
    EmptyList,
    /// `map: {}`.
    EmptyMapping,
}

const EDITS: &[(&str, Before, Edit)] = &[
    ("set each key", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().get_mut(&format!("k{at}"))?.set("new"))
    }),
    ("set each key of a flow mapping", Before::FlowMapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().get_mut(&format!("k{at}"))?.set("new"))
    }),
    ("set each key by path", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.set(&Path::from_iter([Segment::Key(format!("k{at}"))]), "new"))
    }),
    ("add keys by path", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.set(&Path::from_iter([Segment::Key(format!("n{at}"))]), "new"))
    }),
    ("set each item", Before::List, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.set("new"))
    }),
    ("set each item of a flow list", Before::FlowList, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.set("new"))
    }),
    ("set a key of each item", Before::ListOfMappings, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.get_mut("name")?.set("new"))
    }),
    ("add a key to each item", Before::ListOfMappings, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.insert("more", "new"))
    }),
    ("replace each item by a mapping", Before::List, |document, n| {
        let value = Content::parse("{a: 1}").expect("this is YAML");
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.set(value.clone()))
    }),
    ("push items", Before::List, |document, n| (0..n).try_for_each(|_| document.root_mut().push("new"))),
    ("push items to a flow list", Before::FlowList, |document, n| {
        (0..n).try_for_each(|_| document.root_mut().push("new"))
    }),
    ("push items to an empty list", Before::EmptyList, |document, n| {
        let mut list = document.root_mut().get_mut("list")?;
        (0..n).try_for_each(|_| list.push("new"))
    }),
    ("insert keys at the end", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().insert(&format!("n{at}"), "new"))
    }),
    ("insert keys into an empty mapping", Before::EmptyMapping, |document, n| {
        let mut map = document.root_mut().get_mut("map")?;
        (0..n).try_for_each(|at| map.insert(&format!("n{at}"), "new"))
    }),
    ("insert keys at the front", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().insert_at(0, &format!("n{at}"), "new"))
    }),
    ("remove keys from the front", Before::Mapping, |document, n| {
        (0..n - 1).try_for_each(|at| document.root_mut().remove(&format!("k{at}")).map(drop))
    }),
    ("remove keys from the back", Before::Mapping, |document, n| {
        (1..n).rev().try_for_each(|at| document.root_mut().remove(&format!("k{at}")).map(drop))
    }),
    ("remove every other key", Before::Mapping, |document, n| {
        (0..n / 2).try_for_each(|at| document.root_mut().remove(&format!("k{}", at * 2)).map(drop))
    }),
    ("remove all keys", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().remove(&format!("k{at}")).map(drop))
    }),
    ("remove items from the front", Before::List, |document, n| {
        (1..n).try_for_each(|_| document.root_mut().remove_item(0).map(drop))
    }),
    ("remove items from the back", Before::List, |document, n| {
        (1..n).rev().try_for_each(|at| document.root_mut().remove_item(at).map(drop))
    }),
    ("remove items of a flow list", Before::FlowList, |document, n| {
        (1..n).try_for_each(|_| document.root_mut().remove_item(0).map(drop))
    }),
    ("rename each key", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().rename(&format!("k{at}"), &format!("n{at}")))
    }),
    ("a comment above each key", Before::Mapping, |document, n| {
        (0..n).try_for_each(|at| {
            document.root_mut().set_key_comment(&format!("k{at}"), CommentPlace::Head, "# new")
        })
    }),
    ("a comment beside each item", Before::List, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.set_comment(CommentPlace::Line, "# new"))
    }),
    ("a comment above each item", Before::List, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.set_comment(CommentPlace::Head, "# new"))
    }),
    ("insert items in the middle", Before::List, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().insert_item(n / 2 + at / 2, "new"))
    }),
    ("empty each item", Before::ListOfMappings, |document, n| {
        (0..n).try_for_each(|at| document.root_mut().at_mut(at)?.remove("name").map(drop))
    }),
    ("write a commented flow list as lines", Before::CommentedFlowList, |document, _| {
        document.root_mut().set_style(Style::Block)
    }),
    ("reverse the order", Before::Mapping, |document, n| {
        document.root_mut().reorder(&(0..n).rev().collect::<Vec<_>>())
    }),
];

pub(crate) fn run(effort: &Effort, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let n = effort.entries;
    report.part(
        "edits",
        &format!("Edits of one collection: of {n}, {} and {} entries, one edit for each", n * 2, n * 4),
    );
    for (name, before, edit) in EDITS {
        one(effort, report, name, (*before, *edit)).map_err(|error| format!("\"{name}\": {error}"))?;
    }
    Ok(())
}

fn one(
    effort: &Effort,
    report: &mut Report,
    name: &str,
    (before, edit): (Before, Edit),
) -> Result<(), Box<dyn Error>> {
    let rounds = effort.growth_rounds.min(3);
    let fresh = |n: usize| Document::parse(text(before, n));
    edit(&mut fresh(effort.entries)?, effort.entries)?;
    measure(report, (name, "edits"), effort.entries, |n| {
        best(
            rounds,
            || fresh(n),
            |document| document.map(|mut document| edit(&mut document, n).map(|()| document)),
        )
    });
    measure(report, (name, "write"), effort.entries, |n| {
        let mut document = fresh(n);
        if let Ok(document) = &mut document {
            // It went through at the smallest size; there is nothing in an edit that depends on the size.
            _ = edit(document, n);
        }
        best(rounds, || (), |()| document.as_ref().map(ToString::to_string).ok())
    });
    Ok(())
}

fn text(before: Before, n: usize) -> String {
    let mut text = String::new();
    let each = |text: &mut String, entry: &dyn Fn(&mut String, usize) -> std::fmt::Result| {
        (0..n).try_for_each(|at| entry(text, at)).expect("writing to a String does not fail");
    };
    match before {
        Before::Mapping => each(&mut text, &|text, at| writeln!(text, "k{at}: v{at}")),
        Before::List => each(&mut text, &|text, at| writeln!(text, "- v{at}")),
        Before::ListOfMappings => each(&mut text, &|text, at| writeln!(text, "- name: n{at}\n  value: {at}")),
        Before::FlowMapping => {
            text.push('{');
            each(&mut text, &|text, at| write!(text, "k{at}: v{at}, "));
            text.push_str("last: 1}\n");
        }
        Before::FlowList => {
            text.push('[');
            each(&mut text, &|text, at| write!(text, "v{at}, "));
            text.push_str("last]\n");
        }
        Before::CommentedFlowList => {
            text.push_str("[\n");
            each(&mut text, &|text, at| writeln!(text, "  v{at}, # c{at}"));
            text.push_str("]\n");
        }
        Before::EmptyList => text.push_str("list: []\n"),
        Before::EmptyMapping => text.push_str("map: {}\n"),
    }
    text
}
