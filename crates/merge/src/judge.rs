//! Who decides: resolutions first, then the policy; and the record of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;

use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{Conflict, ConflictId, ConflictKind, Decider, Side, Subject};
use crate::error::{Error, Misfit};
use crate::names::{self, Aspect};
use crate::options::{Options, Policy, Resolution, Take};
use crate::{comments, files};

/// Decides conflicts and keeps them.
pub(crate) struct Judge<'a> {
    policy: Policy,
    resolutions: BTreeMap<&'a str, &'a Take>,
    /// The files that resolutions are about, as names spell them.
    files: HashSet<&'a str>,
    conflicts: Vec<Conflict>,
    /// Where conflicts stand among these, by their names.
    places: HashMap<String, usize>,
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

/// Who decides a conflict that no resolution is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The policy.
    Policy,
    /// Nobody: it is upstream's under every policy.
    Upstream,
    /// Nobody: it is local's under every policy.
    Local,
}

impl<'a> Judge<'a> {
    /// # Errors
    /// [`Error::Unfit`] and [`Error::TwoResolutions`].
    pub fn new(options: &'a Options) -> Result<Self, Error> {
        let mut resolutions: BTreeMap<&str, &Take> = BTreeMap::new();
        for Resolution { conflict, take } in &options.resolutions {
            if let Some(why) = misfit(conflict.as_str(), take) {
                return Err(Error::Unfit { conflict: conflict.clone(), why });
            }
            if resolutions.insert(conflict.as_str(), take).is_some_and(|other| other != take) {
                return Err(Error::TwoResolutions(conflict.clone()));
            }
        }
        let files = resolutions.keys().map(|id| names::file_of(id)).collect();
        let (policy, conflicts, places) = (options.policy, Vec::new(), HashMap::new());
        Ok(Self { policy, resolutions, files, conflicts, places })
    }

    /// One that decides alike and has recorded nothing.
    pub fn afresh(&self) -> Self {
        let (resolutions, files) = (self.resolutions.clone(), self.files.clone());
        let (conflicts, places) = (Vec::new(), HashMap::new());
        Self { policy: self.policy, resolutions, files, conflicts, places }
    }

    /// Whether there is any resolution.
    pub fn has_pins(&self) -> bool {
        !self.resolutions.is_empty()
    }

    /// What a resolution says about a place.
    pub fn pinned(&self, id: &str) -> Option<&'a Take> {
        self.resolutions.get(id).copied()
    }

    /// Whether a resolution is about something inside of a place.
    pub fn has_pins_below(&self, id: &str) -> bool {
        let behind = (Bound::Excluded(id), Bound::Unbounded);
        let mut from = self.resolutions.range::<str, _>(behind).map(|(name, _)| *name);
        from.by_ref()
            .take_while(|name| name.starts_with(id))
            .any(|name| name[id.len()..].starts_with(['.', '[', '#']))
    }

    /// Whether a resolution is about a file or something in it.
    pub fn has_about(&self, path: &SafePath) -> bool {
        self.has_pins() && self.files.contains(names::file(path).as_str())
    }

    /// Whether a resolution is about something inside of a file.
    pub fn has_about_inside(&self, path: &SafePath) -> bool {
        let begins = |begin: String| {
            let mut from = self.resolutions.range::<str, _>((Bound::Included(&*begin), Bound::Unbounded));
            from.next().is_some_and(|(id, _)| id.starts_with(&begin))
        };
        let file = names::file(path);
        self.has_about(path) && (begins(format!("{file}:")) || begins(format!("{file}#")))
    }

    /// Decides a conflict by resolution, else by the rule, and records it.
    pub fn decide(&mut self, case: Case, rule: Rule) -> Take {
        let by_rule = match (rule, self.policy) {
            (Rule::Upstream, _) | (Rule::Policy, Policy::UpstreamWins) => Take::Upstream,
            (Rule::Local, _) | (Rule::Policy, Policy::LocalWins | Policy::Fail) => Take::Local,
        };
        let (take, decided_by) = match self.pinned(&case.id) {
            Some(take) => (take.clone(), Decider::Resolution),
            None => (by_rule, Decider::Policy),
        };
        self.record(case, &take, decided_by);
        take
    }

    /// Records something of upstream's that has no place in the result: local's stays.
    ///
    /// # Errors
    /// A resolution that wants something else.
    pub fn left_out(&mut self, case: Case) -> Result<(), Error> {
        let decided_by = match self.pinned(&case.id) {
            Some(Take::Local) => Decider::Resolution,
            Some(Take::Upstream | Take::Original | Take::Value(_)) => return Err(no_place(case.id)),
            None => Decider::Policy,
        };
        self.record(case, &Take::Local, decided_by);
        Ok(())
    }

    /// Corrects what was recorded about a comment that could not be placed; tells whether there is a record.
    ///
    /// # Errors
    /// A resolution that wants something else.
    pub fn kept(&mut self, id: &str, comment: Option<&str>) -> Result<bool, Error> {
        let place = self.places.get(id);
        let Some(conflict) = place.and_then(|at| self.conflicts.get_mut(*at)) else { return Ok(false) };
        let chosen = if conflict.upstream.as_deref() == comment {
            Side::Upstream
        } else if conflict.original.as_deref() == comment && conflict.local.as_deref() != comment {
            Side::Original
        } else {
            Side::Local
        };
        if conflict.chosen != chosen {
            if conflict.decided_by == Decider::Resolution {
                return Err(no_place(id.to_owned()));
            }
            conflict.chosen = chosen;
        }
        Ok(true)
    }

    /// How many conflicts are recorded.
    pub fn recorded(&self) -> usize {
        self.conflicts.len()
    }

    /// Forgets what was recorded since there were so many conflicts.
    pub fn forget_since(&mut self, recorded: usize) {
        for conflict in self.conflicts.drain(recorded.min(self.conflicts.len())..) {
            self.places.remove(conflict.id.as_str());
        }
    }

    /// The conflicts, file by file; those of a file as they were recorded.
    pub fn into_conflicts(self) -> Vec<Conflict> {
        let mut conflicts = self.conflicts;
        conflicts.sort_by(|left, right| left.path.cmp(&right.path));
        conflicts
    }

    fn record(&mut self, case: Case, take: &Take, decided_by: Decider) {
        let chosen = match take {
            Take::Upstream => Side::Upstream,
            Take::Local => Side::Local,
            Take::Original => Side::Original,
            Take::Value(_) => Side::Value,
        };
        let Case { id, path, subject, field, kind, values } = case;
        let Values { original, upstream, local } = values;
        self.places.insert(id.clone(), self.conflicts.len());
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
    }
}

/// Why a value cannot be taken for a conflict of that name, whatever the packages are.
fn no_place(id: String) -> Error {
    Error::Unfit { conflict: ConflictId::new(id), why: Misfit::NoPlace }
}

fn misfit(id: &str, take: &Take) -> Option<Misfit> {
    let Take::Value(value) = take else { return None };
    let is_about = |aspect: Aspect| id.ends_with(&names::aspect("", aspect));
    if is_about(Aspect::Mode) && files::mode_of(value).is_none() {
        return Some(Misfit::Mode);
    }
    if is_about(Aspect::LineComment) && comments::as_comment(value).contains('\n') {
        return Some(Misfit::Lines);
    }
    (names::file_of(id) == id && id.ends_with('/')).then_some(Misfit::Package)
}
