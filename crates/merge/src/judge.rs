//! Who decides: resolutions first, then the policy; and the record of it.

use std::collections::HashMap;

use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{Conflict, ConflictId, ConflictKind, Decider, Side, Subject};
use crate::options::{Options, Policy, Take};

/// Decides conflicts and keeps them.
pub(crate) struct Judge<'a> {
    policy: Policy,
    resolutions: HashMap<&'a str, &'a Take>,
    pub conflicts: Vec<Conflict>,
}

/// A value on each side, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub original: Option<String>,
    pub upstream: Option<String>,
    pub local: Option<String>,
}

/// A conflict before anyone decided it.
pub(crate) struct Case {
    pub id: String,
    pub path: SafePath,
    pub subject: Subject,
    pub field: Path,
    pub kind: ConflictKind,
    pub values: Values,
}

impl<'a> Judge<'a> {
    pub fn new(options: &'a Options) -> Self {
        let resolutions = options.resolutions.iter();
        Self {
            policy: options.policy,
            resolutions: resolutions.map(|one| (one.conflict.as_str(), &one.take)).collect(),
            conflicts: Vec::new(),
        }
    }

    /// What a resolution says about a place.
    pub fn pinned(&self, id: &str) -> Option<&'a Take> {
        self.resolutions.get(id).copied()
    }

    /// Whether a resolution is about a file or something in it.
    pub fn has_about(&self, path: &SafePath) -> bool {
        let path = path.as_str();
        self.resolutions.keys().any(|id| {
            id.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '#']))
        })
    }

    /// Decides a conflict by resolution, else by policy.
    pub fn by_policy(&mut self, case: Case) -> Take {
        let side = match self.policy {
            Policy::UpstreamWins => Side::Upstream,
            Policy::LocalWins | Policy::Fail => Side::Local,
        };
        self.decide(case, side)
    }

    /// Decides a conflict by resolution; without one, local keeps what it has.
    pub fn keep_local(&mut self, case: Case) -> Take {
        self.decide(case, Side::Local)
    }

    fn decide(&mut self, case: Case, default: Side) -> Take {
        let pinned = self.pinned(&case.id);
        let (take, decided_by) = match (pinned, default) {
            (Some(take), _) => (take.clone(), Decider::Resolution),
            (None, Side::Upstream) => (Take::Upstream, Decider::Policy),
            (None, Side::Local | Side::Original | Side::Value) => (Take::Local, Decider::Policy),
        };
        let chosen = match &take {
            Take::Upstream => Side::Upstream,
            Take::Local => Side::Local,
            Take::Original => Side::Original,
            Take::Value(_) => Side::Value,
        };
        let Case { id, path, subject, field, kind, values } = case;
        let Values { original, upstream, local } = values;
        let id = ConflictId::new(id);
        self.conflicts.push(Conflict {
            id,
            path,
            subject,
            field,
            kind,
            original,
            upstream,
            local,
            chosen,
            decided_by,
        });
        take
    }
}
