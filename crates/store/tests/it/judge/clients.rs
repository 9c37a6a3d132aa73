//! Who asks what.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanai_store::{
    At, Bookmarks, Continue, Error, ListRequest, Signal, Store, Transaction, Watch, WatchFrom, WatchRequest,
};
use lanai_testkit::history::{Call, Content, Heard, Put, Recorder, Reply, Rest, View};
use tokio::sync::watch::Sender;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use super::words;
use crate::support::{key, rev};

const CLIENTS: u64 = 5;
const CALLS: usize = 150;
const WATCHERS: u64 = 6;
const LABELS: [&str; 2] = ["x", "y"];
const KINDS: [&str; 2] = ["a", "b"];

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    pub seed: u64,
    /// The number of this run in a history of several.
    pub run: u64,
    /// The revision behind which the auditor listens, who hears everything.
    pub audit_from: u64,
    pub ending: Ending,
    /// How long watchers are waited for at the end; those of a broken store may wait for ever.
    pub patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All watchers hear the last writes.
    CatchUp,
    /// Somebody else ends the process; until then there is work.
    Killed,
}

/// Numbers by chance, the same for the same seed.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn pick<'c>(&mut self, from: &[&'c str]) -> &'c str {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    fn view(&mut self) -> View {
        let prefix = ["", "a/", "b/"][usize::try_from(self.below(3)).unwrap()].to_owned();
        let label = [None, Some("x"), Some("y")][usize::try_from(self.below(3)).unwrap()].map(String::from);
        View { prefix, label }
    }
}

/// What all share.
struct Shared {
    store: Arc<dyn Store>,
    recorder: Arc<Recorder>,
    /// What the auditor has heard, and what may therefore be forgotten.
    audited: AtomicU64,
    /// Who has heard up to this revision has heard enough; none while there is work.
    enough: Sender<Option<u64>>,
    /// Watches that have not told the last writes yet.
    listening: Mutex<BTreeSet<u64>>,
}

impl Workload {
    /// Runs until all clients are done and all watchers have heard the last writes.
    pub async fn run(self, store: Arc<dyn Store>, recorder: Arc<Recorder>) {
        let shared = Arc::new(Shared {
            store,
            recorder,
            audited: AtomicU64::new(self.audit_from),
            enough: Sender::new(None),
            listening: Mutex::default(),
        });
        let mut watchers = JoinSet::new();
        watchers.spawn(audit(shared.clone(), self.audit_from));
        for number in 0..WATCHERS {
            watchers.spawn(watch(
                shared.clone(),
                Chance::new(self.seed * 1_000 + self.run * 100 + number),
                number,
            ));
        }
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let client = Client {
                shared: shared.clone(),
                chance: Chance::new(self.seed * 7_000 + self.run * 100 + number),
                name: format!("{}-{number}", self.run),
                values: 0,
                known: HashMap::new(),
            };
            clients.spawn(client.run(self.ending));
        }
        clients.join_all().await;
        let mut last = Client {
            shared: shared.clone(),
            chance: Chance::new(self.seed),
            name: format!("{}-last", self.run),
            values: 0,
            known: HashMap::new(),
        };
        let mut first = None;
        for (kind, label) in [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] {
            let content = Content { value: last.value(), label: label.into() };
            let put = Put {
                key: format!("{kind}/end/{}-{label}", self.run),
                expected: None,
                content: Some(content),
            };
            if let Reply::Committed(revisions) = last.commit(vec![put]).await {
                first = first.or(revisions.first().copied());
            }
        }
        shared.enough.send_replace(Some(first.unwrap_or(1)));
        // A store that loses events leaves watchers that wait; the judge is told who.
        let _ = timeout(self.patience, async { while watchers.join_next().await.is_some() {} }).await;
        watchers.shutdown().await;
        for watch in shared.listening.lock().unwrap().iter() {
            shared.recorder.stalled(*watch);
        }
    }
}

