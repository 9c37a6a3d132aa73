//! One pusher for each remote: what arrives together goes in one push, and everybody gets an answer of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, mpsc};
use std::time::Duration;

use gix_hash::ObjectId;
use lanai_types::{CommitId, RefName};

use super::intent::{Intent, Journal, Outcome, PushLimits, WriteError};
use super::operation::{Done, Ground, Operation, Source, Unstaged, Virtual};
use super::pack::{self, Kept};
use super::push::{self, Command, Report};
use super::queue::{Answer, Item, Job};
use super::refs::Tip;
use super::remote::{Call, Door, Opened, Remote, Sent, Sight, value};
use super::retry;
use super::staging::Staging;
use super::verdict::{Verdict, judge};
use crate::Error;
use crate::tree::{git_id, our_id};

/// Who pushes, with what.
#[derive(Clone, Copy)]
pub(crate) struct Pusher<'a> {
    pub(crate) remote: &'a Remote,
    pub(crate) call: Call<'a>,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) limits: &'a PushLimits,
    pub(crate) chance: &'a retry::Chance,
}

/// What is left of a batch.
enum Rest {
    /// Everybody is answered.
    Nothing,
    /// These were refused together.
    Refused { jobs: Vec<Job>, error: WriteError },
    /// The remote cannot take several at once.
    OneByOne(Vec<Job>),
}

/// How often a remote may say that refs have moved which have not, before that is taken for a refusal.
const MAX_UNMOVED: usize = 6;

/// What came of staging.
enum Attempt {
    Ready(Staged),
    /// Everybody is answered.
    Nothing,
    /// What was seen of the refs is not enough to answer by.
    LookAgain(Vec<Job>),
}

/// What is staged for one push.
struct Staged {
    jobs: Vec<(Job, Done)>,
    commands: Vec<Command>,
    commits: Vec<ObjectId>,
    pack: Vec<u8>,
}

impl Staged {
    fn intent(&self) -> Intent {
        Intent {
            main: self.jobs[0].0.item.layout.branch.ref_name().clone(),
            commands: self.commands.clone(),
            commits: self.commits.iter().map(|id| CommitId::new(our_id(*id))).collect(),
            labels: self.jobs.iter().map(|(job, _)| job.item.request.label.clone()).collect(),
        }
    }
}

