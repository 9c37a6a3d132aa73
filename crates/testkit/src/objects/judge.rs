//! The judge.

use std::collections::{BTreeMap, BTreeSet};

use super::{Answered, Asked, Became, Call, Event, History, State};

/// What was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Writes in the log.
    pub writes: usize,
    /// Of those, the ones that calls asked for; the others followed from them.
    pub asked_for: usize,
    /// Calls that were refused because somebody else was faster.
    pub late: usize,
    /// Reads and lists.
    pub reads: usize,
}

/// Finds what no server that keeps its promises can have done, in words.
///
/// # Errors
/// All that was found.
pub fn check(history: &History) -> Result<Summary, Vec<String>> {
    let mut found = Vec::new();
    let log = Log::of(history, &mut found);
    let windows = Windows::of(&history.calls, &log);
    let mut judged = Judged { log: &log, claimed: BTreeMap::new(), summary: Summary::default(), found };
    for call in &history.calls {
        judged.call(call, windows.of_call(call));
    }
    judged.marks(&history.calls);
    judged.summary.writes = log.events.len();
    judged.summary.asked_for = judged.claimed.len();
    if judged.found.is_empty() { Ok(judged.summary) } else { Err(judged.found) }
}

/// What watchers heard.
struct Log<'a> {
    events: BTreeMap<u64, &'a Event>,
    /// By object: when it became what; `None` where it is gone.
    objects: BTreeMap<&'a str, BTreeMap<u64, Option<&'a State>>>,
}

impl<'a> Log<'a> {
    fn of(history: &'a History, found: &mut Vec<String>) -> Self {
        let mut log = Self { events: BTreeMap::new(), objects: BTreeMap::new() };
        let Some((first, others)) = history.watchers.split_first() else {
            found.push("nobody watched".to_owned());
            return log;
        };
        for (number, other) in others.iter().enumerate() {
            if other != first {
                let at = first.iter().zip(other).position(|(one, two)| one != two);
                let at = at.unwrap_or_else(|| first.len().min(other.len()));
                found.push(format!(
                    "watcher {} and the first one part at event {at}: {:?} and {:?}",
                    number + 1,
                    first.get(at).map(|event| (event.version, &event.object, event.became)),
                    other.get(at).map(|event| (event.version, &event.object, event.became)),
                ));
            }
        }
        let mut last = 0;
        for event in first {
            if event.version <= last {
                found.push(format!("{} was heard behind {last}", event.version));
            }
            last = last.max(event.version);
            let states = log.objects.entry(&event.object).or_default();
            let was_there = states.values().next_back().is_some_and(Option::is_some);
            if was_there != (event.became != Became::Added) {
                found.push(format!(
                    "{} of \"{}\" at {}, which was {}there",
                    match event.became {
                        Became::Added => "addition",
                        Became::Modified => "change",
                        Became::Deleted => "deletion",
                    },
                    event.object,
                    event.version,
                    if was_there { "" } else { "not " },
                ));
            }
            states.insert(event.version, (event.became != Became::Deleted).then_some(&event.state));
            log.events.insert(event.version, event);
        }
        log
    }

    /// How an object was at a number: its version and itself.
    fn at(&self, object: &str, number: u64) -> Option<(u64, &'a State)> {
        let (version, state) = self.objects.get(object)?.range(..=number).next_back()?;
        state.map(|state| (*version, state))
    }

    /// Whether there is a number from one to another at which an object was so.
    fn was(&self, object: &str, (from, to): (u64, u64), so: impl Fn(Option<(u64, &State)>) -> bool) -> bool {
        let Some(states) = self.objects.get(object) else { return so(None) };
        // Where no moment is left, the last that was known is asked.
        let to = to.max(from.saturating_add(1));
        let inside = states.range((std::ops::Bound::Excluded(from), std::ops::Bound::Included(to)));
        so(self.at(object, from))
            || inside.into_iter().any(|(version, state)| so(state.map(|state| (*version, state))))
    }
}

/// Between which numbers of the log calls must have happened.
struct Windows {
    /// By the time at which calls ended: the highest number that was known by then.
    known: Vec<(u64, u64)>,
    /// By the time at which calls began: the lowest number that was given to one that began then or later.
    given: Vec<(u64, u64)>,
}

