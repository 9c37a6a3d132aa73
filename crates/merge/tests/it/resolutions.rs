//! Conflicts that are handed back with a decision.

use lanai_krm::Package;
use lanai_merge::{ConflictId, Decider, Merged, Options, Policy, Resolution, Take, three_way};
use lanai_types::YamlLimits;

use crate::support::{custom, package, text};

fn resolve(take: &Take, sides: [&Package; 3]) -> Merged {
    let [original, upstream, local] = sides;
    let found = three_way(original, upstream, local, &Options::default()).unwrap().conflicts;
    let resolutions =
        found.iter().map(|one| Resolution { conflict: one.id.clone(), take: take.clone() }).collect();
    let options = Options { policy: Policy::Fail, resolutions, ..Options::default() };
    let merged = three_way(original, upstream, local, &options).unwrap();
    assert!(merged.conflicts.iter().all(|one| one.decided_by == Decider::Resolution));
    let again = three_way(original, upstream, &merged.package, &options).unwrap();
    assert_eq!(again.package, merged.package, "{take:?}");
    merged
}

#[track_caller]
fn check(sides: [&str; 3], expected: [&str; 4]) {
    let [original, upstream, local] = sides.map(|spec| package(&[("a.yaml", &custom(spec))]));
    let takes = [Take::Upstream, Take::Local, Take::Original, Take::Value("9".into())];
    for (take, expected) in takes.iter().zip(expected) {
        let merged = resolve(take, [&original, &upstream, &local]);
        assert_eq!(text(&merged.package, "a.yaml"), custom(expected), "{take:?}");
    }
}

#[test]
fn each_take_gives_its_value() {
    check(["v: 1\n", "v: 2\n", "v: 3\n"], ["v: 2\n", "v: 3\n", "v: 1\n", "v: 9\n"]);
    check(
        ["w: 0\nv: 1\n", "w: 0\n", "w: 0\nv: 3\n"],
        ["w: 0\n", "w: 0\nv: 3\n", "w: 0\nv: 1\n", "w: 0\nv: 9\n"],
    );
    check(
        ["w: 0\nv: 1\n", "w: 0\nv: 2\n", "w: 0\n"],
        ["w: 0\nv: 2\n", "w: 0\n", "w: 0\nv: 1\n", "w: 0\nv: 9\n"],
    );
    check(
        ["w: 0\n", "w: 0\nv: 2\n", "w: 0\nv: 3\n"],
        ["w: 0\nv: 2\n", "w: 0\nv: 3\n", "w: 0\n", "w: 0\nv: 9\n"],
    );
    check(["v: 1\n", "v: {a: 2}\n", "v: [3]\n"], ["v: {a: 2}\n", "v: [3]\n", "v: 1\n", "v: 9\n"]);
}

#[test]
fn files_and_resources_too() {
    let sides = ["a\n", "b\n", "c\n"].map(|text| package(&[("f", text)]));
    for (take, expected) in [
        (Take::Upstream, "b\n"),
        (Take::Local, "c\n"),
        (Take::Original, "a\n"),
        (Take::Value("x".into()), "x"),
    ] {
        let merged = resolve(&take, [&sides[0], &sides[1], &sides[2]]);
        assert_eq!(text(&merged.package, "f"), expected);
    }
    let sides = [custom("v: 1\n"), String::new(), custom("v: 3\n")];
    let [original, upstream, local] = sides
        .each_ref()
        .map(|text| if text.is_empty() { package(&[]) } else { package(&[("a.yaml", text)]) });
    for (take, expected) in [(Take::Upstream, ""), (Take::Local, &sides[2]), (Take::Original, &sides[0])] {
        let merged = resolve(&take, [&original, &upstream, &local]);
        assert_eq!(text(&merged.package, "a.yaml"), expected);
    }
}

#[test]
fn a_value_that_is_no_yaml_is_refused() {
    let [original, upstream, local] =
        ["v: 1\n", "v: 2\n", "v: 3\n"].map(|spec| package(&[("a.yaml", &custom(spec))]));
    let conflict = ConflictId::new("a.yaml:Thing.example.com/a#v");
    let resolutions = vec![Resolution { conflict, take: Take::Value("[".into()) }];
    let options = Options { resolutions, ..Options::default() };
    let error = three_way(&original, &upstream, &local, &options).unwrap_err().to_string();
    assert!(
        error.starts_with("the value for conflict \"a.yaml:Thing.example.com/a#v\" cannot be read"),
        "{error}"
    );
}

