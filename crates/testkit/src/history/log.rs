//! The one log that a history tells of.

use std::collections::{BTreeMap, HashMap};

use super::check::Violation;
use super::{Call, Content, Entry, Heard, History, Item, Objects, Put, Reply, View};

/// What every revision did, and where in the history it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// By revision, from 1, without gaps.
    pub(crate) steps: Vec<Step>,
    /// The versions of each key, with none where it was deleted.
    pub(crate) versions: HashMap<String, Vec<Version>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) before: Option<Item>,
    pub(crate) after: Option<Item>,
    /// The last revision of the transaction that it belongs to.
    pub(crate) last: u64,
    /// The entry behind which all revisions up to this one had been asked for.
    pub(crate) asked: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) revision: u64,
    pub(crate) item: Option<Item>,
}

/// What a revision did to a key, according to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Effect {
    key: String,
    content: Option<Content>,
}

/// A commit, and what is known of it.
struct Commit<'h> {
    at: usize,
    puts: &'h [Put],
    /// Its revisions, if it was acknowledged.
    revisions: Option<&'h [u64]>,
    /// Whether it certainly did nothing.
    is_refused: bool,
}

impl Log {
    /// Puts the log together. What contradicts itself is added to the violations; `None` if nothing can be said beyond that.
    pub(crate) fn build(history: &History, violations: &mut Vec<Violation>) -> Option<Self> {
        let commits = commits(history);
        let mut effects: BTreeMap<u64, Effect> = BTreeMap::new();
        heard(history, &mut effects, violations);
        acknowledged(&commits, &mut effects, violations);
        if !violations.is_empty() {
            return None;
        }
        let newest = effects.keys().next_back().copied().unwrap_or(0);
        let newest = newest.max(seen(history));
        if let Some(missing) = (1..=newest).find(|revision| !effects.contains_key(revision)) {
            violations.push(Violation::Gap { missing, newest });
            return None;
        }
        let spans = explain(&commits, &effects, violations);
        if !violations.is_empty() {
            return None;
        }
        Some(Self::replay(&effects, &spans, violations))
    }

    fn replay(
        effects: &BTreeMap<u64, Effect>,
        spans: &BTreeMap<u64, Span>,
        violations: &mut Vec<Violation>,
    ) -> Self {
        let mut log = Self::default();
        let mut objects = Objects::new();
        let mut asked = 0;
        for (&revision, effect) in effects {
            let span = &spans[&revision];
            asked = asked.max(span.at);
            let before = objects.get(&effect.key).cloned();
            let found = before.as_ref().map(|item| item.revision);
            if found != span.expected {
                let (key, expected) = (effect.key.clone(), span.expected);
                violations.push(Violation::LostUpdate { revision, key, expected, found });
            }
            let after = effect.content.as_ref().map(|content| Item {
                key: effect.key.clone(),
                created: before.as_ref().map_or(revision, |before| before.created),
                revision,
                content: content.clone(),
            });
            match &after {
                Some(item) => objects.insert(effect.key.clone(), item.clone()),
                None => objects.remove(&effect.key),
            };
            log.versions
                .entry(effect.key.clone())
                .or_default()
                .push(Version { revision, item: after.clone() });
            log.steps.push(Step { before, after, last: span.last, asked });
        }
        log
    }

    pub(crate) fn newest(&self) -> u64 {
        self.steps.len() as u64
    }

    pub(crate) fn step(&self, revision: u64) -> Option<&Step> {
        let at = usize::try_from(revision.checked_sub(1)?).ok()?;
        self.steps.get(at)
    }

    /// The last revision of the transaction that a revision belongs to: they become visible together.
    pub(crate) fn whole(&self, revision: u64) -> u64 {
        self.step(revision).map_or(revision, |step| step.last)
    }

    /// The entry behind which a revision can have been visible.
    pub(crate) fn asked(&self, revision: u64) -> usize {
        self.step(revision).map_or(0, |step| step.asked)
    }