struct Client {
    shared: Arc<Shared>,
    chance: Chance,
    name: String,
    values: u64,
    /// The revisions of objects as this client saw them last.
    known: HashMap<String, Option<u64>>,
}

impl Client {
    async fn run(mut self, ending: Ending) {
        let mut done = 0;
        while ending == Ending::Killed || done < CALLS {
            done += 1;
            match self.chance.below(20) {
                0..9 => {
                    let keys = self.keys();
                    // Who has not looked will often be refused.
                    if self.chance.below(4) > 0 {
                        for key in &keys {
                            self.get(key.clone()).await;
                        }
                    }
                    let puts = self.puts(keys);
                    self.commit(puts).await;
                }
                9..13 => {
                    let key = self.key();
                    self.get(key).await;
                }
                13..15 => self.list().await,
                15 => self.pages().await,
                16 => self.past().await,
                17 => self.hurried().await,
                18 if self.chance.below(2) == 0 => self.count().await,
                18 => self.current().await,
                _ => self.compact().await,
            }
            if self.chance.below(3) == 0 {
                yield_now().await;
            }
        }
    }

    fn key(&mut self) -> String {
        format!("{}/n/{}", self.chance.pick(&KINDS), self.chance.below(6))
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("{}-{}", self.name, self.values)
    }

    /// One to three keys.
    fn keys(&mut self) -> BTreeSet<String> {
        (0..=self.chance.below(3)).map(|_| self.key()).collect()
    }

    /// Writes that may hold, as far as this client knows.
    fn puts(&mut self, keys: BTreeSet<String>) -> Vec<Put> {
        let mut puts: Vec<Put> = Vec::new();
        for key in keys {
            let expected = self.known.get(&key).copied().flatten();
            let is_deletion = expected.is_some() && self.chance.below(4) == 0;
            let content = (!is_deletion)
                .then(|| Content { value: self.value(), label: self.chance.pick(&LABELS).into() });
            puts.push(Put { key, expected, content });
        }
        puts
    }

    async fn commit(&mut self, puts: Vec<Put>) -> Reply {
        let writes = puts.iter().map(words::write).collect();
        let id = self.shared.recorder.call(Call::Commit(puts.clone()));
        let answer = self.shared.store.commit(Transaction { writes, ..Transaction::default() }).await;
        let reply = match answer {
            Ok(committed) => {
                Reply::Committed(committed.revisions.iter().map(|revision| revision.get()).collect())
            }
            Err(error) => words::refusal(&error),
        };
        match &reply {
            Reply::Committed(revisions) => {
                for (put, revision) in puts.iter().zip(revisions) {
                    self.known.insert(put.key.clone(), put.content.as_ref().map(|_| *revision));
                }
            }
            Reply::Conflict { key, found } => drop(self.known.insert(key.clone(), *found)),
            Reply::Found(_)
            | Reply::Listed { .. }
            | Reply::Current(_)
            | Reply::Compacted(_)
            | Reply::Counted(_)
            | Reply::Watching { .. }
            | Reply::TooNew { .. }
            | Reply::Failed(_)
            | Reply::Expired { .. }
            | Reply::Refused
            | Reply::Unknown => {}
        }
        self.shared.recorder.returned(id, reply.clone());
        reply
    }

    /// A commit that is given up on, perhaps too early.
    async fn hurried(&mut self) {
        let keys = self.keys();
        let mut puts = self.puts(keys);
        // What only deletes cannot be told from another one that does.
        if puts.iter().all(|put| put.content.is_none()) {
            let content = Content { value: self.value(), label: "x".into() };
            puts[0].content = Some(content);
        }
        let writes = puts.iter().map(words::write).collect();
        let patience = Duration::from_micros(self.chance.below(400));
        let id = self.shared.recorder.call(Call::Commit(puts));
        let commit = self.shared.store.commit(Transaction { writes, ..Transaction::default() });
        let reply = match timeout(patience, commit).await {
            Err(_) => Reply::Unknown,
            Ok(Ok(committed)) => {
                Reply::Committed(committed.revisions.iter().map(|revision| revision.get()).collect())
            }
            Ok(Err(error)) => words::refusal(&error),
        };
        self.shared.recorder.returned(id, reply);
    }

