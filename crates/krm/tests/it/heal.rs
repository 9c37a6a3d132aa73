//! Comments that functions lost.

use lanai_krm::Resource;
use lanai_krm::heal::{heal, heal_one};
use proptest::prelude::*;

fn check(before: &str, after: &str, expected: &str) {
    let mut healed = Resource::parse(after).unwrap();
    heal_one(&Resource::parse(before).unwrap(), &mut healed);
    assert_eq!(healed.to_string(), expected, "{before}");
    heal_one(&Resource::parse(before).unwrap(), &mut healed);
    assert_eq!(healed.to_string(), expected, "again: {before}");
}

#[test]
fn comments_come_back_to_their_keys() {
    check(
        "# top\na: 1 # one\n# of b\nb:   # block\n  # of c\n  c: x # ex\n# foot\n",
        "b:\n  c: y\na: 1\n",
        "# of b\nb: # block\n  # of c\n  c: y # ex\n# foot\n\n# top\na: 1 # one\n",
    );
    check("a: 1 # gone\nb: 2 # two\n", "b: 2\n", "b: 2 # two\n");
    check("a: 1 # old\n", "a: 1 # new\n", "a: 1 # new\n");
    check("a: 1 # old\n", "# old\na: 1\n", "# old\na: 1\n");
    check("a: {b: 1} # flow\n", "a:\n  b: 1\n", "a: # flow\n  b: 1\n");
    check("a: # block\n  b: 1\n", "a: {b: 1}\n", "a: {b: 1} # block\n");
    check("a: | # text\n  x\n", "a: |\n  x\n", "a: | # text\n  x\n");
    check("# license\n\n# of a\na: 1\n", "a: 1\n", "# license\n\n# of a\na: 1\n");
    check("# license\n\n# of a\na: 1\n", "# license\n# of a\na: 1\n", "# license\n# of a\na: 1\n");
    check("a: 1\n", "a: 2\n", "a: 2\n");
}

#[test]
fn items_are_known_by_name() {
    check(
        "env:\n# first\n- name: A # a\n  value: 1 # one\n- name: B\n  value: 2 # two\n",
        "env:\n- name: B\n  value: 2\n- name: new\n  value: 1\n- name: A\n  value: 3\n",
        "env:\n- name: B\n  value: 2 # two\n- name: new\n  value: 1\n# first\n- name: A # a\n  value: 3 # one\n",
    );
    check(
        "ports:\n- port: 80 # web\n  protocol: TCP\n- port: 53\n  protocol: UDP\n- port: 53 # dns\n  protocol: TCP\n",
        "ports:\n- port: 53\n  protocol: TCP\n- port: 80\n  protocol: TCP\n",
        "ports:\n- port: 53 # dns\n  protocol: TCP\n- port: 80 # web\n  protocol: TCP\n",
    );
    check(
        "args: [ ]\nx:\n- a # one\n- b # two\n- c # three\n",
        "x:\n- c\n- new\n- a\n",
        "x:\n- c # three\n- new\n- a # one\n",
    );
    check("x:\n- a # one\n- a # two\n", "x:\n- a\n", "x:\n- a\n");
    check("x:\n- a # one\n- a # two\n", "x:\n- a\n- a\n", "x:\n- a # one\n- a # two\n");
    check("x:\n- {p: 1} # one\n- {p: 2} # two\n", "x:\n- p: 2\n- p: 3\n", "x:\n- p: 2\n- p: 3\n");
}

#[test]
fn templates_are_left_alone() {
    for mark in ["#@ if x:", "#! note"] {
        check(&format!("a: 1 # c\nb: 2 {mark}\n"), "a: 1\nb: 2\n", "a: 1\nb: 2\n");
        check("a: 1 # c\nb: 2\n", &format!("a: 1\nb: 2 {mark}\n"), &format!("a: 1\nb: 2 {mark}\n"));
    }
}

#[test]
fn what_cannot_take_comments_stays() {
    check("a: 1 # c\n", "{a: 1}\n", "{a: 1}\n");
    check("a:\n  b: 1 # c\n", "a: {b: 1}\n", "a: {b: 1}\n");
    check("a: &x\n  b: 1 # c\nc:\n  b: 1 # d\n", "a: &x\n  b: 1\nc: *x\n", "a: &x\n  b: 1 # c\nc: *x\n");
}

