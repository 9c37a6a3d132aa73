//! What holds for every object that is applied.

use std::sync::LazyLock;

use lanai_api::{KindInfo, crd};
use lanai_apply::fields::FieldSet;
use lanai_apply::{Force, Writer, apply, update};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::recorded::{folder, read};

fn kind() -> &'static KindInfo {
    static KIND: LazyLock<KindInfo> = LazyLock::new(|| {
        crd::kind(&read(&folder().join("definition.json"))).expect("the definition is right")
    });
    &KIND
}

fn writer(manager: &str) -> Writer<'_> {
    Writer { manager, sub_resource: None, now: "2030-01-01T00:00:00Z".parse().expect("it is a time") }
}

fn object(spec: Map<String, Value>) -> Value {
    let mut object = json!({"apiVersion": "apply.example.com/v1", "kind": "Sample", "metadata": {"name": "n", "namespace": "n"}});
    if !spec.is_empty() {
        object["spec"] = spec.into();
    }
    object
}

/// A spec whose values depend on their names only, so that those who apply it agree.
fn spec() -> impl Strategy<Value = Map<String, Value>> {
    let words = || proptest::sample::subsequence(vec!["a", "b", "c", "d"], 0..4);
    (any::<u8>(), words(), words(), words(), words()).prop_map(|(fields, set, keyed, map, object)| {
        let mut spec = Map::new();
        if fields & 1 != 0 {
            spec.insert("text".to_owned(), "t".into());
        }
        if fields & 2 != 0 {
            spec.insert("number".to_owned(), 7.into());
        }
        if fields & 4 != 0 {
            spec.insert("plain".to_owned(), json!(["x", "y"]));
        }
        if fields & 8 != 0 {
            spec.insert("atomic".to_owned(), json!({"a": "1"}));
        }
        if !set.is_empty() {
            spec.insert("set".to_owned(), json!(set));
        }
        if !keyed.is_empty() {
            let items: Vec<Value> =
                keyed.iter().map(|name| json!({"name": name, "value": format!("v-{name}")})).collect();
            spec.insert("keyed".to_owned(), items.into());
        }
        if !map.is_empty() {
            let entries: Map<String, Value> =
                map.iter().map(|name| ((*name).to_owned(), format!("m-{name}").into())).collect();
            spec.insert("map".to_owned(), entries.into());
        }
        if object.iter().any(|name| *name == "a" || *name == "b") {
            let fields = object.iter().filter(|name| **name == "a" || **name == "b");
            let fields: Map<String, Value> =
                fields.map(|name| ((*name).to_owned(), format!("o-{name}").into())).collect();
            spec.insert("object".to_owned(), fields.into());
        }
        spec
    })
}

fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().expect("there is metadata").remove("managedFields");
    sorted(&object)
}

/// Lists that merge have no order that those who apply have to agree on.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), sorted(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(ToString::to_string);
            items.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn owned(object: &Value, manager: &str) -> FieldSet {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let entry = entries.iter().find(|entry| entry["manager"] == manager);
    entry.map_or_else(FieldSet::default, |entry| FieldSet::read(&entry["fieldsV1"]).expect("it is a set"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn applying_again_changes_nothing(first in spec(), second in spec()) {
        let kind = kind();
        let live = apply(kind, None, &object(first), &writer("a"), Force::No).expect("nobody else is there");
        let live = apply(kind, Some(&live), &object(second.clone()), &writer("b"), Force::Yes).expect("it is forced");
        let again = apply(kind, Some(&live), &object(second), &writer("b"), Force::No).expect("it is the same");
        prop_assert_eq!(again, live);
    }

    #[test]
    fn who_applies_owns_what_is_applied_whatever_was_applied_before(before in spec(), other in spec(), now in spec()) {
        let kind = kind();
        let alone = apply(kind, None, &object(now.clone()), &writer("a"), Force::No).expect("nobody else is there");
        let live = apply(kind, None, &object(before), &writer("a"), Force::No).expect("nobody else is there");
        let live = apply(kind, Some(&live), &object(other), &writer("b"), Force::Yes).expect("it is forced");
        let live = apply(kind, Some(&live), &object(now), &writer("a"), Force::Yes).expect("it is forced");
        prop_assert_eq!(owned(&live, "a"), owned(&alone, "a"));
    }

    #[test]
    fn the_order_of_those_who_agree_does_not_matter(first in spec(), second in spec()) {
        let kind = kind();
        let both = |one: &Map<String, Value>, one_name: &str, other: &Map<String, Value>, other_name: &str| {
            let live = apply(kind, None, &object(one.clone()), &writer(one_name), Force::No).expect("nobody else is there");
            apply(kind, Some(&live), &object(other.clone()), &writer(other_name), Force::No).expect("they agree")
        };
        let (one, other) = (both(&first, "a", &second, "b"), both(&second, "b", &first, "a"));
        prop_assert_eq!(plain(&one), plain(&other));
        prop_assert_eq!(owned(&one, "a"), owned(&other, "a"));
        prop_assert_eq!(owned(&one, "b"), owned(&other, "b"));
    }

    #[test]
    fn what_is_applied_no_more_goes_and_what_others_own_stays(mine in spec(), theirs in spec()) {
        let kind = kind();
        let alone = apply(kind, None, &object(theirs.clone()), &writer("b"), Force::No).expect("nobody else is there");
        let live = apply(kind, None, &object(mine), &writer("a"), Force::No).expect("nobody else is there");
        let live = apply(kind, Some(&live), &object(theirs), &writer("b"), Force::No).expect("they agree");
        let live = apply(kind, Some(&live), &object(Map::new()), &writer("a"), Force::No).expect("nothing is applied");
        prop_assert_eq!(plain(&live), plain(&alone));
        prop_assert!(owned(&live, "a").is_empty());
    }

    #[test]
    fn ordinary_writes_own_what_they_change_and_nothing_else(before in spec(), after in spec()) {
        let kind = kind();
        let live = apply(kind, None, &object(before), &writer("a"), Force::No).expect("nobody else is there");
        let mut new = object(after);
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        let written = update(kind, Some(&live), &new, &writer("u"));
        prop_assert!(owned(&written, "a").intersection(&owned(&written, "u")).is_empty());
        let again = update(kind, Some(&written), &written, &writer("v"));
        prop_assert_eq!(again, written);
    }
}
