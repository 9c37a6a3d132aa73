//! The judge.

use std::collections::HashMap;
use std::fmt;

use super::log::Log;
use super::{Call, Entry, Heard, History, Item, Reply, Rest, View};

/// Something that no store does that keeps its promises.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the parts say what they are")]
pub enum Violation {
    /// A revision was given, and nothing has it: a write was lost, or a number left out.
    Gap { missing: u64, newest: u64 },
    /// Two things happened at one revision.
    TwoAccounts { revision: u64, one: String, other: String },
    /// The writes of a transaction do not have consecutive revisions.
    NotConsecutive { revisions: Vec<u64> },
    /// A part of a transaction happened, and a part did not.
    HalfCommitted { first: u64, missing: u64 },
    /// Something happened that nobody asked for.
    Phantom { revision: u64, effect: String },
    /// A write happened although its condition did not hold.
    LostUpdate { revision: u64, key: String, expected: Option<u64>, found: Option<u64> },
    /// A write got a revision that is not above what was known before it was asked for.
    OutOfOrder { entry: usize, revision: u64, known: u64 },
    /// Something was seen before it was asked for.
    TooEarly { entry: usize, revision: u64 },
    /// What was read had been replaced before it was asked for.
    StaleRead { entry: usize, key: String, read: Option<u64>, known: u64 },
    /// What was read was never there.
    WrongRead { entry: usize, found: Item },
    /// A list is older than what was known before.
    StaleList { entry: usize, revision: u64, known: u64 },
    /// A revision in the middle of a transaction was shown as the newest.
    HalfTransaction { entry: usize, revision: u64 },
    /// A list is not what was there at its revision.
    TornList { entry: usize, revision: u64, detail: String },
    /// A watch was told something twice, or something old.
    Repeated { entry: usize, revision: u64, position: u64 },
    /// A watch was not told something.
    Missed { entry: usize, missed: u64, told: u64 },
    /// A watch was told something else than what happened, or something that is not for it.
    WrongEvent { entry: usize, told: Box<Heard>, expected: Option<Box<Heard>> },
    /// A watch never told something.
    Stalled { entry: usize, watch: u64, position: u64, missed: u64 },
    /// A list is of another revision than the one that was asked for.
    OtherRevision { entry: usize, asked: u64, revision: u64 },
    /// A write was refused although its conditions held, or because of something that it does not touch.
    WrongConflict { entry: usize, key: String, expected: Option<u64>, found: Option<u64> },
    /// History that was compacted was handed out.
    BelowHorizon { entry: usize, asked: u64, horizon: u64 },
    /// A revision that was there was said not to be.
    WrongTooNew { entry: usize, asked: u64, current: u64, known: u64 },
    /// A number of objects that was never there.
    WrongCount { entry: usize, counted: u64, known: u64 },
    /// The store could not do something, and nothing had been announced because of which it could not.
    Failed { entry: usize, what: String },
    /// History that nobody had compacted was said to be gone.
    WrongExpiry { entry: usize, position: u64, horizon: u64 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What a history without violations held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Revisions in the log.
    pub revisions: u64,
    /// Commits that were acknowledged.
    pub commits: usize,
    /// Commits of which nobody was told the outcome.
    pub unknown: usize,
    /// Gets and conflicts that were compared.
    pub reads: usize,
    /// Lists that were compared.
    pub lists: usize,
    /// Events that were compared.
    pub events: usize,
    /// Bookmarks that were compared.
    pub bookmarks: usize,
    /// Counts that were compared.
    pub counts: usize,
    /// Watches of revisions that were not there yet.
    pub too_new: usize,
    /// Lists and watches that were refused or cut off because history had been compacted.
    pub expired: usize,
    /// Kills.
    pub kills: usize,
}

/// Judges a history; all that is wrong with it, or what it held.
pub fn check(history: &History) -> Result<Summary, Vec<Violation>> {
    let mut violations = Vec::new();
    let log = Log::build(history, &mut violations);
    let Some(log) = log.filter(|_| violations.is_empty()) else { return Err(violations) };
    let mut judge = Judge {
        summary: Summary { revisions: log.newest(), ..Summary::default() },
        log: &log,
        violations,
        known: 0,
        compacted: 0,
        horizon: 0,
        calls: HashMap::new(),
        watches: HashMap::new(),
        is_troubled: false,
    };
    for (at, entry) in history.entries.iter().enumerate() {
        judge.entry(at, entry);
    }
    judge.summary.unknown += judge.calls.values().filter(|open| matches!(open.call, Call::Commit(_))).count();
    if judge.violations.is_empty() { Ok(judge.summary) } else { Err(judge.violations) }
}

struct Judge<'h> {
    log: &'h Log,
    summary: Summary,
    violations: Vec<Violation>,
    /// The newest revision that somebody has been shown so far: whoever asks from now on sees it.
    known: u64,
    /// The newest revision up to which somebody asked to compact.
    compacted: u64,
    /// The newest horizon that somebody was told.
    horizon: u64,
    calls: HashMap<u64, Open<'h>>,
    watches: HashMap<u64, Watching<'h>>,
    /// Whether the store may fail.
    is_troubled: bool,
}

