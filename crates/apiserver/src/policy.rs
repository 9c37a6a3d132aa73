//! Who may do what: the rules of the store, as a value that decides.

mod aggregate;

use std::collections::BTreeMap;

use serde_json::Value;

use aggregate::Written;

use crate::identity::{Identity, MASTERS};

/// One permission: these verbs on these things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// What is done.
    pub verbs: Vec<String>,
    /// In which groups; empty text is the core group.
    pub groups: Vec<String>,
    /// To which resources, as `configmaps`, `*/status`, `*`.
    pub resources: Vec<String>,
    /// To which objects; none means all.
    pub names: Vec<String>,
    /// To which paths that are no resources, as `/metrics`, `/healthz/*`.
    pub urls: Vec<String>,
}

/// What somebody wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The verb, in lower case.
    pub verb: String,
    /// To what.
    pub what: What,
}

/// To what somebody wants to do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Objects.
    Resource {
        /// Their group.
        group: String,
        /// The plural.
        resource: String,
        /// A side of them; empty for themselves.
        subresource: String,
        /// Their namespace; empty for all, or for those in none.
        namespace: String,
        /// One of them; empty for all.
        name: String,
    },
    /// A path that is no resource.
    Path(String),
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// They may, because of this.
    Allowed(String),
    /// Nothing says that they may.
    Denied,
}

/// A role that a binding names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleRef {
    /// A role of a namespace.
    Role {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// A role of all.
    ClusterRole {
        /// The name.
        name: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    User(String),
    Group(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    /// Where it holds; everywhere without one.
    namespace: Option<String>,
    role: RoleRef,
    subjects: Vec<Subject>,
    name: String,
}

/// All roles and bindings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// With the rules of roles that others are made of.
    roles: BTreeMap<RoleRef, Vec<Rule>>,
    /// Cluster roles as they are written.
    written: BTreeMap<String, Written>,
    /// By the text of their key.
    bindings: BTreeMap<String, Binding>,
}

impl Policy {
    /// Takes over a role as it is now; `None` when it is gone.
    pub fn set_role(&mut self, role: RoleRef, object: Option<&Value>) {
        if let RoleRef::ClusterRole { name } = &role {
            match object {
                Some(object) => self.written.insert(name.clone(), Written::of(object)),
                None => self.written.remove(name),
            };
        }
        match object {
            Some(object) => self.roles.insert(role, rules(object)),
            None => self.roles.remove(&role),
        };
        // Any of them may be a part of those that are made of others.
        for name in self.written.iter().filter(|(_, one)| one.is_aggregated()).map(|(name, _)| name) {
            let all = aggregate::effective(&self.written, name);
            self.roles.insert(RoleRef::ClusterRole { name: name.clone() }, all);
        }
    }

    /// Takes over a binding as it is now; `None` when it is gone. Of a binding in a namespace, that is the namespace.
    pub fn set_binding(&mut self, namespace: Option<&str>, name: &str, object: Option<&Value>) {
        let key = format!("{}/{name}", namespace.unwrap_or_default());
        match object.and_then(|object| binding(namespace, name, object)) {
            Some(binding) => self.bindings.insert(key, binding),
            None => self.bindings.remove(&key),
        };
    }

    /// Decides. This is the only place where that happens.
    pub fn decide(&self, identity: &Identity, ask: &Ask) -> Decision {
        if identity.is_in(MASTERS) {
            return Decision::Allowed(format!("group \"{MASTERS}\" may do everything"));
        }
        let namespace = match &ask.what {
            What::Resource { namespace, .. } => {
                Some(namespace.as_str()).filter(|namespace| !namespace.is_empty())
            }
            What::Path(_) => None,
        };
        for (binding, rules) in self.bindings_of(identity, namespace) {
            if rules.iter().any(|rule| rule.admits(ask)) {
                return Decision::Allowed(format!("binding \"{}\" of {}", binding.name, binding.role));
            }
        }
        Decision::Denied
    }

    /// All that somebody may do in a namespace, or everywhere.
    pub fn rules_of(&self, identity: &Identity, namespace: Option<&str>) -> Vec<Rule> {
        if identity.is_in(MASTERS) {
            return vec![Rule::everything(), Rule::every_path()];
        }
        self.bindings_of(identity, namespace).flat_map(|(_, rules)| rules.iter().cloned()).collect()
    }

    /// The rules of a role; none if there is no such role.
    pub fn role(&self, role: &RoleRef) -> Option<&[Rule]> {
        self.roles.get(role).map(Vec::as_slice)
    }

    fn bindings_of<'a>(
        &'a self,
        identity: &'a Identity,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Binding, &'a [Rule])> {
        let here = move |binding: &Binding| {
            binding.namespace.is_none() || (namespace.is_some() && binding.namespace.as_deref() == namespace)
        };
        let theirs = |binding: &Binding| {
            binding.subjects.iter().any(|subject| match subject {
                Subject::User(name) => *name == identity.user,
                Subject::Group(name) => identity.is_in(name),
            })
        };
        self.bindings
            .values()
            .filter(move |binding| here(binding) && theirs(binding))
            .filter_map(|binding| Some((binding, self.role(&binding.role)?)))
    }
}

