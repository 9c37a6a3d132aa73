//! What holds for any three packages.

use std::collections::{BTreeMap, HashSet};

use lanai_krm::package::{File, OtherYaml, ReadOptions};
use lanai_krm::{Package, Resource};
use lanai_merge::{Error, Merged, Options, Policy, Resolution, Take, three_way};
use lanai_types::Limits;
use lanai_yaml::path::Segment;
use proptest::prelude::*;

use crate::support::policy;

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop_oneof![Just(" 1"), Just(" 2"), Just(" \"2\""), Just(" x # note"), Just(" null"), Just(" {}"), Just(" []"), Just("")],
        1 => prop_oneof![Just(" {a: 1, b: 2}"), Just(" {b: 3}"), Just(" [1, 2]"), Just(" [2]")],
        1 => prop_oneof![Just("\n    a: 1\n    # head\n    c: 2"), Just("\n    c: 3\n    a: {}"), Just(" |\n    text\n    more")],
    ]
    .prop_map(Into::into)
}

/// A resource of one of four kinds.
fn resource() -> impl Strategy<Value = (u8, String)> {
    let fields = prop::collection::btree_map(prop_oneof![Just("v"), Just("w"), Just("z")], value(), 0..3);
    let ports = prop::sample::subsequence(vec!["80", "81", "82"], 0..3);
    (0..4_u8, fields, ports).prop_map(|(which, fields, ports)| {
        let (head, body) = match which {
            0 => ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", "data"),
            1 => ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n", "data"),
            2 => ("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n", "spec"),
            _ => ("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\n", "spec"),
        };
        let mut text = format!("{head}{body}:\n  first: 1\n");
        for (key, value) in &fields {
            text.extend(["  ", key, ":", value, "\n"]);
        }
        if !ports.is_empty() {
            text.push_str("  ports:\n");
        }
        for port in ports {
            text.extend(["  - port: ", port, "\n    name: p", &fields.len().to_string(), "\n"]);
        }
        (which, text)
    })
}

fn sheet() -> impl Strategy<Value = String> {
    prop::collection::vec(resource(), 1..4).prop_map(|resources| {
        let by_kind: BTreeMap<u8, String> = resources.into_iter().collect();
        by_kind.into_values().collect::<Vec<_>>().join("---\n")
    })
}

fn files() -> impl Strategy<Value = BTreeMap<&'static str, String>> {
    let lines = prop::collection::vec(prop_oneof![Just("a\n"), Just("b\n"), Just("c\n")], 0..6);
    let text = lines.prop_map(|lines| lines.concat());
    let kptfile = (0..3_u8).prop_map(|n| {
        format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: n\ninfo:\n  description: d{n}\n")
    });
    (
        prop::option::of(sheet()),
        prop::option::of(sheet()),
        prop::option::of(sheet()),
        prop::option::of(text),
        prop::option::of(kptfile),
    )
        .prop_map(|(a, b, inner, text, kptfile)| {
            let all =
                [("a.yaml", a), ("b.yaml", b), ("s/a.yaml", inner), ("README", text), ("s/Kptfile", kptfile)];
            all.into_iter().filter_map(|(path, text)| Some((path, text?))).collect()
        })
}

fn build<'a>(files: impl IntoIterator<Item = (&'a &'a str, &'a String)>) -> Package {
    let files = files.into_iter().map(|(path, text)| (*path, File::from_text(text)));
    Package::from_entries(files, Limits::default()).unwrap()
}

fn package() -> impl Strategy<Value = Package> {
    files().prop_map(|files| build(&files))
}

/// A package in which no resource stands in two files, so that none can be taken for one that moved.
fn distinct() -> impl Strategy<Value = Package> {
    files().prop_map(|files| {
        let rename = |(path, text): (&&'static str, &String)| {
            let own = path.replace(['/', '.'], "-");
            (*path, text.replace("metadata:\n  name: ", &format!("metadata:\n  name: {own}-")))
        };
        build(&files.iter().map(rename).collect::<BTreeMap<_, _>>())
    })
}

/// What a package means: its resources by file and type, and its other files.
fn meaning(package: &Package) -> BTreeMap<String, Resource> {
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    let resources = package.resources(options).unwrap().into_iter();
    resources.map(|found| (format!("{} {}", found.path, found.resource.id()), found.resource)).collect()
}

fn merge(sides: [&Package; 3], who: Policy) -> Result<Merged, Error> {
    three_way(sides[0], sides[1], sides[2], &policy(who))
}

