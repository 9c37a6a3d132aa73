//! The worked examples of the page about upgrades, as they stand there.
//!
//! A fenced block says what it is behind its language: `original FILE`, `upstream FILE`, `local FILE` and `merged FILE`,
//! `conflicts POLICY`, and `resolutions`, with which the merged files come about.

use std::fmt::Write;

use lanai_krm::Package;
use lanai_merge::{Conflict, ConflictId, Options, Policy, Resolution, Take, three_way};
use lanai_yaml::Document;

use crate::support::{package, policy};

const PAGE: &str = include_str!("../../../../docs/upgrades.md");

/// A fenced block.
struct Block<'a> {
    role: &'a str,
    /// The file, or the policy.
    of: &'a str,
    text: &'a str,
}

fn blocks(section: &str) -> Vec<Block<'_>> {
    let fences: Vec<&str> = section.split("```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside
        .map(|fence| {
            let (info, text) = fence.split_once('\n').expect("a fence has a line of its own");
            let mut words = info.split(' ').skip(1);
            Block { role: words.next().expect(info), of: words.next().unwrap_or_default(), text }
        })
        .collect()
}

fn side(blocks: &[Block<'_>], role: &str) -> Package {
    let files = blocks.iter().filter(|block| block.role == role).map(|block| (block.of, block.text));
    package(&files.collect::<Vec<_>>())
}

/// A conflict in a line; with its values where each of them is one.
fn line(conflict: &Conflict) -> String {
    let Conflict { id, kind, chosen, .. } = conflict;
    let values = [&conflict.original, &conflict.upstream, &conflict.local];
    let value =
        |text: &Option<String>| text.as_deref().map_or("nothing".to_owned(), |text| text.trim().into());
    let [original, upstream, local] = values.map(value);
    if [&original, &upstream, &local].iter().any(|text| text.contains('\n')) {
        return format!("{id} {kind}; {chosen} is taken\n");
    }
    format!("{id} {kind}: original {original}, upstream {upstream}, local {local}; {chosen} is taken\n")
}

fn resolutions(text: &str) -> Vec<Resolution> {
    let document = Document::parse(text).unwrap();
    let field = |item: lanai_yaml::NodeRef<'_>, key| item.get(key).map(|node| node.value().into_owned());
    let resolution = |item| {
        let take = match field(item, "chosen").as_deref() {
            Some("upstream") => Take::Upstream,
            Some("local") => Take::Local,
            Some("original") => Take::Original,
            Some("value") => Take::Value(field(item, "value").unwrap()),
            other => panic!("{other:?}"),
        };
        Resolution { conflict: ConflictId::new(field(item, "id").unwrap()), take }
    };
    document.root().items().map(resolution).collect()
}

#[test]
fn the_examples_are_true() {
    let (_, examples) = PAGE.split_once("### Example: ").expect("there are examples");
    let (examples, _) = examples.split_once("\n## ").expect("another section follows");
    let mut titles = String::new();
    for section in examples.split("### Example: ") {
        writeln!(titles, "{}", section.lines().next().unwrap()).unwrap();
        let blocks = blocks(section);
        let [original, upstream, local] = ["original", "upstream", "local"].map(|role| side(&blocks, role));
        let find = |role: &str| blocks.iter().find(|block| block.role == role);
        let conflicts = find("conflicts").expect("each example says which conflicts there are");
        let mut options = match conflicts.of {
            "upstream" => policy(Policy::UpstreamWins),
            "local" => policy(Policy::LocalWins),
            other => panic!("{other}"),
        };
        let found = three_way(&original, &upstream, &local, &options).unwrap();
        assert_eq!(found.conflicts.iter().map(line).collect::<String>(), conflicts.text, "{titles}");
        if let Some(block) = find("resolutions") {
            options = Options { policy: Policy::Fail, resolutions: resolutions(block.text), ..options };
        }
        let merged = three_way(&original, &upstream, &local, &options).unwrap().package;
        let expected = side(&blocks, "merged");
        for (path, file) in expected.iter() {
            assert_eq!(merged.get(path).and_then(|file| file.text()), file.text(), "{titles}{path}");
        }
        assert_eq!(merged, expected, "{titles}");
    }
    assert_eq!(titles.lines().count(), 6);
}