impl Windows {
    fn of(calls: &[Call], log: &Log<'_>) -> Self {
        let first = Self::with(calls, &[], &[]);
        // Answers to deletions have no version. It is not below that of the first end that they can have been; where there is one only, it is that.
        let (mut known, mut given) = (Vec::new(), Vec::new());
        for call in calls {
            let (Asked::Delete { object }, Answered::Gone) = (&call.asked, &call.answered) else { continue };
            let Some(states) = log.objects.get(object.as_str()) else { continue };
            let (from, to) = first.of_call(call);
            let inside =
                states.range((std::ops::Bound::Excluded(from), std::ops::Bound::Included(to.max(from + 1))));
            let ends: Vec<u64> =
                inside.filter(|(_, state)| state.is_none()).map(|(version, _)| *version).collect();
            known.extend(ends.first().map(|version| (call.ended, *version)));
            given.extend(ends.first().filter(|_| ends.len() == 1).map(|version| (call.began, *version)));
        }
        Self::with(calls, &known, &given)
    }

    fn with(calls: &[Call], known: &[(u64, u64)], given: &[(u64, u64)]) -> Self {
        let version = |call: &Call| match &call.answered {
            Answered::Done { version, .. }
            | Answered::Seen { version, .. }
            | Answered::Listed { version, .. } => Some(*version),
            Answered::Gone
            | Answered::Missing
            | Answered::Exists
            | Answered::Modified
            | Answered::Refused
            | Answered::Unknown => None,
        };
        let found = calls.iter().filter_map(|call| Some((call.ended, version(call)?)));
        let mut known: Vec<(u64, u64)> = found.chain(known.iter().copied()).collect();
        known.sort_unstable();
        let mut highest = 0;
        for (_, version) in &mut known {
            highest = highest.max(*version);
            *version = highest;
        }
        let is_write = |call: &&Call| matches!(call.answered, Answered::Done { .. });
        let found = calls.iter().filter(is_write).filter_map(|call| Some((call.began, version(call)?)));
        let mut given: Vec<(u64, u64)> = found.chain(given.iter().copied()).collect();
        given.sort_unstable();
        let mut lowest = u64::MAX;
        for (_, version) in given.iter_mut().rev() {
            lowest = lowest.min(*version);
            *version = lowest;
        }
        Self { known, given }
    }

    /// The number that was known when a call began, and the last one that it can have seen.
    fn of_call(&self, call: &Call) -> (u64, u64) {
        let before = self.known.partition_point(|(ended, _)| *ended < call.began);
        let from = before.checked_sub(1).map_or(0, |at| self.known[at].1);
        let behind = self.given.partition_point(|(began, _)| *began <= call.ended);
        let to = self.given.get(behind).map_or(u64::MAX, |(_, version)| version - 1);
        (from, to)
    }
}

struct Judged<'a> {
    log: &'a Log<'a>,
    /// Who made which write.
    claimed: BTreeMap<u64, &'a Call>,
    summary: Summary,
    found: Vec<String>,
}

impl<'a> Judged<'a> {
    fn call(&mut self, call: &'a Call, window: (u64, u64)) {
        let wrong = match (&call.asked, &call.answered) {
            (
                Asked::Create { object, .. } | Asked::Change { object, .. },
                Answered::Done { version, state },
            ) => self.write(call, object, *version, state.as_ref(), window),
            (Asked::Delete { object }, Answered::Gone) => self.deletion(call, object, window),
            (Asked::Read { object }, Answered::Seen { version, state }) => {
                self.summary.reads += 1;
                let is_so = |seen: Option<(u64, &State)>| seen == Some((*version, state));
                (!self.log.was(object, window, is_so)).then(|| format!("\"{object}\" was not so"))
            }
            (Asked::List, Answered::Listed { version, items }) => {
                self.summary.reads += 1;
                self.list(*version, items, window)
            }
            (
                Asked::Read { object } | Asked::Change { object, .. } | Asked::Delete { object },
                Answered::Missing,
            ) => {
                self.summary.reads += usize::from(matches!(call.asked, Asked::Read { .. }));
                (!self.log.was(object, window, |seen| seen.is_none()))
                    .then(|| format!("\"{object}\" was there all the time"))
            }
            (Asked::Create { object, .. }, Answered::Exists) => {
                self.summary.late += 1;
                (!self.log.was(object, window, |seen| seen.is_some()))
                    .then(|| format!("\"{object}\" was never there"))
            }
            (Asked::Change { object, base, .. }, Answered::Modified) => {
                self.summary.late += 1;
                let is_other = |seen: Option<(u64, &State)>| seen.map(|(version, _)| version) != Some(*base);
                (!self.log.was(object, window, is_other))
                    .then(|| format!("\"{object}\" was at {base} all the time"))
            }
            (_, Answered::Refused | Answered::Unknown | Answered::Modified | Answered::Exists) => None,
            (asked, answered) => Some(format!("{asked:?} cannot be answered by {answered:?}")),
        };
        if let Some(wrong) = wrong {
            let Call { asked, .. } = call;
            self.found.push(format!("{wrong}, between {} and {}: {asked:?}", window.0, window.1));
        }
    }

