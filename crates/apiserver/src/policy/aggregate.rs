//! Cluster roles that are made of others: which those are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Rule, rules};

/// A cluster role as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    rules: Vec<Rule>,
    labels: BTreeMap<String, String>,
    /// It has the rules of all roles that one of these selects.
    selectors: Vec<Selector>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    /// What nobody knows selects nothing.
    Never,
}

impl Written {
    pub fn of(object: &Value) -> Self {
        let selectors = object["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten();
        Self {
            rules: rules(object),
            labels: crate::meta::labels(object),
            selectors: selectors.map(Selector::of).collect(),
        }
    }

    pub fn is_aggregated(&self) -> bool {
        !self.selectors.is_empty()
    }
}

impl Selector {
    fn of(value: &Value) -> Self {
        let labels = value["matchLabels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| Requirement {
            key: key.clone(),
            test: Test::In(value.as_str().map(str::to_owned).into_iter().collect()),
        });
        let expressions = value["matchExpressions"].as_array().into_iter().flatten().map(|one| {
            let values = one["values"].as_array().into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            let test = match one["operator"].as_str().unwrap_or_default() {
                "In" => Test::In(values),
                "NotIn" => Test::NotIn(values),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                _ => Test::Never,
            };
            Requirement { key: one["key"].as_str().unwrap_or_default().to_owned(), test }
        });
        Self(labels.chain(expressions).collect())
    }

    fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|Requirement { key, test }| match (test, labels.get(key)) {
            (Test::In(values), Some(found)) => values.contains(found),
            (Test::NotIn(values), Some(found)) => !values.contains(found),
            (Test::Exists, Some(_)) | (Test::NotIn(_) | Test::Absent, None) => true,
            (Test::In(_) | Test::Exists, None) | (Test::Absent, Some(_)) | (Test::Never, _) => false,
        })
    }
}

/// All rules of a cluster role: its own, and those of the roles that it selects, of which each can select others.
pub(super) fn effective(all: &BTreeMap<String, Written>, name: &str) -> Vec<Rule> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([name]);
    let mut waiting = vec![name];
    while let Some(written) = waiting.pop().and_then(|name| all.get(name)) {
        found.extend(written.rules.iter().cloned());
        for (other, candidate) in all {
            let is_selected = written.selectors.iter().any(|selector| selector.selects(&candidate.labels));
            if is_selected && seen.insert(other) {
                waiting.push(other);
            }
        }
    }
    found
}
