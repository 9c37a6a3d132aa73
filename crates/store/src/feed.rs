//! The newest records in memory, and watchers that read them.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::watch::{Bookmarks, Event, Record, Signal, Tail, Watch, WatchRequest};
use crate::{Error, Filter, Limits, Revision, Stored};

/// Records that are read from the tables at once by a watcher that is behind the window.
const CATCH_UP: usize = 512;

/// How long a watcher waits before it asks again for what could not be said: whether it can be, nobody tells.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Events that a watcher takes from the window at once.
const BURST: usize = 64;

/// The newest records; each is pushed once, in order, when it is durable.
#[derive(Debug)]
pub(crate) struct Feed {
    window: RwLock<Window>,
    head: watch::Sender<State>,
    max_records: usize,
    max_bytes: u64,
}

/// What watchers wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    head: u64,
    /// A number that grows when watchers must look at the tables, whatever the window says.
    upheaval: u64,
    is_open: bool,
}

#[derive(Debug)]
struct Window {
    /// The revision before the first record.
    start: u64,
    /// The revision of the last record, or the start if there is none.
    head: u64,
    records: VecDeque<Record>,
    bytes: u64,
}

/// Where records behind the window are.
#[async_trait]
pub(crate) trait Log: Send + Sync {
    /// What is behind a revision. [`Error::Expired`] below the horizon.
    ///
    /// A record of which neither side is for the filter may come without them.
    async fn read(&self, after: Revision, limit: usize, filter: &Filter) -> Result<Logged, Error>;
}

/// What a log says.
#[derive(Debug)]
pub(crate) enum Logged {
    /// Some of the records, in order and without gaps; none only if there are none.
    Records(Vec<Record>),
    /// Nothing can be said now; later it can.
    NotNow,
}

impl Feed {
    /// A feed for a store whose newest revision this is.
    pub(crate) fn new(head: Revision, limits: &Limits) -> Self {
        let head = head.get();
        Self {
            window: RwLock::new(Window { start: head, head, records: VecDeque::new(), bytes: 0 }),
            head: watch::Sender::new(State { head, upheaval: 0, is_open: true }),
            max_records: limits.max_window,
            max_bytes: limits.max_window_bytes.get(),
        }
    }

    pub(crate) fn head(&self) -> Revision {
        Revision::new(self.head.borrow().head)
    }

    /// Makes records visible to watchers. Takes those that follow what is there; records behind a gap are left to whoever fills it.
    pub(crate) fn push(&self, records: Vec<Record>) {
        {
            let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
            for record in records {
                if record.revision.get() != window.head + 1 {
                    continue;
                }
                window.head += 1;
                window.bytes += weight(&record);
                window.records.push_back(record);
            }
            while window.records.len() > self.max_records || window.bytes > self.max_bytes {
                let Some(oldest) = window.records.pop_front() else { break };
                window.bytes -= weight(&oldest);
                window.start = oldest.revision.get();
            }
            // Still under the lock, so that heads are told in order.
            self.head.send_modify(|state| state.head = window.head);
        }
    }

    /// Forgets records up to a revision: they are below the horizon.
    pub(crate) fn forget(&self, horizon: Revision) {
        let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
        while window.records.front().is_some_and(|oldest| oldest.revision <= horizon) {
            let Some(oldest) = window.records.pop_front() else { break };
            window.bytes -= weight(&oldest);
            window.start = oldest.revision.get();
        }
    }

    /// Forgets all records: history was cut, or jumped. Watchers look at the tables next.
    pub(crate) fn reset(&self, head: Revision) {
        let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
        *window = Window { start: head.get(), head: head.get(), records: VecDeque::new(), bytes: 0 };
        self.head.send_modify(|state| {
            state.head = head.get();
            state.upheaval += 1;
        });
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.head.send_modify(|state| state.is_open = false);
    }