    fn write(
        &mut self,
        call: &'a Call,
        object: &str,
        version: u64,
        state: Option<&State>,
        (from, to): (u64, u64),
    ) -> Option<String> {
        let Some(event) = self.log.events.get(&version) else {
            return Some(format!("nobody heard of {version}"));
        };
        if event.object != object || event.became == Became::Deleted {
            return Some(format!("{version} is {:?} of \"{}\"", event.became, event.object));
        }
        if state.is_some_and(|state| *state != event.state) {
            return Some(format!("watchers heard another object at {version} than was answered"));
        }
        if version <= from || version > to {
            return Some(format!("{version} is out of its time"));
        }
        if self.claimed.insert(version, call).is_some() {
            return Some(format!("{version} was given twice"));
        }
        let before = self.log.at(object, version - 1).map(|(version, _)| version);
        match (&call.asked, before) {
            (Asked::Create { .. }, Some(before)) => Some(format!("it was there already, at {before}")),
            (Asked::Change { base, .. }, before) if before != Some(*base) => {
                Some(format!("a lost update: it was at {before:?}, and not at {base}, before {version}"))
            }
            _ => None,
        }
    }

    fn deletion(&mut self, call: &'a Call, object: &str, (from, to): (u64, u64)) -> Option<String> {
        let Some(states) = self.log.objects.get(object) else {
            return Some(format!("nobody heard of \"{object}\""));
        };
        let gone = states.iter().find(|(version, state)| {
            state.is_none() && **version > from && **version <= to && !self.claimed.contains_key(version)
        });
        let Some((version, _)) = gone else {
            return Some(format!("nobody heard of the end of \"{object}\""));
        };
        self.claimed.insert(*version, call);
        None
    }

    fn list(
        &self,
        version: u64,
        items: &BTreeMap<String, (u64, State)>,
        (from, to): (u64, u64),
    ) -> Option<String> {
        if version < from || version > to {
            return Some(format!("a list of {version} is out of its time"));
        }
        let names: BTreeSet<&str> =
            self.log.objects.keys().copied().chain(items.keys().map(String::as_str)).collect();
        let differs = names.into_iter().find(|name| {
            self.log.at(name, version) != items.get(*name).map(|(version, state)| (*version, state))
        });
        differs.map(|name| format!("a list of {version} has another \"{name}\" than watchers heard of"))
    }

    /// A mark is in the log because of the call that sent it.
    fn marks(&mut self, calls: &[Call]) {
        let mut unknown = BTreeSet::new();
        for call in calls.iter().filter(|call| call.answered == Answered::Unknown) {
            unknown.extend(mark(&call.asked));
        }
        let mut last: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for event in self.log.events.values() {
            let before = last.insert(&event.object, event.mark.as_deref()).flatten();
            let Some(now) = event.mark.as_deref().filter(|now| Some(*now) != before) else { continue };
            if event.became == Became::Deleted {
                continue;
            }
            let by = self.claimed.get(&event.version).and_then(|call| mark(&call.asked));
            if by != Some(now) && !unknown.contains(now) {
                self.found.push(format!(
                    "the mark {now} is in \"{}\" at {}, and nobody put it there then",
                    event.object, event.version
                ));
            }
        }
    }
}

