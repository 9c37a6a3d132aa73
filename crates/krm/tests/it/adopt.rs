//! What functions answer, brought into the text that they were asked about.

use lanai_krm::package::Folder;
use lanai_krm::resource::Origin;
use lanai_krm::{Resource, adopt};
use lanai_testkit::manifests;
use proptest::prelude::*;
use serde_json::Value;

/// What comes out when a function made `after` of `before`.
fn adopted(before: &str, after: &str) -> String {
    adopt(&Resource::parse(before).unwrap(), &Resource::parse(after).unwrap()).to_string()
}

const BEFORE: &str = "\
# What it is for.
kind: Deployment
apiVersion: apps/v1

metadata:
  name: 'web' # its name
spec:
  replicas: 3   # as many
  list:
    - name: a
      # about the value
      value: \"1\"
    - name: b
      value: '2'
";

#[test]
fn what_says_the_same_keeps_its_bytes() {
    let after = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  list:\n  - {name: a, value: '1'}\n  - {name: b, value: '2'}\n  replicas: 3\n";
    assert_eq!(adopted(BEFORE, after), BEFORE);
}

#[test]
fn a_change_touches_its_entry() {
    let after = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: prod}\nspec:\n  list:\n  - {name: a, value: '1'}\n  - {name: b, value: '3'}\n  replicas: 4\n";
    let expected = BEFORE
        .replace("replicas: 3   #", "replicas: 4   #")
        .replace("value: '2'", "value: '3'")
        .replace("# its name\n", "# its name\n  namespace: prod\n");
    assert_eq!(adopted(BEFORE, after), expected);
}

#[test]
fn items_go_come_and_move() {
    let after = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  list:\n  - {name: b, value: '2'}\n  - {name: c}\n  - {name: a, value: '1'}\n  replicas: 3\n";
    let expected = BEFORE.replace(
        "    - name: a\n      # about the value\n      value: \"1\"\n    - name: b\n      value: '2'\n",
        "    - name: b\n      value: '2'\n    - {name: c}\n    - name: a\n      # about the value\n      value: \"1\"\n",
    );
    assert_eq!(adopted(BEFORE, after), expected);
}

#[test]
fn comments_that_a_function_sets_arrive() {
    let after = BEFORE.replace("# as many", "# {\"$kpt-set\":\"n\"}").replace("# What it is for.\n", "");
    let expected = BEFORE.replace("# as many", "# {\"$kpt-set\":\"n\"}");
    assert_eq!(adopted(BEFORE, &after), expected);
}

#[test]
fn removed_fields_go() {
    let after = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n";
    let expected = &BEFORE[..BEFORE.find("  list:").unwrap()];
    assert_eq!(adopted(BEFORE, after), expected);
}

#[test]
fn merge_keys_and_aliases_still_mean_what_the_function_said() {
    let before = "a: &x {k: 1} # one\nb:\n  <<: *x\n  l: 2\nc: *x\n";
    let after = "a: {k: 1}\nb: {k: 1, l: 3}\nc: {k: 2}\n";
    let out = adopted(before, after);
    assert!(Resource::parse(&out).unwrap().means_the_same(&Resource::parse(after).unwrap()), "{out}");
    assert!(out.contains("# one"), "{out}");
}

/// Comments above and below all content come to stand on other keys when a function sorts them.
#[test]
fn comments_around_a_document_are_not_written_twice() {
    let body = "# about the kind\nkind: A\napiVersion: v1\nmetadata: {name: x}\n# behind\n";
    for head in ["# licence\n---\n", "# licence\n\n", "---\n# licence\n"] {
        let before = format!("{head}{body}");
        for after in [
            "# licence\n# about the kind\napiVersion: v1\nkind: A\nmetadata:\n  name: x\n# behind\n",
            "# about the kind\napiVersion: v1\nkind: A\nmetadata:\n  name: x\n",
            "apiVersion: v1\nkind: A\n# behind\nmetadata:\n  name: x\n",
            "# licence\n# about the kind\nkind: A\napiVersion: v1\nmetadata: {name: x}\n# behind\n",
        ] {
            assert_eq!(adopted(&before, after), before, "{after}");
        }
        let changed = "# licence\n# about the kind\napiVersion: v1\n# new\nkind: A\nmetadata:\n  name: y\n";
        let expected = before.replace("name: x", "name: y").replace("the kind\n", "the kind\n# new\n");
        assert_eq!(adopted(&before, changed), expected);
    }
}