    /// What a watcher with this view hears of a revision.
    pub(crate) fn through(&self, view: &View, revision: u64) -> Option<Heard> {
        let step = self.step(revision)?;
        let seen = |item: &Option<Item>| item.clone().filter(|item| view.sees(item));
        match (seen(&step.before), seen(&step.after)) {
            (None, None) => None,
            (None, Some(now)) => Some(Heard::Created { revision, now }),
            (Some(before), Some(now)) => Some(Heard::Updated { revision, before, now }),
            (Some(last), None) => Some(Heard::Deleted { revision, last }),
        }
    }

    /// What was there at a revision, in the order of the keys.
    pub(crate) fn objects_at(&self, revision: u64, view: &View) -> Vec<Item> {
        let mut items: Vec<Item> = self
            .versions
            .values()
            .filter_map(|versions| {
                let behind = versions.partition_point(|version| version.revision <= revision);
                versions[..behind].last()?.item.clone()
            })
            .filter(|item| view.sees(item))
            .collect();
        items.sort_by(|left, right| left.key.cmp(&right.key));
        items
    }
}

fn commits(history: &History) -> HashMap<u64, Commit<'_>> {
    let mut commits = HashMap::new();
    for (at, entry) in history.entries.iter().enumerate() {
        match entry {
            Entry::Call { id, call: Call::Commit(puts) } => {
                commits.insert(*id, Commit { at, puts, revisions: None, is_refused: false });
            }
            Entry::Return { id, reply } => {
                let Some(commit) = commits.get_mut(id) else { continue };
                match reply {
                    Reply::Committed(revisions) => commit.revisions = Some(revisions),
                    Reply::Unknown => {}
                    Reply::Conflict { .. }
                    | Reply::Refused
                    | Reply::Failed(_)
                    | Reply::TooNew { .. }
                    | Reply::Counted(_)
                    | Reply::Found(_)
                    | Reply::Listed { .. }
                    | Reply::Current(_)
                    | Reply::Compacted(_)
                    | Reply::Watching { .. }
                    | Reply::Expired { .. } => commit.is_refused = true,
                }
            }
            Entry::Call { .. }
            | Entry::Open { .. }
            | Entry::Heard { .. }
            | Entry::Stalled { .. }
            | Entry::Trouble
            | Entry::Killed => {}
        }
    }
    commits
}

/// What watchers without a label were told: for them a deletion is one.
fn heard(history: &History, effects: &mut BTreeMap<u64, Effect>, violations: &mut Vec<Violation>) {
    let mut plain = HashMap::new();
    for entry in &history.entries {
        match entry {
            Entry::Open { watch, filter, .. } => drop(plain.insert(*watch, filter.label.is_none())),
            Entry::Heard { watch, signal } if plain.get(watch) == Some(&true) => {
                let effect = match signal {
                    Heard::Created { now, .. } | Heard::Updated { now, .. } => {
                        Effect { key: now.key.clone(), content: Some(now.content.clone()) }
                    }
                    Heard::Deleted { last, .. } => Effect { key: last.key.clone(), content: None },
                    Heard::Bookmark(_) | Heard::Expired { .. } | Heard::Failed(_) => continue,
                };
                let revision = signal.revision().expect("bookmarks and ends were left out");
                claim(effects, revision, effect, violations);
            }
            Entry::Heard { .. }
            | Entry::Call { .. }
            | Entry::Return { .. }
            | Entry::Stalled { .. }
            | Entry::Trouble
            | Entry::Killed => {}
        }
    }
}

fn acknowledged(
    commits: &HashMap<u64, Commit<'_>>,
    effects: &mut BTreeMap<u64, Effect>,
    violations: &mut Vec<Violation>,
) {
    for commit in commits.values() {
        let Some(revisions) = commit.revisions else { continue };
        let consecutive = revisions.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        if revisions.len() != commit.puts.len() || !consecutive {
            violations.push(Violation::NotConsecutive { revisions: revisions.to_vec() });
            continue;
        }
        for (put, revision) in commit.puts.iter().zip(revisions) {
            let effect = Effect { key: put.key.clone(), content: put.content.clone() };
            claim(effects, *revision, effect, violations);
        }
    }
}

/// Two accounts of one revision must be the same.
fn claim(
    effects: &mut BTreeMap<u64, Effect>,
    revision: u64,
    effect: Effect,
    violations: &mut Vec<Violation>,
) {
    match effects.get(&revision) {
        None => drop(effects.insert(revision, effect)),
        Some(known) if *known == effect => {}
        Some(known) => violations.push(Violation::TwoAccounts {
            revision,
            one: format!("{known:?}"),
            other: format!("{effect:?}"),
        }),
    }
}