fn mark(asked: &Asked) -> Option<&str> {
    match asked {
        Asked::Create { mark, .. } => Some(mark),
        Asked::Change { mark, .. } => mark.as_deref(),
        Asked::Delete { .. } | Asked::Read { .. } | Asked::List => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(version: u64, object: &str, became: Became, mark: &str) -> Event {
        let (object, mark) = (object.to_owned(), Some(mark.to_owned()));
        Event { version, object, became, state: json!({"mark": mark}), mark }
    }

    fn done(version: u64, mark: &str) -> Answered {
        Answered::Done { version, state: Some(json!({"mark": mark})) }
    }

    fn change(object: &str, base: u64, mark: &str) -> Asked {
        Asked::Change { object: object.to_owned(), base, mark: Some(mark.to_owned()) }
    }

    fn call(began: u64, ended: u64, asked: Asked, answered: Answered) -> Call {
        Call { began, ended, asked, answered }
    }

    /// Two clients and two watchers, and nothing wrong.
    fn history() -> History {
        let a = || "a".to_owned();
        let events = vec![
            event(10, "a", Became::Added, "m1"),
            event(12, "a", Became::Modified, "m2"),
            event(15, "b", Became::Added, "m3"),
            event(16, "a", Became::Modified, "m4"),
            event(20, "a", Became::Deleted, "m4"),
        ];
        let seen = |version: u64, mark: &str| Answered::Seen { version, state: json!({"mark": mark}) };
        let items = BTreeMap::from([("b".to_owned(), (15, json!({"mark": "m3"})))]);
        let calls = vec![
            call(0, 1, Asked::Create { object: a(), mark: "m1".into() }, done(10, "m1")),
            call(2, 5, change("a", 10, "m2"), done(12, "m2")),
            // At the same time, with the same version: too late.
            call(3, 6, change("a", 10, "m9"), Answered::Modified),
            call(4, 9, Asked::Read { object: a() }, seen(10, "m1")),
            call(7, 8, Asked::Create { object: "b".into(), mark: "m3".into() }, done(15, "m3")),
            call(10, 11, change("a", 12, "m4"), done(16, "m4")),
            call(12, 13, Asked::Read { object: a() }, seen(16, "m4")),
            call(14, 15, Asked::Delete { object: a() }, Answered::Gone),
            call(16, 17, Asked::Read { object: a() }, Answered::Missing),
            call(18, 19, Asked::List, Answered::Listed { version: 21, items }),
        ];
        History { calls, watchers: vec![events.clone(), events] }
    }

    fn check_caught(what: &str, words: &str, plant: impl FnOnce(&mut History)) {
        let mut history = history();
        plant(&mut history);
        let found = check(&history).expect_err(what);
        assert!(found.iter().any(|one| one.contains(words)), "{what}: {found:#?}");
    }

    #[test]
    fn a_right_history_is_right() {
        let summary = check(&history()).unwrap();
        assert_eq!(summary, Summary { writes: 5, asked_for: 5, late: 1, reads: 4 });
    }

    #[test]
    fn planted_faults_are_caught() {
        check_caught("a lost update", "a lost update", |history| {
            history.calls[5].asked = change("a", 10, "m4");
        });
        check_caught("an event that one watcher missed", "part at event 2", |history| {
            history.watchers[1].remove(2);
        });
        check_caught("an event that all missed", "nobody heard of 12", |history| {
            history.watchers.iter_mut().for_each(|heard| _ = heard.remove(1));
        });
        check_caught("a deletion that all missed", "nobody heard of the end", |history| {
            history.watchers.iter_mut().for_each(|heard| _ = heard.remove(4));
        });
        check_caught("an event that came twice", "was heard behind", |history| {
            history.watchers.iter_mut().for_each(|heard| heard.insert(1, heard[0].clone()));
        });
        check_caught("events in another order", "was heard behind", |history| {
            history.watchers.iter_mut().for_each(|heard| heard.swap(1, 2));
        });
        check_caught("a stale read", "was not so", |history| {
            history.calls[6].answered = Answered::Seen { version: 12, state: json!({"mark": "m2"}) };
        });
        check_caught("a read of what was gone", "was not so", |history| {
            history.calls[8].answered = Answered::Seen { version: 16, state: json!({"mark": "m4"}) };
        });
        check_caught("a read of nothing", "was there all the time", |history| {
            history.calls[6].answered = Answered::Missing;
        });
        check_caught("a refusal without a reason", "was at 16 all the time", |history| {
            history.calls.push(call(12, 13, change("a", 16, "m9"), Answered::Modified));
        });
        check_caught("a write of nobody", "nobody put it there", |history| {
            history.calls.remove(1);
        });
        check_caught("a write that is not what was answered", "another object", |history| {
            history.calls[1].answered = done(12, "m7");
        });
        check_caught("a list that lacks something", "a list of 21", |history| {
            let items = BTreeMap::new();
            history.calls[9].answered = Answered::Listed { version: 21, items };
        });
        check_caught("a write out of its time", "out of its time", |history| {
            // It was answered before another one began that has a lower number.
            history.calls[5].began = 2;
            history.calls[5].ended = 3;
            history.calls[4].began = 30;
            history.calls[4].ended = 31;
        });
        check_caught("nobody watched", "nobody watched", |history| history.watchers.clear());
    }
}