#[test]
fn a_value_for_an_item_keeps_its_key() {
    let service = |ports: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  ports:\n  - port: 1\n{ports}")
    };
    let [original, upstream, local] = ["  - port: 2\n", "", "  - port: 2\n    name: x\n"]
        .map(|ports| package(&[("a.yaml", &service(ports))]));
    let found = three_way(&original, &upstream, &local, &Options::default()).unwrap().conflicts;
    assert_eq!(found[0].id.as_str(), "a.yaml:Service/a#spec.ports[port=\"2\",protocol=\"TCP\"]");
    let merge = |value: &str| {
        let resolutions = vec![Resolution { conflict: found[0].id.clone(), take: Take::Value(value.into()) }];
        let options = Options { resolutions, ..Options::default() };
        three_way(&original, &upstream, &local, &options)
    };
    let merged = merge("{port: 2, name: y}").unwrap();
    assert_eq!(text(&merged.package, "a.yaml"), service("  - {port: 2, name: y}\n"));
    let error = merge("{port: 3}").unwrap_err().to_string();
    assert!(error.ends_with("what names it must stay"), "{error}");
}

#[test]
fn a_resource_that_stands_in_two_files() {
    // A resolution removes one of them; the other is not taken for it afterwards.
    let (one, two) = (custom("v: 1\n"), custom("v: 2\n"));
    let original = package(&[("a.yaml", &one)]);
    let local = package(&[("a.yaml", &two), ("b.yaml", &one)]);
    let merged = resolve(&Take::Upstream, [&original, &package(&[]), &local]);
    assert_eq!(merged.package, package(&[("b.yaml", &one)]));
}

#[test]
fn places_and_comments() {
    let sides = [("a.yaml", "v: 1 # a\n"), ("b.yaml", "v: 1 # b\n"), ("c.yaml", "v: 1 # c\n")];
    let [original, upstream, local] = sides.map(|(path, spec)| package(&[(path, &custom(spec))]));
    for (take, (path, spec)) in
        [(Take::Original, sides[0]), (Take::Upstream, sides[1]), (Take::Local, sides[2])]
    {
        let merged = resolve(&take, [&original, &upstream, &local]);
        assert_eq!(merged.package, package(&[(path, &custom(spec))]));
    }
    let found = three_way(&original, &upstream, &local, &Options::default()).unwrap().conflicts;
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a.yaml:Thing.example.com/a#v~line-comment", "a.yaml:Thing.example.com/a~place"]);
}

#[test]
fn a_part_of_what_upstream_removed() {
    check(
        ["w: 0\nv: {a: 1}\n", "w: 0\n", "w: 0\nv: {a: 3}\n"],
        ["w: 0\n", "w: 0\nv: {a: 3}\n", "w: 0\nv: {a: 1}\n", "w: 0\nv: {a: 9}\n"],
    );
    // With keys of local's own, it is about the whole.
    check(
        ["w: 0\nv: {a: 1}\n", "w: 0\n", "w: 0\nv: {a: 1, c: 3}\n"],
        ["w: 0\n", "w: 0\nv: {a: 1, c: 3}\n", "w: 0\nv: {a: 1}\n", "w: 0\nv: 9\n"],
    );
}

