//! Lists of resources on the wire.

use lanai_krm::result::{ResourceRef, Severity};
use lanai_krm::{Resource, ResourceList};
use proptest::prelude::*;

#[test]
fn items_are_resources_of_their_own() {
    let list = ResourceList::parse(
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
# above the first
- apiVersion: v1   # beside
  kind: ConfigMap

  data:
      a: |
        x

        y
      b: 'quoted'
  # last

# above the second
- {kind: A,
   x: [1,
     2]}
functionConfig:
  # of the config
  kind: Config
results:
- message: hi
metadata: {resourceVersion: ''} # other
",
    )
    .unwrap();
    let texts: Vec<_> = list.items.iter().map(Resource::to_string).collect();
    assert_eq!(
        texts,
        [
            "# above the first\napiVersion: v1   # beside\nkind: ConfigMap\n\ndata:\n    a: |\n      x\n\n      y\n    \
             b: 'quoted'\n# last\n\n",
            "# above the second\n{kind: A,\n x: [1,\n   2]}\n"
        ]
    );
    assert_eq!(list.function_config.as_ref().unwrap().to_string(), "# of the config\nkind: Config\n");
    assert_eq!(list.results[0].message, "hi");
    assert_eq!(list.others[0].0, "metadata");
    assert_eq!(
        list.to_string(),
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
# above the first
- apiVersion: v1   # beside
  kind: ConfigMap

  data:
      a: |
        x

        y
      b: 'quoted'
  # last

# above the second
- {kind: A,
   x: [1,
     2]}
functionConfig:
  # of the config
  kind: Config
results:
- message: hi
metadata: {resourceVersion: ''} # other
"
    );
}

#[test]
fn comments_stay_with_their_item() {
    let check = |between: &str, above: &str, below: &str| {
        for first in ["a: 1 # c", "a: |\n    x", "a:", "a: 'x'"] {
            let text = format!("apiVersion: v1\nkind: List\nitems:\n- {first}\n{between}- b: 1\n");
            let items = ResourceList::parse(&text).unwrap().items;
            let first = first.replace("\n    ", "\n  ");
            assert_eq!(items[0].to_string(), format!("{first}\n{above}"), "{text}");
            assert_eq!(items[1].to_string(), format!("{below}b: 1\n"), "{text}");
        }
    };
    check("", "", "");
    check("# x\n", "", "# x\n");
    check("  # x\n", "# x\n", "");
    check("  # x\n# y\n", "# x\n", "# y\n");
    check("  # x\n\n# y\n# z\n", "# x\n\n", "# y\n# z\n");
    check("# y\n  # z\n", "", "# y\n# z\n");
}

#[test]
fn wire_types() {
    let check = |text: &str, expected: Result<usize, &str>| {
        let read = ResourceList::parse(text).map(|list| list.items.len()).map_err(|error| error.to_string());
        assert_eq!(read.as_ref().map(|len| *len).map_err(String::as_str), expected, "{text:?}");
    };
    check("{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{}, {}]}", Ok(2));
    check("{apiVersion: config.kubernetes.io/v1beta1, kind: ResourceList, items: }", Ok(0));
    check("{apiVersion: config.kubernetes.io/v1, kind: ResourceList}", Ok(0));
    check("{apiVersion: v1, kind: List, items: [{a: 1}]}", Ok(1));
    check(
        "{apiVersion: v2, kind: List}",
        Err(
            "a ResourceList of config.kubernetes.io/v1 or a List of v1 is expected, this is \"List\" of \"v2\"",
        ),
    );
    check("[]", Err("line 1: a resource is a mapping, this is a list"));
    let list = |rest: &str| format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n{rest}");
    check(&list("items: 1\n"), Err("line 3: items are a list, this is a scalar"));
    check(&list("items:\n- a: 1\n- x\n"), Err("line 5: a resource is a mapping, this is a scalar"));
    check(&list("functionConfig: x\n"), Err("line 3: a resource is a mapping, this is a scalar"));
    check(&list("functionConfig:\n"), Ok(0));
    check(&list("results: x\n"), Err("line 3: results are a list, this is a scalar"));
    check(&list("results:\n- x\n"), Err("line 4: a result is a mapping, this is a scalar"));
}

#[test]
fn plain_streams_are_lists_too() {
    let count = |text: &str| ResourceList::parse_any(text).unwrap().items.len();
    assert_eq!(count("a: 1\n---\nb: 1\n---\n# nothing\n"), 2);
    assert_eq!(count("kind: List\napiVersion: v1\nitems: [{}, {}, {}]\n"), 3);
    assert_eq!(count("kind: List\napiVersion: v1\n"), 1);
    assert_eq!(count("kind: List\nitems: []\n---\na: 1\n"), 2);
    assert_eq!(count(""), 0);
    let text = ResourceList::parse_any("# one\na: 1\n---\nb:   2 # two\n").unwrap().to_string();
    assert!(text.ends_with("items:\n# one\n- a: 1\n- b:   2 # two\n"), "{text}");
}

#[test]
fn anchors_work_across_items() {
    let list = ResourceList::parse(
        "apiVersion: v1\nkind: List\nitems:\n- a: &x {b: 1}\n  c: *x\n- d: *x # two\n- &y\n  e: 1\n",
    )
    .unwrap();
    let texts: Vec<_> = list.items.iter().map(Resource::to_string).collect();
    assert_eq!(texts, ["a: &x {b: 1}\nc: *x\n", "d: {b: 1} # two\n", "&y\ne: 1\n"]);
    let again = ResourceList::parse(&list.to_string()).unwrap();
    assert!(list.items.iter().zip(&again.items).all(|(one, other)| one.means_the_same(other)), "{list}");
}