struct Open<'h> {
    call: &'h Call,
    /// What was known when it was asked.
    known: u64,
    /// The horizon that was known when it was asked.
    horizon: u64,
}

struct Watching<'h> {
    view: &'h View,
    position: u64,
}

impl<'h> Judge<'h> {
    fn entry(&mut self, at: usize, entry: &'h Entry) {
        match entry {
            Entry::Call { id, call } => {
                if let Call::Compact(up_to) = call {
                    self.compacted = self.compacted.max(*up_to);
                }
                self.calls.insert(*id, Open { call, known: self.known, horizon: self.horizon });
            }
            Entry::Return { id, reply } => {
                if let Some(open) = self.calls.remove(id) {
                    self.returned(at, &open, reply);
                }
            }
            Entry::Open { watch, after, filter } => {
                self.watches.insert(*watch, Watching { view: filter, position: *after });
            }
            Entry::Heard { watch, signal } => self.heard(at, *watch, signal),
            Entry::Stalled { watch } => self.stalled(at, *watch),
            Entry::Trouble => self.is_troubled = true,
            Entry::Killed => self.summary.kills += 1,
        }
    }

    fn returned(&mut self, at: usize, open: &Open<'_>, reply: &Reply) {
        match (open.call, reply) {
            (Call::Commit(_), Reply::Committed(revisions)) => {
                self.summary.commits += 1;
                if let Some(first) = revisions.first().filter(|first| **first <= open.known) {
                    self.violations.push(Violation::OutOfOrder {
                        entry: at,
                        revision: *first,
                        known: open.known,
                    });
                }
                if let Some(last) = revisions.last() {
                    self.shown(at, *last);
                }
            }
            (Call::Commit(_), Reply::Unknown) => self.summary.unknown += 1,
            (Call::Commit(puts), Reply::Conflict { key, found }) => {
                let put = puts.iter().find(|put| put.key == *key);
                if put.is_none_or(|put| put.expected == *found) {
                    let (key, expected) = (key.clone(), put.and_then(|put| put.expected));
                    self.violations.push(Violation::WrongConflict {
                        entry: at,
                        key,
                        expected,
                        found: *found,
                    });
                    return;
                }
                self.read(at, open, key, *found);
            }
            (Call::Get(key), Reply::Found(found)) => {
                if let Some(item) = found
                    && !self.was_there(item)
                {
                    self.violations.push(Violation::WrongRead { entry: at, found: item.clone() });
                    return;
                }
                self.read(at, open, key, found.as_ref().map(|item| item.revision));
            }
            (Call::List { filter, at: asked, after }, Reply::Listed { revision, items, rest }) => {
                self.listed(at, open, *asked, *revision);
                self.compare(
                    at,
                    &Listing {
                        view: filter,
                        after: after.as_deref(),
                        revision: *revision,
                        items,
                        rest: *rest,
                    },
                );
            }
            (Call::Current, Reply::Current(revision)) => self.listed(at, open, None, *revision),
            (Call::Compact(_), Reply::Compacted(horizon)) => self.horizon = self.horizon.max(*horizon),
            (Call::Watch { after: None }, Reply::Watching { after }) => self.listed(at, open, None, *after),
            (Call::Watch { after: Some(asked) }, Reply::Watching { after }) => {
                self.listed(at, open, Some(*asked), *after);
            }
            (Call::Count(view), Reply::Counted(counted)) => self.counted(at, open, view, *counted),
            (
                Call::Watch { after: Some(asked) }
                | Call::List { at: Some(asked), .. }
                | Call::Compact(asked),
                Reply::TooNew { current },
            ) => self.too_new(at, open, *asked, *current),
            (_, Reply::TooNew { current }) => self.too_new(at, open, 0, *current),
            (_, Reply::Failed(what)) => self.failed(at, what),
            (
                Call::Watch { after: Some(asked) } | Call::List { at: Some(asked), .. },
                Reply::Expired { horizon },
            ) => {
                self.expired(at, *asked, *horizon);
            }
            // What is asked for as of now is there.
            (_, Reply::Expired { horizon }) => self.expired(at, u64::MAX, *horizon),
            (
                _,
                Reply::Committed(_)
                | Reply::Conflict { .. }
                | Reply::Found(_)
                | Reply::Listed { .. }
                | Reply::Current(_)
                | Reply::Compacted(_)
                | Reply::Counted(_)
                | Reply::Watching { .. }
                | Reply::Refused
                | Reply::Unknown,
            ) => {}
        }
    }

