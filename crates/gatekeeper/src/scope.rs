//! Whether a policy applies to a resource.

use std::collections::{BTreeMap, HashMap};

use lanai_krm::Resource;
use serde::Deserialize;

/// The label that every namespace has.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// `spec.match` of a policy. What it does not say matches all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scope {
    kinds: Vec<Kinds>,
    #[serde(rename = "scope")]
    reach: Reach,
    name: Option<String>,
    namespaces: Vec<String>,
    excluded_namespaces: Vec<String>,
    label_selector: Option<Selector>,
    namespace_selector: Option<Selector>,
    source: Source,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kinds {
    api_groups: Vec<String>,
    kinds: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Reach {
    #[default]
    #[serde(rename = "*", alias = "")]
    All,
    Cluster,
    Namespaced,
}

/// What made a resource; here nothing is made by another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Source {
    #[default]
    #[serde(alias = "")]
    All,
    Original,
    Generated,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<Expression>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

type Labels = BTreeMap<String, String>;

/// The labels of the namespaces that are in the list.
pub struct Namespaces(HashMap<String, Labels>);

impl Namespaces {
    /// Of these resources.
    pub fn of(items: &[Resource]) -> Self {
        let namespaces = items.iter().filter(|item| is_namespace(item));
        Self(namespaces.map(|item| (item.id().name, labels(item))).collect())
    }

    /// The labels of a namespace; the one that every namespace has where it is not in the list.
    fn labels(&self, name: &str) -> Labels {
        let mut labels = self.0.get(name).cloned().unwrap_or_default();
        labels.entry(NAMESPACE_NAME.into()).or_insert_with(|| name.into());
        labels
    }
}

impl Scope {
    /// Whether a policy with this scope applies to a resource.
    ///
    /// What is about namespaces looks at the name of a namespace when the resource is one, and does not restrict other
    /// resources without a namespace.
    pub fn applies_to(&self, resource: &Resource, namespaces: &Namespaces) -> bool {
        let id = resource.id();
        let namespace = if is_namespace(resource) { &id.name } else { &id.namespace };
        let in_reach = match self.reach {
            Reach::All => true,
            Reach::Cluster => id.namespace.is_empty(),
            Reach::Namespaced => !id.namespace.is_empty(),
        };
        let is_one = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, namespace));
        let is_in_one = namespace.is_empty()
            || ((self.namespaces.is_empty() || is_one(&self.namespaces))
                && !is_one(&self.excluded_namespaces)
                && self
                    .namespace_selector
                    .as_ref()
                    .is_none_or(|selector| selector.matches(&namespaces.labels(namespace))));
        in_reach
            && is_in_one
            && self.source != Source::Generated
            && (self.kinds.is_empty() || self.kinds.iter().any(|kinds| kinds.have(&id.group, &id.kind)))
            && self.name.as_deref().is_none_or(|pattern| glob(pattern, &id.name))
            && self.label_selector.as_ref().is_none_or(|selector| selector.matches(&labels(resource)))
    }
}

impl Kinds {
    fn have(&self, group: &str, kind: &str) -> bool {
        let has = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|one| one == "*" || one == name)
        };
        has(&self.api_groups, group) && has(&self.kinds, kind)
    }
}

impl Selector {
    fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

fn is_namespace(resource: &Resource) -> bool {
    let id = resource.id();
    id.group.is_empty() && id.kind == "Namespace"
}

fn labels(resource: &Resource) -> Labels {
    resource.labels().map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

/// Whether a name is what a pattern says: a `*` at its begin or its end stands for any text.
fn glob(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (None, None) => name == pattern,
        (Some(end), None) => name.ends_with(end),
        (None, Some(begin)) => name.starts_with(begin),
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scope: &str, applies: bool) {
        let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-a, namespace: shop-prod, labels: {app: web}}\n";
        assert_eq!(applies_to(scope, deployment), applies, "{scope}");
    }

    fn applies_to(scope: &str, resource: &str) -> bool {
        let namespaces =
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop-prod, labels: {stage: prod}}\n";
        let namespaces = Namespaces::of(&[Resource::parse(namespaces).unwrap()]);
        let scope = Resource::parse(scope).unwrap();
        let scope = Scope::deserialize(scope.root()).unwrap();
        scope.applies_to(&Resource::parse(resource).unwrap(), &namespaces)
    }

    #[test]
    fn scopes_apply_where_they_say() {
        check("{}", true);
        check("kinds: [{apiGroups: [apps], kinds: [Deployment]}]", true);
        check("kinds: [{apiGroups: ['*'], kinds: ['*']}]", true);
        check("kinds: [{apiGroups: [''], kinds: [Deployment]}]", false);
        check("kinds: [{apiGroups: [apps], kinds: [StatefulSet]}, {kinds: [Deployment]}]", true);
        check("kinds: [{apiGroups: [apps], kinds: [StatefulSet]}]", false);
        check("scope: Namespaced", true);
        check("scope: Cluster", false);
        check("scope: '*'", true);
        check("name: web-*", true);
        check("name: web", false);
        check("namespaces: [shop-prod]", true);
        check("namespaces: ['*-prod']", true);
        check("namespaces: ['shop*']", true);
        check("namespaces: ['*op-p*']", true);
        check("namespaces: [other]", false);
        check("excludedNamespaces: ['shop-*']", false);
        check("excludedNamespaces: [other]", true);
        check("labelSelector: {matchLabels: {app: web}}", true);
        check("labelSelector: {matchLabels: {app: other}}", false);
        check("labelSelector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}", true);
        check("labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", false);
        check("labelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}", true);
        check("labelSelector: {matchExpressions: [{key: app, operator: Exists}]}", true);
        check("labelSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}", false);
        check("namespaceSelector: {matchLabels: {stage: prod}}", true);
        check("namespaceSelector: {matchLabels: {stage: test}}", false);
        check("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop-prod}}", true);
        check("source: Generated", false);
        check("source: Original", true);
    }

    #[test]
    fn namespaces_are_known_by_their_own_name_and_others_without_one_are_not_restricted() {
        let namespace =
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop-prod, labels: {stage: prod}}\n";
        assert!(applies_to("namespaces: [shop-prod]", namespace));
        assert!(!applies_to("excludedNamespaces: [shop-prod]", namespace));
        assert!(applies_to("namespaceSelector: {matchLabels: {stage: prod}}", namespace));
        assert!(applies_to("scope: Cluster", namespace));
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n";
        assert!(applies_to("namespaces: [shop-prod]", role));
        assert!(applies_to("namespaceSelector: {matchLabels: {stage: prod}}", role));
    }
}