    pub(crate) fn watch(
        self: &Arc<Self>,
        request: WatchRequest,
        position: Revision,
        log: Arc<dyn Log>,
    ) -> Watch {
        let head = self.head.subscribe();
        let upheaval = head.borrow().upheaval;
        Watch::new(FeedTail {
            feed: self.clone(),
            log,
            head,
            filter: request.filter,
            bookmarks: request.bookmarks,
            ready: VecDeque::new(),
            position,
            reached: position,
            told: position,
            upheaval,
        })
    }

    /// Takes matching events behind a position from the window, or says that they are not there any more.
    fn take(&self, after: Revision, filter: &Filter) -> Taken {
        let window = self.window.read().unwrap_or_else(PoisonError::into_inner);
        let Some(skip) = after.get().checked_sub(window.start) else { return Taken::Behind };
        let mut events = VecDeque::new();
        let mut reached = after;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        if skip < window.records.len() {
            for record in window.records.range(skip..) {
                reached = record.revision;
                if let Some(event) = record.through(filter) {
                    events.push_back(event);
                    if events.len() == BURST {
                        break;
                    }
                }
            }
        }
        Taken::Events { events, reached }
    }
}

enum Taken {
    Behind,
    Events { events: VecDeque<Event>, reached: Revision },
}

fn weight(record: &Record) -> u64 {
    let size = |stored: &Arc<Stored>| {
        stored.object.value.len() + stored.object.attributes.len() + stored.key.as_str().len()
    };
    // The object before is mostly that of an earlier record.
    (record.after.as_ref().or(record.before.as_ref()).map_or(0, size) + 256) as u64
}

struct FeedTail {
    feed: Arc<Feed>,
    log: Arc<dyn Log>,
    head: watch::Receiver<State>,
    filter: Filter,
    bookmarks: Bookmarks,
    /// Events that were taken and not handed out.
    ready: VecDeque<Event>,
    /// All up to here was handed out.
    position: Revision,
    /// All up to here was taken.
    reached: Revision,
    /// The revision of the last signal.
    told: Revision,
    upheaval: u64,
}

/// What came of taking more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advance {
    More,
    Nothing,
    NotNow,
}

impl FeedTail {
    /// Takes more.
    async fn advance(&mut self) -> Result<Advance, Error> {
        let state = *self.head.borrow_and_update();
        if !state.is_open {
            return Err(Error::Unavailable { cause: "the store is closed".into() });
        }
        let before = self.reached;
        let taken = if state.upheaval == self.upheaval {
            self.feed.take(self.reached, &self.filter)
        } else {
            Taken::Behind
        };
        match taken {
            Taken::Events { events, reached } => {
                self.ready = events;
                self.reached = reached;
            }
            Taken::Behind => {
                let Logged::Records(records) = self.log.read(self.reached, CATCH_UP, &self.filter).await?
                else {
                    return Ok(Advance::NotNow);
                };
                self.upheaval = state.upheaval;
                self.ready = records.iter().filter_map(|record| record.through(&self.filter)).collect();
                self.reached = records.last().map_or(self.reached, |record| record.revision);
            }
        }
        Ok(if self.reached > before { Advance::More } else { Advance::Nothing })
    }

    fn bookmark(&mut self) -> Option<Signal> {
        let Bookmarks::Every(number) = self.bookmarks else { return None };
        if self.position.get() - self.told.get() < number.get() {
            return None;
        }
        self.told = self.position;
        Some(Signal::Bookmark(self.position))
    }
}

#[async_trait]
impl Tail for FeedTail {
    async fn next(&mut self) -> Result<Signal, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.position = event.revision;
                self.told = event.revision;
                return Ok(Signal::Event(event));
            }
            self.position = self.reached;
            let closed = |_| Error::Unavailable { cause: "the store is closed".into() };
            match self.advance().await? {
                Advance::More => {}
                Advance::NotNow => {
                    // What changes meanwhile is only a reason to ask earlier.
                    timeout(ASK_AGAIN, self.head.changed()).await.unwrap_or(Ok(())).map_err(closed)?;
                }
                Advance::Nothing => {
                    if let Some(bookmark) = self.bookmark() {
                        return Ok(bookmark);
                    }
                    self.head.changed().await.map_err(closed)?;
                }
            }
        }
    }

    fn position(&self) -> Revision {
        self.position
    }
}