    /// Somebody was shown a revision: it had been asked for, and all of its transaction is visible from now on.
    fn shown(&mut self, at: usize, revision: u64) {
        if self.log.asked(revision) > at {
            self.violations.push(Violation::TooEarly { entry: at, revision });
        }
        self.known = self.known.max(self.log.whole(revision));
    }

    /// What is said not to be there yet was not known; the newest that is named instead is not older than what was.
    fn too_new(&mut self, at: usize, open: &Open<'_>, asked: u64, current: u64) {
        self.summary.too_new += 1;
        if asked <= current || current < open.known {
            let known = open.known;
            self.violations.push(Violation::WrongTooNew { entry: at, asked, current, known });
        }
        self.shown(at, current);
    }

    /// So many objects were there at some moment between call and return.
    fn counted(&mut self, at: usize, open: &Open<'_>, view: &View, counted: u64) {
        self.summary.counts += 1;
        let moments = (open.known..=self.log.newest())
            .filter(|revision| self.log.whole(*revision) == *revision && self.log.asked(*revision) <= at);
        let mut fitting =
            moments.filter(|revision| self.log.objects_at(*revision, view).len() as u64 == counted);
        if let Some(revision) = fitting.next() {
            self.shown(at, revision);
        } else {
            let known = open.known;
            self.violations.push(Violation::WrongCount { entry: at, counted, known });
        }
    }

    fn failed(&mut self, at: usize, what: &str) {
        if !self.is_troubled {
            self.violations.push(Violation::Failed { entry: at, what: what.to_owned() });
        }
    }

    fn was_there(&self, item: &Item) -> bool {
        self.log.step(item.revision).is_some_and(|step| step.after.as_ref() == Some(item))
    }

    /// A key was seen at a version, or absent. There must be a moment for it that is not before what was known.
    fn read(&mut self, at: usize, open: &Open<'_>, key: &str, found: Option<u64>) {
        self.summary.reads += 1;
        let none = Vec::new();
        let versions = self.log.versions.get(key).unwrap_or(&none);
        // A key is as it was left by its last change, from that revision on up to its next one.
        let mut moments = Vec::new();
        if found.is_none() {
            moments.push((0, versions.first().map(|next| next.revision)));
        }
        for (index, version) in versions.iter().enumerate() {
            let revision = version.item.as_ref().map(|item| item.revision);
            if revision == found {
                moments.push((version.revision, versions.get(index + 1).map(|next| next.revision)));
            }
        }
        let possible = moments.iter().find(|(_, next)| next.is_none_or(|next| next > open.known));
        match possible {
            Some((from, _)) => self.shown(at, (*from).max(open.known)),
            None => self.violations.push(Violation::StaleRead {
                entry: at,
                key: key.to_owned(),
                read: found,
                known: open.known,
            }),
        }
    }