impl std::fmt::Display for RoleRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Role { namespace, name } => write!(f, "role \"{namespace}/{name}\""),
            Self::ClusterRole { name } => write!(f, "cluster role \"{name}\""),
        }
    }
}

impl Rule {
    /// Everything that can be done with objects.
    pub fn everything() -> Self {
        let all = || vec!["*".to_owned()];
        Self { verbs: all(), groups: all(), resources: all(), ..Self::default() }
    }

    /// Everything that can be done with paths.
    pub fn every_path() -> Self {
        let all = || vec!["*".to_owned()];
        Self { verbs: all(), urls: all(), ..Self::default() }
    }

    /// True when this rule allows what is asked.
    pub fn admits(&self, ask: &Ask) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == "*" || one == word);
        if !has(&self.verbs, &ask.verb) {
            return false;
        }
        match &ask.what {
            What::Path(path) => self.urls.iter().any(|url| match url.strip_suffix('*') {
                Some(beginning) => path.starts_with(beginning),
                None => url == path,
            }),
            What::Resource { group, resource, subresource, name, .. } => {
                has(&self.groups, group)
                    && self.admits_resource(resource, subresource)
                    && (self.names.is_empty() || self.names.iter().any(|one| one == name))
            }
        }
    }

    fn admits_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|one| match (one.as_str(), subresource) {
            ("*", _) => true,
            (one, "") => one == resource,
            (one, side) => match one.strip_prefix("*/") {
                Some(found) => found == side,
                None => one.split_once('/') == Some((resource, side)),
            },
        })
    }

    /// True when everything that this rule allows is allowed by one of the others.
    pub fn is_covered_by(&self, others: &[Self]) -> bool {
        let covers = |list: &[String], word: &str| list.iter().any(|one| one == "*" || one == word);
        let covers_url = |list: &[String], url: &str| {
            list.iter().any(|one| match one.strip_suffix('*') {
                Some(beginning) => url.starts_with(beginning),
                None => one == url,
            })
        };
        let names: Vec<Option<&str>> = if self.names.is_empty() {
            vec![None]
        } else {
            self.names.iter().map(|name| Some(name.as_str())).collect()
        };
        self.verbs.iter().all(|verb| {
            let urls = self.urls.iter().all(|url| {
                others.iter().any(|other| covers(&other.verbs, verb) && covers_url(&other.urls, url))
            });
            let mut resources =
                self.groups.iter().flat_map(|group| self.resources.iter().map(move |one| (group, one)));
            urls && resources.all(|(group, resource)| {
                names.iter().all(|name| {
                    others.iter().any(|other| {
                        covers(&other.verbs, verb)
                            && covers(&other.groups, group)
                            && covers_resource(&other.resources, resource)
                            && (other.names.is_empty()
                                || name.is_some_and(|name| other.names.iter().any(|one| one == name)))
                    })
                })
            })
        })
    }
}