    async fn get(&mut self, raw: String) {
        let id = self.shared.recorder.call(Call::Get(raw.clone()));
        let reply = match self.shared.store.get(&key(&raw)).await {
            Ok(found) => {
                self.known.insert(raw, found.as_ref().map(|stored| stored.revision.get()));
                Reply::Found(found.as_ref().map(words::item))
            }
            Err(error) => words::refusal(&error),
        };
        self.shared.recorder.returned(id, reply);
    }

    async fn list(&mut self) {
        let view = self.chance.view();
        self.ask(view, At::Latest, None).await;
    }

    async fn pages(&mut self) {
        let view = self.chance.view();
        let mut next = self.ask(view.clone(), At::Latest, Some(2)).await;
        while let Some(from) = next {
            yield_now().await;
            next = self.ask(view.clone(), At::Continue(from), Some(2)).await;
        }
    }

    async fn past(&mut self) {
        let newest = self.known.values().flatten().max().copied().unwrap_or(0);
        let at = newest.saturating_sub(self.chance.below(20));
        let view = self.chance.view();
        self.ask(view, At::Revision(rev(at)), None).await;
    }

    async fn ask(&mut self, view: View, at: At, limit: Option<usize>) -> Option<Continue> {
        let (revision, after) = match &at {
            At::Latest => (None, None),
            At::Revision(revision) => (Some(revision.get()), None),
            At::Continue(from) => (Some(from.revision.get()), Some(from.after.to_string())),
        };
        let request =
            ListRequest { filter: words::filter(&view), at, limit: limit.and_then(NonZeroUsize::new) };
        let id = self.shared.recorder.call(Call::List { filter: view, at: revision, after });
        match self.shared.store.list(&request).await {
            Ok(page) => {
                let rest = if page.next.is_some() { Rest::More } else { Rest::Nothing };
                let items = page.items.iter().map(|stored| words::item(stored)).collect();
                self.shared
                    .recorder
                    .returned(id, Reply::Listed { revision: page.revision.get(), items, rest });
                page.next
            }
            Err(error) => {
                self.shared.recorder.returned(id, words::refusal(&error));
                None
            }
        }
    }

    async fn count(&mut self) {
        let view = self.chance.view();
        let filter = words::filter(&view);
        let id = self.shared.recorder.call(Call::Count(view));
        let reply = match self.shared.store.count(&filter).await {
            Ok(counted) => Reply::Counted(counted),
            Err(error) => words::refusal(&error),
        };
        self.shared.recorder.returned(id, reply);
    }

    async fn current(&mut self) {
        let id = self.shared.recorder.call(Call::Current);
        let reply = match self.shared.store.current().await {
            Ok(revision) => Reply::Current(revision.get()),
            Err(error) => words::refusal(&error),
        };
        self.shared.recorder.returned(id, reply);
    }

    /// Forgets what the auditor has heard, now and then.
    async fn compact(&mut self) {
        if self.chance.below(4) > 0 {
            return;
        }
        let up_to = self.shared.audited.load(Relaxed).saturating_sub(self.chance.below(30));
        let id = self.shared.recorder.call(Call::Compact(up_to));
        let answer = self.shared.store.compact(rev(up_to)).await;
        let reply = match &answer {
            Ok(horizon) => Reply::Compacted(horizon.get()),
            Err(error) => words::refusal(error),
        };
        self.shared.recorder.returned(id, reply);
        // What was forgotten is not handed out any more.
        if let Some(below) = answer.ok().and_then(|horizon| horizon.get().checked_sub(1)) {
            let view = self.chance.view();
            self.ask(view, At::Revision(rev(below)), None).await;
        }
    }
}

