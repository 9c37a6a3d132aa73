//! The worked example of the page about upgrades, as it stands there.

use lanai_merge::{Options, Policy, Resolution, Take, three_way};

use crate::support::{package, policy, text};

const PAGE: &str = include_str!("../../../../docs/upgrades.md");

/// The fenced block with that name.
fn block(name: &str) -> &'static str {
    let fences = [format!("```yaml {name}\n"), format!("```text {name}\n")];
    let begin = fences.iter().find_map(|fence| Some(PAGE.find(fence)? + fence.len())).expect(name);
    let end = PAGE[begin..].find("```").expect("each block ends");
    &PAGE[begin..begin + end]
}

#[test]
fn the_example_is_true() {
    let [original, upstream, local] =
        ["original", "upstream", "local"].map(|name| package(&[("web.yaml", block(name))]));
    let conflicts = three_way(&original, &upstream, &local, &policy(Policy::LocalWins)).unwrap().conflicts;
    let value = |text: &Option<String>| text.clone().unwrap_or_default();
    let lines = conflicts.iter().map(|one| {
        let (o, u, l) = (value(&one.original), value(&one.upstream), value(&one.local));
        format!("{} {} original={o} upstream={u} local={l}\n", one.id, one.kind)
    });
    assert_eq!(lines.collect::<String>(), block("conflicts"));
    let resolutions = vec![Resolution { conflict: conflicts[0].id.clone(), take: Take::Local }];
    let options = Options { policy: Policy::Fail, resolutions, ..Options::default() };
    let merged = three_way(&original, &upstream, &local, &options).unwrap();
    assert_eq!(text(&merged.package, "web.yaml"), block("merged"));
}