#[test]
fn what_is_bound_to_the_margin_is_laid_out_anew() {
    let check = |resource: &str, expected: &str| {
        let item = Resource::parse(resource).unwrap();
        let list = ResourceList { items: vec![item.clone(), item], ..ResourceList::default() };
        let text = list.to_string();
        let items = text.split_once("items:\n").unwrap().1;
        assert_eq!(items, expected.repeat(2), "{resource:?}");
        let again = ResourceList::parse(&text).unwrap();
        assert!(again.items.iter().all(|item| item.means_the_same(&list.items[0])), "{text}");
    };
    check("---\na: 1\n", "- a: 1\n");
    check("# p\n---\n# h\n\na: 1\n...\n", "# p\n# h\n- a: 1\n");
    check("--- # c\na: 1\n", "# c\n- a: 1\n");
    check("--- {a: 1}\n", "- {a: 1}\n");
    check("%YAML 1.2\n---\na: 1\n", "- a: 1\n");
    check("%YAML 1.2\n# k\n---\na: 1\n", "# k\n- a: 1\n");
    check("...\n---\na: 1\n", "- a: 1\n");
    check("a: |\n  x", "- a: |-\n    x\n");
    check("a: |+\n  x\n\n", "- a: |+\n    x\n\n");
    check("a: |2\n    x\n", "- a: |2\n      x\n");
    check("a: 'x\n\n  y'", "- a: 'x\n\n    y'\n");
    check("a: 1\r\nb: 2\r\n", "- a: 1\r\n  b: 2\r\n");
    check("---a: 1\n", "- ---a: 1\n");
    check("\u{feff}a: 1\n", "- a: 1\n");
}

#[test]
fn results_have_older_shapes() {
    let list = ResourceList::parse(
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
  name: lint
  items:
  - message: 3
    severity: warning
    resourceRef: {apiVersion: v1, kind: A, metadata: {name: x, namespace: z}, more: 1}
    field: {path: a.b, currentValue: 1, suggestedValue: [2, '3']}
    file: {path: f.yaml, index: 2}
    tags: {a: 1}
    custom: {x: [1]}
  - severity: fatal
    tags: [1]
  - {}
",
    )
    .unwrap();
    let [full, odd, empty] = &list.results[..] else { panic!("{:?}", list.results) };
    assert_eq!((full.message.as_str(), &full.severity), ("3", &Some(Severity::Warning)));
    assert_eq!(
        full.resource_ref.as_ref().map(|of| (of.name.as_str(), of.namespace.as_str())),
        Some(("x", "z"))
    );
    assert_eq!(odd.severity, Some(Severity::Other("fatal".into())));
    assert_eq!(empty.resource_ref, None::<ResourceRef>);
    let text = list.to_string();
    let results = text.split_once("results:\n").unwrap().1;
    assert_eq!(
        results,
        "\
- message: \"3\"
  severity: warning
  resourceRef:
    apiVersion: v1
    kind: A
    name: x
    namespace: z
    more: 1
  field:
    path: a.b
    currentValue: 1
    proposedValue:
    - 2
    - \"3\"
  file:
    path: f.yaml
    index: 2
  tags:
    a: \"1\"
  custom:
    x:
    - 1
- message: \"\"
  severity: fatal
  tags:
  - 1
- message: \"\"
"
    );
    assert_eq!(ResourceList::parse(&text).unwrap().results, list.results);
    let json = serde_json::to_string(&list.results).unwrap();
    assert_eq!(serde_json::from_str::<Vec<lanai_krm::ResultItem>>(&json).unwrap(), list.results);
}

#[test]
fn lists_may_be_long() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x # c\n  data: {a: b}\n";
    let text = format!("apiVersion: v1\nkind: List\nitems:\n{}", item.repeat(20_000));
    let list = ResourceList::parse(&text).unwrap();
    assert_eq!(list.items.len(), 20_000);
    assert_eq!(ResourceList::parse(&list.to_string()).unwrap().items.len(), 20_000);
}

/// The text of a resource as it comes back: without marker and blank lines above its content, with a line break at its end.
pub fn unmarked(resource: &Resource) -> String {
    let mut text = resource.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut above = true;
    let lines = text.split_inclusive('\n').filter(|line| {
        above &= line.trim().is_empty() || line.starts_with(['#', '-']);
        !above || line.starts_with('#')
    });
    lines.collect()
}

proptest! {
    #[test]
    fn items_survive_the_wire(seed in any::<u64>(), count in 1usize..8) {
        let items = Resource::parse_stream(&lanai_testkit::manifests(seed, count)).unwrap();
        let list = ResourceList { items, ..ResourceList::default() };
        let once = ResourceList::parse(&list.to_string()).unwrap();
        prop_assert_eq!(once.items.len(), list.items.len());
        for (sent, received) in list.items.iter().zip(&once.items) {
            prop_assert!(sent.means_the_same(received), "{}\n{}", sent, received);
            prop_assert_eq!(unmarked(sent), received.to_string());
        }
        let twice = ResourceList::parse(&once.to_string()).unwrap();
        for (first, second) in once.items.iter().zip(&twice.items) {
            prop_assert_eq!(first.to_string(), second.to_string());
        }
    }
}