#[test]
fn resolutions_that_cannot_be_followed() {
    let nothing = package(&[]);
    let refused = |takes: &[(&str, Take)]| {
        let resolutions = takes
            .iter()
            .map(|(id, take)| Resolution { conflict: ConflictId::new(*id), take: take.clone() })
            .collect();
        let options = Options { resolutions, ..Options::default() };
        three_way(&nothing, &nothing, &nothing, &options).err().map(|error| error.to_string())
    };
    let value = |id, text: &str| refused(&[(id, Take::Value(text.into()))]);
    assert_eq!(
        value("run.sh~mode", "runnable").unwrap(),
        "conflict \"run.sh~mode\" cannot be resolved so: a mode is regular, executable or symlink"
    );
    assert_eq!(value("run.sh~mode", "executable"), None);
    assert_eq!(
        value("a.yaml:Thing/a#v~line-comment", "one\ntwo").unwrap(),
        "conflict \"a.yaml:Thing/a#v~line-comment\" cannot be resolved so: the comment on a line is one line"
    );
    assert_eq!(value("a.yaml:Thing/a#v~line-comment", "one\n"), None);
    assert_eq!(value("a.yaml:Thing/a#v~head-comment", "one\ntwo"), None);
    assert_eq!(
        value("inner/", "text").unwrap(),
        "conflict \"inner/\" cannot be resolved so: a package inside the package is upstream's, local's or the original one"
    );
    assert_eq!(refused(&[("inner/", Take::Local)]), None);
    assert_eq!(
        refused(&[("a#v", Take::Local), ("b", Take::Local), ("a#v", Take::Upstream)]).unwrap(),
        "there are two resolutions for conflict \"a#v\", and they differ; keep one of them"
    );
    assert_eq!(refused(&[("a#v", Take::Local), ("a#v", Take::Local)]), None);
}

#[test]
fn comments_without_a_place() {
    let [original, upstream, local] = [
        "data:\n  a: 1\n  b: 1\n",
        "data:\n  # about a\n  a: 1\n  # about b\n  b: 1\n  # about c\n  c: 1\n",
        "data: {a: 1, b: 1}\n",
    ]
    .map(|spec| package(&[("a.yaml", &custom(spec))]));
    let found = three_way(&original, &upstream, &local, &Options::default()).unwrap().conflicts;
    assert_eq!(found.len(), 3, "{found:?}");
    let resolutions = |take: &Take| {
        found.iter().map(|one| Resolution { conflict: one.id.clone(), take: take.clone() }).collect()
    };
    for policy in [Policy::Fail, Policy::UpstreamWins] {
        let options = |take| Options { policy, resolutions: resolutions(&take), ..Options::default() };
        let error = three_way(&original, &upstream, &local, &options(Take::Upstream)).unwrap_err();
        assert!(error.to_string().ends_with(
            "cannot be resolved so: no such comment can stand there, so that only local's side can be taken"
        ));
        let merged = three_way(&original, &upstream, &local, &options(Take::Local)).unwrap();
        assert_eq!(text(&merged.package, "a.yaml"), custom("data: {a: 1, b: 1, c: 1}\n"));
        assert_eq!(merged.conflicts.len(), 3, "what was decided is told");
        assert!(merged.conflicts.iter().all(|one| one.decided_by == Decider::Resolution));
    }
}

#[test]
fn a_place_that_is_below_a_file_is_refused() {
    let thing = custom("v: 1\n");
    let original = package(&[("s/t/x.yaml", &thing)]);
    let upstream = package(&[("a.yaml", &thing)]);
    let local = package(&[("b.yaml", &thing), ("s/t", "a file\n")]);
    let found = three_way(&original, &upstream, &local, &Options::default()).unwrap().conflicts;
    assert_eq!(found[0].id.as_str(), "s/t/x.yaml:Thing.example.com/a~place");
    for take in [Take::Original, Take::Value("s/t/x.yaml".into())] {
        let resolutions = vec![Resolution { conflict: found[0].id.clone(), take }];
        let options = Options { resolutions, ..Options::default() };
        let error = three_way(&original, &upstream, &local, &options).unwrap_err();
        assert!(matches!(error, lanai_merge::Error::PlaceTaken(_)), "{error}");
    }
}

#[test]
fn a_value_that_has_no_room_is_refused_with_its_place() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\n---\n";
    let [original, upstream, local] = ["v: {a: 1}\n", "v: {a: 2}\n", "v: {a: 3}\n"]
        .map(|spec| package(&[("a.yaml", &format!("{other}{}", custom(spec)))]));
    // As deep as a document may be, but for the mapping that it comes into.
    let depth = YamlLimits::DEFAULT.max_depth;
    let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let conflict = ConflictId::new("a.yaml:Thing.example.com/a#v.a");
    let options = Options {
        resolutions: vec![Resolution { conflict, take: Take::Value(value) }],
        ..Options::default()
    };
    let error = three_way(&original, &upstream, &local, &options).unwrap_err().to_string();
    assert!(error.starts_with("file \"a.yaml\", line 6: "), "{error}");
}