#[test]
fn the_origin_is_that_of_the_answer() {
    let origin =
        |path: &str| Origin { package: Folder::Root, path: path.parse().unwrap(), index: None, serial: None };
    let (mut before, mut after) = (Resource::parse(BEFORE).unwrap(), Resource::parse("a: 1\n").unwrap());
    before.set_origin(Some(origin("before.yaml")));
    assert_eq!(adopt(&before, &after).origin(), None);
    after.set_origin(Some(origin("after.yaml")));
    assert_eq!(adopt(&before, &after).origin(), Some(&origin("after.yaml")));
}

#[test]
fn a_change_deep_down_leaves_the_comments_on_the_way() {
    let depth = 150;
    let before = (0..depth).map(|at| format!("{}a: # {at}\n", "  ".repeat(at))).collect::<Vec<_>>().concat();
    let before = format!("{before}{}b: 1 # last\n", "  ".repeat(depth));
    let after = before.replace("b: 1 # last", "b: 2 # last");
    assert_eq!(adopted(&before, &after), after);
}

/// What a function answers that knows no comments and no layout, after it changed a few values.
fn rewritten(resource: &Resource, seed: u64) -> Resource {
    let mut value: Value = resource.root().deserialize().unwrap();
    change(&mut value, &mut Dice(seed));
    Resource::parse(&serde_json::to_string_pretty(&value).unwrap()).unwrap()
}

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// Puts other values in some places; entries and items go, come and move.
fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(fields) => {
            if dice.roll(8) == 0 {
                fields.sort_keys();
            }
            if dice.roll(12) == 0 {
                fields.insert(format!("new{}", dice.roll(3)), Value::from("# no comment: \"x\""));
            }
            let gone = fields.keys().find(|_| dice.roll(25) == 0).cloned();
            if let Some(gone) = gone {
                fields.shift_remove(&gone);
            }
            for value in fields.values_mut() {
                change(value, dice);
            }
        }
        Value::Array(items) => {
            if dice.roll(6) == 0 {
                items.reverse();
            }
            if dice.roll(8) == 0 {
                items.push(Value::from(7));
            }
            if dice.roll(8) == 0 && !items.is_empty() {
                items.remove(0);
            }
            for item in items {
                change(item, dice);
            }
        }
        leaf => match dice.roll(15) {
            0 => *leaf = Value::from("other\ntext\n"),
            1 => *leaf = Value::Null,
            2 => *leaf = serde_json::json!({"a": [1, {"b": []}]}),
            _ => {}
        },
    }
}

proptest! {
    /// Whatever a function makes of a resource, the answer means that, also when it is read again.
    #[test]
    fn the_answer_means_what_the_function_said(seed in any::<u64>(), changes in any::<u64>()) {
        for before in Resource::parse_stream(&manifests(seed, 3)).unwrap() {
            let after = rewritten(&before, changes);
            let answer = adopt(&before, &after);
            prop_assert!(answer.means_the_same(&after), "{before}\n---\n{after}\n---\n{answer}");
            let again = Resource::parse(&answer.to_string()).unwrap();
            prop_assert!(again.means_the_same(&after), "{}", answer);
        }
    }

    #[test]
    fn what_was_not_changed_keeps_its_bytes(seed in any::<u64>()) {
        for before in Resource::parse_stream(&manifests(seed, 3)).unwrap() {
            let value: Value = before.root().deserialize().unwrap();
            let after = Resource::parse(&serde_json::to_string(&value).unwrap()).unwrap();
            prop_assert_eq!(adopt(&before, &after).to_string(), before.to_string());
            prop_assert_eq!(adopt(&before, &before).to_string(), before.to_string());
        }
    }
}