    fn listed(&mut self, at: usize, open: &Open<'_>, asked: Option<u64>, revision: u64) {
        if let Some(asked) = asked {
            self.above_horizon(at, open, asked);
            if asked != revision {
                self.violations.push(Violation::OtherRevision { entry: at, asked, revision });
            }
        } else {
            if revision < open.known {
                self.violations.push(Violation::StaleList { entry: at, revision, known: open.known });
            }
            if self.log.whole(revision) != revision {
                self.violations.push(Violation::HalfTransaction { entry: at, revision });
            }
        }
        self.shown(at, revision);
    }

    /// Nobody is given history that was known to be forgotten when it was asked for.
    fn above_horizon(&mut self, at: usize, open: &Open<'_>, asked: u64) {
        if asked < open.horizon {
            self.violations.push(Violation::BelowHorizon { entry: at, asked, horizon: open.horizon });
        }
    }

    fn compare(&mut self, at: usize, listing: &Listing<'_>) {
        self.summary.lists += 1;
        let mut expected = self.log.objects_at(listing.revision, listing.view);
        expected.retain(|item| listing.after.is_none_or(|after| item.key.as_str() > after));
        let is_right = match listing.rest {
            Rest::Nothing => expected == listing.items,
            Rest::More => {
                expected.len() > listing.items.len() && expected[..listing.items.len()] == *listing.items
            }
        };
        if !is_right {
            let detail = format!("{:?} instead of {:?}", brief(listing.items), brief(&expected));
            self.violations.push(Violation::TornList { entry: at, revision: listing.revision, detail });
        }
    }

    fn heard(&mut self, at: usize, watch: u64, signal: &Heard) {
        let Some(watching) = self.watches.get(&watch) else { return };
        let (view, position) = (watching.view, watching.position);
        let told = match signal {
            Heard::Expired { horizon } => return self.expired(at, position, *horizon),
            Heard::Failed(what) => return self.failed(at, what),
            Heard::Bookmark(revision) => {
                self.summary.bookmarks += 1;
                if *revision < position {
                    self.violations.push(Violation::Repeated { entry: at, revision: *revision, position });
                }
                self.missed(at, view, position, revision + 1);
                *revision
            }
            Heard::Created { revision, .. }
            | Heard::Updated { revision, .. }
            | Heard::Deleted { revision, .. } => {
                self.summary.events += 1;
                if *revision <= position {
                    self.violations.push(Violation::Repeated { entry: at, revision: *revision, position });
                    return;
                }
                self.missed(at, view, position, *revision);
                let expected = self.log.through(view, *revision);
                if expected.as_ref() != Some(signal) {
                    self.violations.push(Violation::WrongEvent {
                        entry: at,
                        told: Box::new(signal.clone()),
                        expected: expected.map(Box::new),
                    });
                }
                *revision
            }
        };
        self.shown(at, told);
        if let Some(watching) = self.watches.get_mut(&watch) {
            watching.position = watching.position.max(told);
        }
    }

    /// Nothing between two positions was for this watcher.
    fn missed(&mut self, at: usize, view: &View, position: u64, told: u64) {
        let missed = (position + 1..told).find(|revision| self.log.through(view, *revision).is_some());
        if let Some(missed) = missed {
            self.violations.push(Violation::Missed { entry: at, missed, told });
        }
    }

    /// A watch that was waited for has told all that is for it.
    fn stalled(&mut self, at: usize, watch: u64) {
        let Some(Watching { view, position }) = self.watches.get(&watch) else { return };
        let mut rest = position + 1..=self.log.newest();
        if let Some(missed) = rest.find(|revision| self.log.through(view, *revision).is_some()) {
            let position = *position;
            self.violations.push(Violation::Stalled { entry: at, watch, position, missed });
        }
    }

    fn expired(&mut self, at: usize, position: u64, horizon: u64) {
        self.summary.expired += 1;
        if horizon > self.compacted || position >= horizon {
            self.violations.push(Violation::WrongExpiry { entry: at, position, horizon });
        }
    }
}

struct Listing<'l> {
    view: &'l View,
    after: Option<&'l str>,
    revision: u64,
    items: &'l [Item],
    rest: Rest,
}

fn brief(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| format!("{}@{}", item.key, item.revision)).collect()
}