impl Pusher<'_> {
    /// Carries out a request, together with those that wait at the same time.
    pub(crate) fn run(&self, item: Item) -> Answer {
        // Nobody who leaves takes others along: a push goes on without who began it.
        let nobody = crate::Cancel::default();
        let pusher = Pusher { call: Call { cancel: &nobody, ..self.call }, ..*self };
        let cancel = self.call.cancel;
        self.remote.queue.run(item, cancel, &self.remote.url, self.limits, |jobs| pusher.batches(jobs))
    }

    fn answer(&self, number: u64, answer: Answer) {
        self.remote.queue.answer(number, answer);
    }

    fn answer_all(&self, jobs: &[Job], error: &WriteError) {
        for job in jobs {
            self.answer(job.number, Err(error.clone()));
        }
    }

    /// Pushes a batch; halves it where the remote refuses without saying what.
    fn batches(&self, jobs: Vec<Job>) {
        let mut waiting = vec![jobs];
        while let Some(jobs) = waiting.pop() {
            match self.batch(jobs) {
                Rest::Nothing => {}
                Rest::Refused { jobs, error } if jobs.len() == 1 => self.answer_all(&jobs, &error),
                Rest::Refused { jobs: mut first, .. } => {
                    let second = first.split_off(first.len().div_ceil(2));
                    waiting.push(second);
                    waiting.push(first);
                }
                Rest::OneByOne(jobs) => waiting.extend(jobs.into_iter().rev().map(|job| vec![job])),
            }
        }
        let _ = self.remote.tidy_own();
    }

    /// Pushes a batch until it landed or everybody is answered, as far as that can be done with all of it together.
    #[allow(clippy::too_many_lines, reason = "one attempt, in the order of its steps")]
    fn batch(&self, mut jobs: Vec<Job>) -> Rest {
        let mut words = String::new();
        // What was sent the last time, and how often nothing had moved although the remote said so.
        let mut last: Option<Intent> = None;
        let mut unmoved = 0;
        // The first attempt may go on from the push before.
        let mut sight = Sight::Partial;
        for attempt in 0..self.limits.max_attempts {
            if attempt > 0 && sight == Sight::Whole {
                self.pause(attempt);
            }
            if jobs.is_empty() {
                return Rest::Nothing;
            }
            let again = (attempt == 0).then(|| self.remote.door_again(self.call, &prefixes(&jobs))).flatten();
            let greeted = || retry::patiently(self.call.cancel, self.chance, || self.remote.door(self.call));
            let opened = again
                .map_or_else(|| greeted().map(|(door, tips)| Opened { door, tips, sight: Sight::Whole }), Ok);
            let Opened { door, tips, sight: seen } = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    self.answer_all(&jobs, &error.into());
                    return Rest::Nothing;
                }
            };
            sight = seen;
            if !door.is_atomic() && jobs.len() > 1 {
                return Rest::OneByOne(jobs);
            }
            if let Some(intent) = &last {
                let is_there = |command: &Command| value(&tips, &command.name) == command.old;
                unmoved = if intent.commands.iter().all(is_there) { unmoved + 1 } else { 0 };
            }
            if unmoved >= MAX_UNMOVED {
                let name = jobs[0].item.layout.branch.ref_name().clone();
                let error = WriteError::Refused { remote: self.remote.url.clone(), name, words };
                return Rest::Refused { jobs, error };
            }
            let staged = match self.stage(jobs, &tips, sight) {
                Ok(Attempt::Ready(staged)) => staged,
                Ok(Attempt::Nothing) => return Rest::Nothing,
                Ok(Attempt::LookAgain(left)) => {
                    jobs = left;
                    continue;
                }
                Err((left, error)) => {
                    self.answer_all(&left, &error.into());
                    return Rest::Nothing;
                }
            };
            let is_atomic = door.is_atomic();
            let intent = staged.intent();
            let kept = match self.note(&intent, &staged.pack) {
                Ok(kept) => kept,
                Err(error) => {
                    let left: Vec<_> = staged.jobs.into_iter().map(|(job, _)| job).collect();
                    self.answer_all(&left, &error);
                    return Rest::Nothing;
                }
            };
            let end = |outcome| {
                // A pack that could not be put in its place is fetched again.
                let _ = self.remote.settle(self.call, kept, outcome);
                self.journal.end(&intent, outcome);
            };
            let sent = if is_atomic {
                self.remote.send(self.call, door, &intent.commands, &staged.pack)
            } else {
                let report = self.one_by_one(door, &tips, &intent, &staged.pack);
                report.map(|report| Sent { report, door: None })
            };
            let Sent { report, door } = match sent {
                Ok(sent) => sent,
                Err(push::Failure::NotSent(_)) if sight == Sight::Partial => {
                    end(Outcome::NotLanded);
                    jobs = staged.jobs.into_iter().map(|(job, _)| job).collect();
                    continue;
                }
                Err(push::Failure::NotSent(error)) => {
                    end(Outcome::NotLanded);
                    let left: Vec<_> = staged.jobs.into_iter().map(|(job, _)| job).collect();
                    self.answer_all(&left, &error.into());
                    return Rest::Nothing;
                }
                Err(push::Failure::Refused(error)) => {
                    end(Outcome::NotLanded);
                    let left: Vec<_> = staged.jobs.into_iter().map(|(job, _)| job).collect();
                    if matches!(error, Error::Credentials { .. } | Error::RateLimited { .. }) {
                        self.answer_all(&left, &error.into());
                        return Rest::Nothing;
                    }
                    let (name, words) = (intent.main.clone(), error.to_string());
                    let error = WriteError::Refused { remote: self.remote.url.clone(), name, words };
                    return Rest::Refused { jobs: left, error };
                }
                Err(push::Failure::Lost(error)) => match self.settle(&intent, &staged.pack, error) {
                    Ok(Outcome::Landed) => Sent { report: Report::default(), door: None },
                    Ok(Outcome::NotLanded | Outcome::Unknown) => {
                        end(Outcome::NotLanded);
                        jobs = staged.jobs.into_iter().map(|(job, _)| job).collect();
                        continue;
                    }
                    Err(error) => {
                        end(Outcome::Unknown);
                        let left: Vec<_> = staged.jobs.into_iter().map(|(job, _)| job).collect();
                        self.answer_all(&left, &WriteError::Unknown { cause: Arc::new(error) });
                        return Rest::Nothing;
                    }
                },
            };
            let verdict = judge(&intent, &report);
            let outcome =
                if matches!(verdict, Verdict::Landed) { Outcome::Landed } else { Outcome::NotLanded };
            end(outcome);
            match verdict {
                Verdict::Landed => {
                    self.remote.leave_ajar(self.call, door.filter(|_| is_atomic), tips, &intent.commands);
                    self.remember(&staged.jobs);
                    for (job, done) in staged.jobs {
                        self.answer(job.number, Ok(done));
                    }
                    return Rest::Nothing;
                }
                Verdict::Moved(said) => {
                    words = said;
                    last = (sight == Sight::Whole).then_some(intent);
                    jobs = staged.jobs.into_iter().map(|(job, _)| job).collect();
                }
                Verdict::Named(refused) => {
                    jobs = self.drop_refused(staged.jobs, &refused, &report.words);
                }
                Verdict::Unnamed { name, words } => {
                    let jobs = staged.jobs.into_iter().map(|(job, _)| job).collect();
                    let error = WriteError::Refused { remote: self.remote.url.clone(), name, words };
                    return Rest::Refused { jobs, error };
                }
            }
        }
        let (remote, attempts) = (self.remote.url.clone(), self.limits.max_attempts);
        self.answer_all(&jobs, &WriteError::Contended { remote, attempts, words });
        Rest::Nothing
    }

    /// Numbers that were given are never given again, whatever happens to the remote.
    fn remember(&self, jobs: &[(Job, Done)]) {
        let mut lines = self.remote.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for (job, done) in jobs {
            if let (Operation::Publish(publish), Some(number)) = (&job.item.request.what, done.revision) {
                let layout = &job.item.layout;
                let line = lines.entry(layout.branch.clone()).or_default();
                line.saw(layout.path(&publish.package), number.get());
            }
        }
    }

    fn pause(&self, attempt: usize) {
        let longest = self.limits.max_first_pause.saturating_mul(1 << attempt.min(4));
        retry::pause(self.call.cancel, self.chance.below(longest));
    }

    /// Keeps the objects and notes the intent.
    fn note(&self, intent: &Intent, pack: &[u8]) -> Result<Kept, WriteError> {
        let kept =
            if intent.commits.is_empty() { Kept::default() } else { self.remote.keep(self.call, pack)? };
        self.journal.begin(intent).map_err(WriteError::Journal)?;
        Ok(kept)
    }

    /// Those whose refs were not refused; the others are answered.
    fn drop_refused(
        &self,
        staged: Vec<(Job, Done)>,
        refused: &BTreeMap<RefName, String>,
        words: &str,
    ) -> Vec<Job> {
        let mut left = Vec::new();
        for (job, done) in staged {
            let named = done.commands.iter().find_map(|command| refused.get_key_value(&command.name));
            match named {
                Some((name, reason)) => {
                    let words = if words.is_empty() { reason.clone() } else { format!("{reason}: {words}") };
                    let (remote, name) = (self.remote.url.clone(), name.clone());
                    self.answer(job.number, Err(WriteError::Refused { remote, name, words }));
                }
                None => left.push(job),
            }
        }
        left
    }

    /// Stages all jobs on top of each other. One that does not fit is answered, if the refs are seen as a whole.
    #[allow(
        clippy::type_complexity,
        reason = "the jobs come back with the error so that they can be answered"
    )]
    fn stage(
        &self,
        jobs: Vec<Job>,
        tips: &BTreeMap<RefName, Tip>,
        sight: Sight,
    ) -> Result<Attempt, (Vec<Job>, Error)> {
        let mut needed = Vec::new();
        for job in &jobs {
            needed.extend(tips.get(job.item.layout.branch.ref_name()).map(|tip| tip.object));
            let at = match &job.item.request.what {
                Operation::Publish(publish) => match &publish.source {
                    Source::Branch { at, .. } => Some(*at),
                    Source::Content(_) => None,
                    Source::Versions(all) => all.branch.map(|(_, at)| at),
                },
                Operation::Save(save) => save.expected,
                Operation::Bring(bring) => bring.from.map(|(_, at)| at),
                Operation::CreateBranch
                | Operation::Move(_)
                | Operation::Mark(_)
                | Operation::Unmark(_)
                | Operation::DeleteDraft(_)
                | Operation::DeleteRevision(_)
                | Operation::DeletePlaceholder(_) => None,
            };
            let at = at.and_then(|at| git_id(at.object_id()).ok());
            needed.extend(at.filter(|at| tips.values().any(|tip| tip.object == *at)));
        }
        let objects =
            match self.remote.need(self.call, tips, &needed).and_then(|()| self.remote.objects(self.call)) {
                Ok(objects) => objects,
                Err(error) => return Err((jobs, error)),
            };
        if let Err(error) = self.follow(&jobs, tips, &objects) {
            return Err((jobs, error));
        }
        let lines = self.remote.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refs: Virtual = tips.iter().map(|(name, tip)| (name.clone(), tip.object)).collect();
        let mut staging = Staging::new(&objects);
        let mut staged = Vec::new();
        let mut jobs = jobs.into_iter();
        while let Some(job) = jobs.next() {
            let item = &job.item;
            let made = staging.len();
            let line = &lines[&item.layout.branch];
            let mut ground = Ground {
                layout: &item.layout,
                author: &item.author,
                time: item.request.time,
                refs: &mut refs,
                staging: &mut staging,
                line,
                undo: Vec::new(),
            };
            match ground.stage(&item.request.what) {
                Ok(done) => staged.push((job, done)),
                Err(_) if sight == Sight::Partial => {
                    let before = staged.into_iter().map(|(job, _)| job);
                    return Ok(Attempt::LookAgain(before.chain([job]).chain(jobs).collect()));
                }
                Err(unstaged) => {
                    ground.take_back();
                    staging.truncate(made);
                    let error = match unstaged {
                        Unstaged::Conflict(conflict) => conflict.into(),
                        Unstaged::Failure(failure) => self.remote.damaged(failure).into(),
                    };
                    self.answer(job.number, Err(error));
                }
            }
        }
        drop(lines);
        let commands = net(&staged, tips, &refs);
        if commands.is_empty() && sight == Sight::Partial {
            return Ok(Attempt::LookAgain(staged.into_iter().map(|(job, _)| job).collect()));
        }
        if commands.is_empty() {
            // Nothing has to move: it is as it should be.
            for (job, done) in staged {
                self.answer(job.number, Ok(done));
            }
            return Ok(Attempt::Nothing);
        }
        match pack::write(staging.objects()) {
            Ok(pack) => {
                let commits = staging.commits();
                Ok(Attempt::Ready(Staged { jobs: staged, commands, commits, pack }))
            }
            Err(cause) => {
                let error = Error::Protocol { remote: self.remote.url.clone(), cause: cause.to_string() };
                Err((staged.into_iter().map(|(job, _)| job).collect(), error))
            }
        }
    }

    /// Learns the published past of the branches, for the numbers.
    fn follow(
        &self,
        jobs: &[Job],
        tips: &BTreeMap<RefName, Tip>,
        objects: &super::objects::Objects,
    ) -> Result<(), Error> {
        let mut history = self.remote.history.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = self.remote.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let branches: BTreeSet<_> = jobs.iter().map(|job| job.item.layout.branch.clone()).collect();
        for branch in branches {
            let head = tips.get(branch.ref_name()).map(|tip| tip.commit);
            history.learn(objects, head).map_err(|failure| self.remote.damaged(failure))?;
            lines.entry(branch).or_default().follow(&history, head);
        }
        Ok(())
    }

    // ---- when the answer was lost

    /// Pushes the same commands again until it is known what became of them.
    ///
    /// # Errors
    /// When it cannot be found out.
    pub(crate) fn settle(&self, intent: &Intent, pack: &[u8], mut lost: Error) -> Result<Outcome, Error> {
        for attempt in 0..self.limits.max_repeats {
            if attempt > 0 {
                self.pause(attempt + 3);
            }
            let (door, tips) = match self.remote.door(self.call) {
                Ok(opened) => opened,
                Err(error) => {
                    lost = error;
                    continue;
                }
            };
            if self.has_landed(intent, &tips)? {
                if !door.is_atomic() {
                    self.finish(door, intent, &tips);
                }
                return Ok(Outcome::Landed);
            }
            let sent = if door.is_atomic() {
                self.remote.send(self.call, door, &intent.commands, pack).map(|sent| sent.report)
            } else {
                self.one_by_one(door, &tips, intent, pack)
            };
            match sent {
                Ok(report) => {
                    let words = match judge(intent, &report) {
                        Verdict::Landed => return Ok(Outcome::Landed),
                        Verdict::Moved(words) | Verdict::Unnamed { words, .. } => words,
                        Verdict::Named(refused) => refused.into_values().collect::<Vec<_>>().join("; "),
                    };
                    match self.proven(intent)? {
                        Some(outcome) => return Ok(outcome),
                        None => {
                            lost = Error::Unavailable { remote: self.remote.url.clone(), cause: words };
                        }
                    }
                }
                Err(
                    push::Failure::NotSent(error)
                    | push::Failure::Refused(error)
                    | push::Failure::Lost(error),
                ) => lost = error,
            }
        }
        Err(lost)
    }

    /// What the refs prove about an intent: it landed, or it cannot land any more since something is not where it was. A
    /// refusal alone proves nothing: the first push may be at work still.
    fn proven(&self, intent: &Intent) -> Result<Option<Outcome>, Error> {
        let (_, tips) = self.remote.door(self.call)?;
        if self.has_landed(intent, &tips)? {
            return Ok(Some(Outcome::Landed));
        }
        let has_moved = |command: &Command| value(&tips, &command.name) != command.old;
        Ok(intent.commands.iter().any(has_moved).then_some(Outcome::NotLanded))
    }

    /// Whether refs are where the intent wanted them, or have gone on from there.
    ///
    /// A commit that was made for the intent is nowhere else: one ref that leads to it tells about all. Without one, others
    /// may have done the same, and all refs must be as wanted.
    fn has_landed(&self, intent: &Intent, tips: &BTreeMap<RefName, Tip>) -> Result<bool, Error> {
        let own = |command: &&Command| {
            command.new.is_some_and(|new| intent.commits.iter().any(|commit| commit.object_id() == new))
        };
        let mut made: Vec<_> = intent.commands.iter().filter(own).collect();
        // Where main moves, it decides: step by step, what is made before it may be there without it.
        if made.iter().any(|command| command.name == intent.main) {
            made.retain(|command| command.name == intent.main);
        }
        if made.is_empty() {
            return Ok(intent.commands.iter().all(|command| value(tips, &command.name) == command.new));
        }
        for command in made {
            let Some(new) = command.new.and_then(|new| git_id(new).ok()) else { continue };
            let Some(tip) = tips.get(&command.name) else { continue };
            if tip.object == new {
                return Ok(true);
            }
            if Some(our_id(tip.object)) == command.old || command.name.branch_name().is_none() {
                continue;
            }
            self.remote.need(self.call, tips, &[tip.object])?;
            let objects = self.remote.objects(self.call)?;
            let mut history = self.remote.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.learn(&objects, [tip.commit]).map_err(|failure| self.remote.damaged(failure))?;
            if history.reaches([tip.commit], new) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    // ---- remotes without atomic pushes

    /// Three pushes: what is made, then main, then what goes. A failure before main has moved is undone.
    fn one_by_one(
        &self,
        door: Door,
        tips: &BTreeMap<RefName, Tip>,
        intent: &Intent,
        pack: &[u8],
    ) -> Result<Report, push::Failure> {
        let is_main = |command: &&Command| command.name == intent.main;
        let (first, main, last) = (
            intent.commands.iter().filter(|command| !is_main(command) && command.new.is_some()),
            intent.commands.iter().filter(is_main),
            intent.commands.iter().filter(|command| !is_main(command) && command.new.is_none()),
        );
        let (first, main): (Vec<_>, Vec<_>) = (first.cloned().collect(), main.cloned().collect());
        let last: Vec<_> = last.cloned().collect();
        let mut whole = Report::default();
        let mut door = Some(door);
        for mut part in [first, main, last] {
            // What is there already was done by an earlier attempt.
            for command in part.extract_if(.., |command| value(tips, &command.name) == command.new) {
                whole.refs.insert(command.name.to_string(), None);
            }
            if part.is_empty() {
                continue;
            }
            let opened = match door.take() {
                Some(door) => door,
                None => self.remote.door(self.call).map_err(push::Failure::Lost)?.0,
            };
            let Sent { report, .. } = self.remote.send(self.call, opened, &part, pack)?;
            let is_bad = report.unpack.is_some() || report.refs.values().any(Option::is_some);
            whole.words.push_str(&report.words);
            whole.refs.extend(report.refs);
            whole.unpack = whole.unpack.or(report.unpack);
            // Once main has moved it is published, whatever stays of a draft.
            let moves_main = intent.commands.iter().any(|command| command.name == intent.main);
            let is_deleting = part.iter().all(|command| command.new.is_none() && command.name != intent.main);
            if is_bad && !(is_deleting && moves_main) {
                self.undo(intent, &whole)?;
                for command in &intent.commands {
                    let reason = || Some("atomic push failure".to_owned());
                    let entry = whole.refs.entry(command.name.to_string()).or_insert_with(reason);
                    if entry.is_none() {
                        *entry = reason();
                    }
                }
                return Ok(whole);
            }
        }
        // What could not be deleted stays; main has moved, so it is published.
        whole.refs.retain(|_, reason| reason.is_none());
        Ok(whole)
    }

    /// Takes back what was made before main moved.
    fn undo(&self, intent: &Intent, report: &Report) -> Result<(), push::Failure> {
        let is_done = |command: &&Command| {
            command.name != intent.main
                && command.new.is_some()
                && report.refs.get(command.name.as_str()) == Some(&None)
        };
        let back = intent.commands.iter().filter(is_done);
        let back: Vec<_> = back
            .map(|command| Command { name: command.name.clone(), old: command.new, new: command.old })
            .collect();
        if back.is_empty() {
            return Ok(());
        }
        let (door, _) = self.remote.door(self.call).map_err(push::Failure::Lost)?;
        let empty = pack::write(std::iter::empty());
        let empty = empty.map_err(|cause| {
            push::Failure::Lost(Error::Protocol { remote: self.remote.url.clone(), cause: cause.to_string() })
        })?;
        self.remote.send(self.call, door, &back, &empty).map(|_| ())
    }

    /// Main has moved: what is missing of the rest is done. What others moved since stays as they left it.
    fn finish(&self, door: Door, intent: &Intent, tips: &BTreeMap<RefName, Tip>) {
        let open = intent.commands.iter().filter(|command| {
            command.name != intent.main
                && value(tips, &command.name) == command.old
                && command.old != command.new
        });
        let open: Vec<_> = open.cloned().collect();
        if !open.is_empty()
            && let Ok(empty) = pack::write(std::iter::empty())
        {
            let _ = self.remote.send(self.call, door, &open, &empty);
        }
    }
}

/// What the names of all refs begin with that requests name.
fn prefixes(jobs: &[Job]) -> Vec<String> {
    let mut all = BTreeSet::new();
    for Job { item, .. } in jobs {
        all.insert(item.layout.branch.ref_name().to_string());
        all.extend(item.request.what.package().into_iter().flat_map(|package| item.layout.prefixes(package)));
    }
    all.into_iter().collect()
}

/// What moves in all: refs that are moved twice move once, and what is made and deleted again does not move at all.
fn net(staged: &[(Job, Done)], tips: &BTreeMap<RefName, Tip>, refs: &Virtual) -> Vec<Command> {
    let touched: BTreeSet<_> =
        staged.iter().flat_map(|(_, done)| &done.commands).map(|command| &command.name).collect();
    let new = |name: &RefName| refs.get(name).map(|id: &ObjectId| our_id(*id));
    let all = touched.into_iter().map(|name| Command {
        name: name.clone(),
        old: value(tips, name),
        new: new(name),
    });
    all.filter(|command| command.old != command.new).collect()
}

/// Waits, unless somebody asks to stop.
pub(crate) fn wait(cancel: &crate::Cancel, time: Duration) {
    let (wake, woken) = mpsc::channel();
    let _hook = cancel.on_cancel(move || {
        let _ = wake.send(());
    });
    let _ = woken.recv_timeout(time);
}