/// Hears everything, and is never slow.
async fn audit(shared: Arc<Shared>, from: u64) {
    let view = View::everything();
    let request = WatchRequest::after(rev(from), words::filter(&view));
    let Some(Opened { mut watch, id }) = shared.open(request, view).await else { return };
    while let Some(answer) = shared.next(&mut watch, 3).await {
        match answer {
            Ok(signal) => shared.recorder.heard(id, words::heard(&signal)),
            Err(error) => {
                shared.recorder.heard(id, words::end(&error));
                break;
            }
        }
        shared.audited.store(watch.position().get(), Relaxed);
    }
    shared.closed(id);
}

struct Opened {
    watch: Watch,
    id: u64,
}

impl Shared {
    /// Opens a watch, and notes what came of it.
    async fn open(&self, request: WatchRequest, view: View) -> Option<Opened> {
        let after = match request.from {
            WatchFrom::Now => None,
            WatchFrom::After(revision) => Some(revision.get()),
        };
        let call = self.recorder.call(Call::Watch { after });
        match self.store.watch(request).await {
            Ok(watch) => {
                // What was asked for counts, whatever the store made of it.
                let after = after.unwrap_or_else(|| watch.position().get());
                self.recorder.returned(call, Reply::Watching { after });
                let id = self.recorder.opened(after, view);
                self.listening.lock().unwrap().insert(id);
                Some(Opened { watch, id })
            }
            Err(error) => {
                self.recorder.returned(call, words::refusal(&error));
                None
            }
        }
    }

    /// A watch has told enough, has ended, or is given up.
    fn closed(&self, id: u64) {
        self.listening.lock().unwrap().remove(&id);
    }

    /// The next signal; none when the last writes were heard. So many more than the first of them must have been.
    async fn next(&self, watch: &mut Watch, more: u64) -> Option<Result<Signal, Error>> {
        let position = watch.position().get();
        let mut enough = self.enough.subscribe();
        tokio::select! {
            biased;
            _ = enough.wait_for(|enough| enough.is_some_and(|enough| position >= enough + more)) => None,
            signal = watch.next() => Some(signal),
        }
    }
}

/// Comes and goes, at positions around what it has heard.
async fn watch(shared: Arc<Shared>, mut chance: Chance, number: u64) {
    let mut position: u64 = 0;
    loop {
        let view = chance.view();
        let from = match chance.below(12) {
            0..4 => WatchFrom::After(rev(position.saturating_sub(chance.below(6)))),
            4 => WatchFrom::Now,
            // What is not there yet, or will be in a moment.
            5 => WatchFrom::After(rev(position + 1 + chance.below(5))),
            _ => WatchFrom::After(rev(position)),
        };
        let bookmarks = Bookmarks::Every((1 + chance.below(8)).try_into().unwrap());
        let request = WatchRequest { filter: words::filter(&view), from, bookmarks };
        let Some(Opened { mut watch, id }) = shared.open(request, view).await else {
            // Too old, or too new: what was missed is seen in a list, as every client does it.
            let Ok(now) = shared.store.current().await else { return };
            position = now.get();
            continue;
        };
        for _ in 0..=chance.below(40) {
            // Half of them are slow.
            for _ in 0..chance.below(1 + 30 * (number % 2)) {
                yield_now().await;
            }
            match shared.next(&mut watch, 0).await {
                Some(Ok(signal)) => shared.recorder.heard(id, words::heard(&signal)),
                Some(Err(Error::Expired { horizon, .. })) => {
                    shared.recorder.heard(id, Heard::Expired { horizon: horizon.get() });
                    position = horizon.get();
                    break;
                }
                Some(Err(error)) => {
                    shared.recorder.heard(id, words::end(&error));
                    break;
                }
                None => return shared.closed(id),
            }
            position = watch.position().get();
        }
        shared.closed(id);
    }
}
