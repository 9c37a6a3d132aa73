//! The newest records in memory, and watchers that read them.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::watch::{Bookmarks, Event, Record, Signal, Tail, Watch, WatchRequest};
use crate::{Error, Filter, Limits, Revision, Stored};

/// Records that are read from the tables at once by a watcher that is behind the window.
const CATCH_UP: usize = 512;

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
    /// Some of the records behind a revision, in order and without gaps; none only if there are none. [`Error::Expired`] below the horizon.
    async fn read(&self, after: Revision, limit: usize) -> Result<Vec<Record>, Error>;
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
    let size = |stored: &Arc<Stored>| stored.object.value.len() + stored.key.as_str().len();
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

impl FeedTail {
    /// Takes more, and says whether there was any.
    async fn advance(&mut self) -> Result<bool, Error> {
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
                let records = self.log.read(self.reached, CATCH_UP).await?;
                self.upheaval = state.upheaval;
                self.ready = records.iter().filter_map(|record| record.through(&self.filter)).collect();
                self.reached = records.last().map_or(self.reached, |record| record.revision);
            }
        }
        Ok(self.reached > before)
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
            if self.advance().await? {
                continue;
            }
            if let Some(bookmark) = self.bookmark() {
                return Ok(bookmark);
            }
            if self.head.changed().await.is_err() {
                return Err(Error::Unavailable { cause: "the store is closed".into() });
            }
        }
    }

    fn position(&self) -> Revision {
        self.position
    }
}