fn covers_resource(list: &[String], resource: &str) -> bool {
    list.iter().any(|one| {
        one == "*"
            || one == resource
            || one
                .strip_prefix("*/")
                .is_some_and(|side| resource.split_once('/').is_some_and(|(_, found)| found == side))
    })
}

/// The rules of a role.
pub fn rules(role: &Value) -> Vec<Rule> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let rules = role["rules"].as_array().into_iter().flatten();
    rules
        .map(|rule| Rule {
            verbs: texts(&rule["verbs"]),
            groups: texts(&rule["apiGroups"]),
            resources: texts(&rule["resources"]),
            names: texts(&rule["resourceNames"]),
            urls: texts(&rule["nonResourceURLs"]),
        })
        .collect()
}

/// The role that a binding names.
pub fn role_ref(namespace: Option<&str>, binding: &Value) -> Option<RoleRef> {
    let name = binding["roleRef"]["name"].as_str()?.to_owned();
    match (binding["roleRef"]["kind"].as_str()?, namespace) {
        ("ClusterRole", _) => Some(RoleRef::ClusterRole { name }),
        ("Role", Some(namespace)) => Some(RoleRef::Role { namespace: namespace.to_owned(), name }),
        _ => None,
    }
}

fn binding(namespace: Option<&str>, name: &str, object: &Value) -> Option<Binding> {
    let subjects = object["subjects"].as_array().into_iter().flatten().filter_map(|subject| {
        let name = subject["name"].as_str()?;
        match subject["kind"].as_str()? {
            "User" => Some(Subject::User(name.to_owned())),
            "Group" => Some(Subject::Group(name.to_owned())),
            "ServiceAccount" => {
                let namespace = subject["namespace"].as_str()?;
                Some(Subject::User(format!("system:serviceaccount:{namespace}:{name}")))
            }
            _ => None,
        }
    });
    let role = role_ref(namespace, object)?;
    Some(Binding {
        namespace: namespace.map(str::to_owned),
        role,
        subjects: subjects.collect(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cluster(name: &str) -> RoleRef {
        RoleRef::ClusterRole { name: name.to_owned() }
    }

    #[test]
    fn roles_are_made_of_others() {
        let role = |verb: &str, label: &str, selects: &str| {
            let selectors = if selects.is_empty() {
                json!(null)
            } else {
                json!({"clusterRoleSelectors": [{"matchLabels": {selects: "true"}}]})
            };
            json!({"metadata": {"labels": {label: "true"}}, "aggregationRule": selectors,
                   "rules": [{"verbs": [verb], "apiGroups": [""], "resources": ["things"]}]})
        };
        let mut policy = Policy::default();
        let verbs = |policy: &Policy, name: &str| -> Vec<String> {
            let mut verbs: Vec<String> = policy
                .role(&cluster(name))
                .unwrap_or_default()
                .iter()
                .flat_map(|rule| rule.verbs.clone())
                .collect();
            verbs.sort();
            verbs
        };
        policy.set_role(cluster("admin"), Some(&role("own", "x", "to-admin")));
        policy.set_role(cluster("edit"), Some(&role("edit", "to-admin", "to-edit")));
        assert_eq!(verbs(&policy, "admin"), ["edit", "own"]);
        policy.set_role(cluster("boats"), Some(&role("sail", "to-edit", "")));
        assert_eq!(verbs(&policy, "admin"), ["edit", "own", "sail"], "through others");
        assert_eq!(verbs(&policy, "boats"), ["sail"]);
        policy.set_role(cluster("circle"), Some(&role("turn", "to-edit", "to-admin")));
        assert_eq!(verbs(&policy, "circle"), ["edit", "sail", "turn"], "a circle ends");
        policy.set_role(cluster("boats"), None);
        policy.set_role(cluster("circle"), None);
        assert_eq!(verbs(&policy, "admin"), ["edit", "own"]);
        assert_eq!(policy.role(&cluster("boats")), None);
        let none = json!({"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "to-admin", "operator": "Sometimes"}]}]}});
        policy.set_role(cluster("none"), Some(&none));
        assert_eq!(verbs(&policy, "none"), Vec::<String>::new());
    }
}