/// The newest revision that anybody was told of in any way.
fn seen(history: &History) -> u64 {
    let of = |entry: &Entry| match entry {
        Entry::Return { reply: Reply::Committed(revisions), .. } => revisions.last().copied(),
        Entry::Return {
            reply:
                Reply::Listed { revision, .. }
                | Reply::Current(revision)
                | Reply::TooNew { current: revision }
                | Reply::Watching { after: revision },
            ..
        }
        | Entry::Heard { signal: Heard::Bookmark(revision), .. } => Some(*revision),
        Entry::Heard { signal, .. } => signal.revision(),
        Entry::Return { .. }
        | Entry::Call { .. }
        | Entry::Open { .. }
        | Entry::Stalled { .. }
        | Entry::Trouble
        | Entry::Killed => None,
    };
    history.entries.iter().filter_map(of).max().unwrap_or(0)
}

/// The transaction of a revision.
struct Span {
    last: u64,
    at: usize,
    expected: Option<u64>,
}

/// Finds the call of every revision.
fn explain(
    commits: &HashMap<u64, Commit<'_>>,
    effects: &BTreeMap<u64, Effect>,
    violations: &mut Vec<Violation>,
) -> BTreeMap<u64, Span> {
    let mut spans = BTreeMap::new();
    for commit in commits.values() {
        if let Some(first) = commit.revisions.and_then(|revisions| revisions.first()) {
            commit.explain(*first, effects, &mut spans, violations);
        }
    }
    // What was acknowledged explains first what it can. Deletions look alike: among those of unknown outcome the one that was asked for first
    // counts, because it can have happened at any time from then on.
    let mut unknown: Vec<_> =
        commits.values().filter(|commit| commit.revisions.is_none() && !commit.is_refused).collect();
    unknown.sort_by_key(|commit| commit.at);
    for commit in unknown {
        if let Some(first) = commit.unknown_start(effects, &spans) {
            commit.explain(first, effects, &mut spans, violations);
        }
    }
    for (revision, effect) in effects {
        if !spans.contains_key(revision) {
            violations.push(Violation::Phantom { revision: *revision, effect: format!("{effect:?}") });
        }
    }
    spans
}

impl Commit<'_> {
    fn effects(&self) -> impl Iterator<Item = Effect> {
        self.puts.iter().map(|put| Effect { key: put.key.clone(), content: put.content.clone() })
    }

    fn explain(
        &self,
        first: u64,
        effects: &BTreeMap<u64, Effect>,
        spans: &mut BTreeMap<u64, Span>,
        violations: &mut Vec<Violation>,
    ) {
        let last = first + self.puts.len() as u64 - 1;
        for ((effect, put), revision) in self.effects().zip(self.puts).zip(first..) {
            if effects.get(&revision) != Some(&effect) {
                violations.push(Violation::HalfCommitted { first, missing: revision });
                return;
            }
            spans.insert(revision, Span { last, at: self.at, expected: put.expected });
        }
    }

    /// Where a commit of unknown outcome took effect, if it did: by its values, which are unlike any others, or, if it only deletes, where
    /// nobody else deleted what it expected.
    fn unknown_start(&self, effects: &BTreeMap<u64, Effect>, spans: &BTreeMap<u64, Span>) -> Option<u64> {
        let valued = self.puts.iter().position(|put| put.content.is_some());
        if let Some(at) = valued {
            let content = &self.puts[at].content;
            let found = effects.iter().find(|(_, effect)| effect.content == *content);
            return found.and_then(|(revision, _)| revision.checked_sub(at as u64));
        }
        let put = self.puts.first()?;
        let (first, _) = effects.range(put.expected? + 1..).find(|(_, effect)| effect.key == put.key)?;
        let is_free = |revision: u64| !spans.contains_key(&revision);
        let fits =
            self.effects().zip(*first..).all(|(effect, at)| effects.get(&at) == Some(&effect) && is_free(at));
        fits.then_some(*first)
    }
}