#[test]
fn resources_are_known_by_type_and_name() {
    let resource = |kind: &str, name: &str, rest: &str| {
        Resource::parse(&format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{rest}")).unwrap()
    };
    let at = |path: &str| format!("  annotations:\n    config.kubernetes.io/path: {path}\n");
    let before = [
        resource("A", "x", "v: 1 # ax\n"),
        resource("B", "x", "v: 1 # bx\n"),
        resource("C", "x", &format!("{}v: 1 # one\n", at("one"))),
        resource("C", "x", &format!("{}v: 1 # two\n", at("two"))),
        resource("D", "x", "v: 1 # d\n"),
        resource("D", "x", "v: 1 # e\n"),
    ];
    let mut after = [
        resource("C", "x", &format!("{}v: 1\n", at("two"))),
        resource("B", "x", "v: 1\n"),
        resource("A", "y", "v: 1\n"),
        resource("A", "x", "v: 1\n"),
        resource("C", "x", &format!("{}v: 1\n", at("three"))),
        resource("D", "x", "v: 1\n"),
    ];
    heal(&before, &mut after);
    let comments = after.each_ref().map(|resource| {
        let text = resource.to_string();
        text.split_once('#').map(|(_, comment)| comment.trim().to_owned()).unwrap_or_default()
    });
    assert_eq!(comments, ["two", "bx", "", "ax", "", ""]);
}

/// The resource without comments, as a function that knows nothing of them writes it.
fn stripped(resource: &Resource) -> Resource {
    let value: serde_json::Value = resource.root().deserialize().unwrap();
    let document = lanai_yaml::Document::from_serialize(&value).unwrap();
    Resource::parse(&document.to_string()).unwrap()
}

proptest! {
    #[test]
    fn healing_never_changes_values(seed in any::<u64>(), other in any::<u64>()) {
        let before = Resource::parse_stream(&lanai_testkit::manifests(seed, 3)).unwrap();
        let others = Resource::parse_stream(&lanai_testkit::manifests(other, 3)).unwrap();
        for (old, new) in before.iter().zip(before.iter().chain(&others).skip(1)) {
            let plain = stripped(new);
            let mut healed = plain.clone();
            heal_one(old, &mut healed);
            prop_assert!(healed.means_the_same(&plain), "{}", healed);
            let mut same = new.clone();
            heal_one(old, &mut same);
            prop_assert!(same.means_the_same(new), "{}", same);
        }
    }

    #[test]
    fn what_kept_its_comments_stays_as_it_is(seed in any::<u64>()) {
        for resource in Resource::parse_stream(&lanai_testkit::manifests(seed, 3)).unwrap() {
            let mut healed = resource.clone();
            heal_one(&resource, &mut healed);
            prop_assert_eq!(healed.to_string(), resource.to_string());
        }
    }

    #[test]
    fn most_comments_come_back(seed in any::<u64>()) {
        for resource in Resource::parse_stream(&lanai_testkit::manifests(seed, 3)).unwrap() {
            let mut healed = stripped(&resource);
            heal_one(&resource, &mut healed);
            let text = resource.to_string();
            if text.contains("#!") {
                prop_assert_eq!(healed.to_string(), stripped(&resource).to_string());
                continue;
            }
            let marks = |text: &str| text.matches('#').count();
            let in_values = marks(&stripped(&resource).to_string());
            let (had, has) = (marks(&text) - in_values, marks(&healed.to_string()) - in_values);
            prop_assert!(has <= had, "{}\n{}", text, healed);
            prop_assert!(2 * has >= had, "{} of {}\n{}\n{}", has, had, text, healed);
        }
    }
}

#[test]
fn comments_come_back_up_to_a_depth() {
    const MAX_DEPTH: usize = 200;
    let nested = |depth: usize, inner: &str| {
        let outer = (0..depth).map(|at| format!("{}k:\n", " ".repeat(at))).collect::<Vec<_>>().concat();
        format!("{outer}{}{inner}\n", " ".repeat(depth))
    };
    for (depth, expected) in [(MAX_DEPTH, "v: 1 # why"), (MAX_DEPTH + 1, "v: 1")] {
        check(&nested(depth, "v: 1 # why"), &nested(depth, "v: 1"), &nested(depth, expected));
    }
}