/// How many packages each property sees.
const CASES: u32 = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_nothing_changes_nothing(original in package(), local in package()) {
        let merged = merge([&original, &original, &local], Policy::UpstreamWins).unwrap();
        prop_assert_eq!(merged.package, local);
        prop_assert_eq!(merged.conflicts, []);
    }

    #[test]
    fn upstream_changes_arrive(original in package(), upstream in package()) {
        let merged = merge([&original, &upstream, &original], Policy::UpstreamWins).unwrap();
        prop_assert_eq!(&merged.package, &upstream);
        prop_assert_eq!(merged.conflicts, []);
    }

    #[test]
    fn upstream_changes_arrive_field_by_field(original in files(), upstream in package()) {
        let marked: BTreeMap<_, _> = original.iter().map(|(path, text)| {
            let text = text.replace("metadata:\n  name: a\n", "metadata: # kpt-merge: /a\n  name: a\n");
            (*path, text.replace("metadata:\n  name: b\n", "metadata: # kpt-merge: /b\n  name: b\n"))
        }).collect();
        let (original, local) = (build(&original), build(&marked));
        let merged = merge([&original, &upstream, &local], Policy::Fail).unwrap();
        let (found, wanted) = (meaning(&merged.package), meaning(&upstream));
        let names = |all: &BTreeMap<String, Resource>| all.keys().cloned().collect::<Vec<_>>();
        prop_assert_eq!(names(&found), names(&wanted));
        for (name, resource) in &wanted {
            let same = found[name].means_the_same(resource);
            prop_assert!(same, "{}\nis\n{}\nnot\n{}", name, found[name], resource);
        }
    }

    #[test]
    fn equal_changes_are_no_conflict(original in package(), changed in package()) {
        let merged = merge([&original, &changed, &changed], Policy::Fail).unwrap();
        prop_assert_eq!(merged.package, changed);
    }

    #[test]
    fn the_order_of_files_does_not_matter(original in files(), upstream in files(), local in files()) {
        let sides = [&original, &upstream, &local].map(build);
        let turned = [&original, &upstream, &local].map(|files| build(files.iter().rev()));
        let merged = merge([&sides[0], &sides[1], &sides[2]], Policy::UpstreamWins);
        let again = merge([&turned[0], &turned[1], &turned[2]], Policy::UpstreamWins);
        let (merged, again) = (merged.unwrap(), again.unwrap());
        prop_assert_eq!(merged.package, again.package);
        prop_assert_eq!(merged.conflicts, again.conflicts);
    }

    #[test]
    fn conflicts_are_real_and_silence_is_agreement(original in package(), upstream in package(), local in package()) {
        let theirs = merge([&original, &upstream, &local], Policy::UpstreamWins).unwrap();
        let ours = merge([&original, &upstream, &local], Policy::LocalWins).unwrap();
        let mut names = HashSet::new();
        for conflict in &theirs.conflicts {
            prop_assert!(names.insert(conflict.id.clone()), "{} twice", conflict.id);
            if conflict.subject != lanai_merge::Subject::Subpackage {
                prop_assert_ne!(&conflict.original, &conflict.upstream);
                prop_assert_ne!(&conflict.original, &conflict.local);
                prop_assert_ne!(&conflict.upstream, &conflict.local);
            }
        }
        if theirs.conflicts.is_empty() {
            prop_assert_eq!(&theirs.package, &ours.package);
        }
        // What only local has is never lost. A resource that local only moved is not local's own: it goes with upstream.
        let known = meaning(&original);
        let own = |resource: &Resource| known.values().all(|known| !known.means_the_same(resource));
        for (path, file) in local.iter().filter(|(path, _)| original.get(path).is_none()) {
            let resources = Resource::parse_stream(&String::from_utf8_lossy(file.content()));
            if resources.is_ok_and(|resources| !resources.iter().any(own)) {
                continue;
            }
            let moved = upstream.get(path).is_none() && theirs.package.get(path).is_none();
            prop_assert!(!moved, "{path} is gone");
        }
    }

    #[test]
    fn resolutions_are_idempotent(
        original in distinct(), upstream in distinct(), local in distinct(), takes in prop::collection::vec(0..4_u8, 12),
    ) {
        let found = merge([&original, &upstream, &local], Policy::UpstreamWins).unwrap().conflicts;
        let take = |number: u8| match number {
            0 => Take::Upstream,
            1 => Take::Local,
            2 => Take::Original,
            _ => Take::Value("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n".into()),
        };
        let resolutions = found.iter().zip(takes.into_iter().cycle()).map(|(conflict, number)| {
            // A value in place of a document or an item would have another name.
            let named = matches!(conflict.field.segments().last(), None | Some(Segment::Match { .. }));
            let number = if named { number % 3 } else { number };
            Resolution { conflict: conflict.id.clone(), take: take(number) }
        });
        let options = Options { resolutions: resolutions.collect(), ..Options::default() };
        let merged = three_way(&original, &upstream, &local, &options).unwrap();
        let again = three_way(&original, &upstream, &merged.package, &options).unwrap();
        prop_assert_eq!(meaning(&again.package).len(), meaning(&merged.package).len());
        for (name, resource) in &meaning(&merged.package) {
            let same = meaning(&again.package).get(name).is_some_and(|again| again.means_the_same(resource));
            prop_assert!(same, "{name} changes again:\n{resource}\n{:?}", meaning(&again.package).get(name).map(ToString::to_string));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        texts in prop::collection::vec("([a-z]: ?|- |\\n|  |#|---\\n|\\{|\\}|&a |\\*a|[|]\\n|\"|\t|\\[|\\]){0,24}", 3),
    ) {
        let side = |text: &String| build([(&"a.yaml", text)]);
        let sides = [side(&texts[0]), side(&texts[1]), side(&texts[2])];
        for who in [Policy::UpstreamWins, Policy::LocalWins, Policy::Fail] {
            if let Ok(merged) = merge([&sides[0], &sides[1], &sides[2]], who) {
                prop_assert_eq!(merged.package.len(), 1);
            }
        }
    }
}
