//! Following objects.
//!
//! A watch is a stream that is asked: nothing is kept for a client that does not read, and no writer waits for one.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::FutureExt;
use futures_util::stream::{StreamExt, unfold};
use lanai_store::{
    At, Bookmarks, Change, Continue, Error, ListRequest, Revision, Signal, Watch, WatchFrom, WatchRequest,
};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::accept::{Accept, Format};
use crate::core::{Call, Core};
use crate::query::{Bookmarked, Initial, Start, WatchOptions};
use crate::reply::{Reply, ReplyBody};
use crate::selector::Selection;
use crate::status::Status;
use crate::verbs::read;
use crate::view::{Headings, Item, View};

/// How often a client that wants it hears how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// Objects that are read at once at the beginning.
const PAGE: usize = 500;
/// Events that are sent together when they are there together.
const MAX_TOGETHER: usize = 256;

/// `GET` of a collection with `watch`.
pub(crate) async fn watch(core: &Arc<Core>, call: &Call) -> Result<Reply, Status> {
    let options = WatchOptions::of(&call.query)?;
    let selection = read::selection(call)?;
    let mut view = call.view()?;
    view.accept = Accept { format: Format::Json, ..view.accept };
    let current = core.store.current().await?;
    if options.not_older > current {
        return Err(Error::TooNew { asked: options.not_older, current }.into());
    }
    let timeout = options.timeout.unwrap_or(core.limits.watch_time).min(core.limits.watch_time);
    let phase = match options.start {
        Start::State(initial) => Phase::State { at: At::Latest, initial },
        Start::After(revision) => Phase::Open(WatchFrom::After(revision)),
        Start::Now => Phase::Open(WatchFrom::Now),
    };
    let state = State {
        core: core.clone(),
        view,
        selection,
        bookmarks: options.bookmarks,
        phase,
        waiting: VecDeque::new(),
        headings: Headings::Shown,
        ends: Instant::now() + timeout,
        next_bookmark: Instant::now() + BOOKMARK_EVERY,
    };
    let stream = unfold(state, |mut state| async move { state.step().await.map(|bytes| (bytes, state)) });
    Ok(Reply::raw(Format::Json, ReplyBody::Stream(stream.boxed())))
}

struct State {
    core: Arc<Core>,
    view: View,
    selection: Selection,
    bookmarks: Bookmarked,
    phase: Phase,
    waiting: VecDeque<Bytes>,
    headings: Headings,
    ends: Instant,
    next_bookmark: Instant,
}

enum Phase {
    /// Sends what is there, page by page.
    State { at: At, initial: Initial },
    /// Begins to follow.
    Open(WatchFrom),
    /// Follows.
    Live(Watch),
    /// Has ended.
    Over,
}

enum Woken {
    Signal(Result<Signal, Error>),
    Bookmark,
    Ending,
}

impl State {
    /// The next bytes; none at the end.
    async fn step(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.waiting.pop_front() {
                return Some(bytes);
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::State { at, initial } => self.state(at, initial).await,
                Phase::Open(from) => {
                    let filter = self.selection.filter.clone();
                    let request = WatchRequest { filter, from, bookmarks: Bookmarks::Never };
                    match self.core.store.watch(request).await {
                        Ok(watch) => Phase::Live(watch),
                        Err(error) => self.fail(&error.into()),
                    }
                }
                Phase::Live(watch) => self.live(watch).await,
            };
        }
    }

    async fn state(&mut self, at: At, initial: Initial) -> Phase {
        let limit = NonZeroUsize::new(PAGE);
        let request = ListRequest { filter: self.selection.filter.clone(), at, limit };
        let page = match self.core.store.list(&request).await {
            Ok(page) => page,
            Err(error) => return self.fail(&error.into()),
        };
        let revision = page.revision;
        let mut bytes = Vec::new();
        for stored in page.items {
            if !self.selection.admits_key(&stored.key) {
                continue;
            }
            let at = stored.revision;
            match self.frame("ADDED", Item::Row(stored, at)) {
                Ok(frame) => bytes.extend(frame),
                Err(status) => return self.fail(&status),
            }
        }
        if !bytes.is_empty() {
            self.waiting.push_back(bytes.into());
        }
        if let Some(next) = page.next {
            return Phase::State { at: At::Continue(Continue { revision, ..next }), initial };
        }
        if initial == Initial::Marked && self.bookmarks == Bookmarked::Yes {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            self.waiting.push_back(self.view.bookmark(revision, Some(annotations)).into());
        }
        Phase::Open(WatchFrom::After(revision))
    }

    async fn live(&mut self, mut watch: Watch) -> Phase {
        let wants_bookmark = self.bookmarks == Bookmarked::Yes;
        let woken = tokio::select! {
            biased;
            () = self.core.ending.cancelled() => Woken::Ending,
            () = sleep_until(self.ends) => Woken::Ending,
            signal = watch.next() => Woken::Signal(signal),
            () = sleep_until(self.next_bookmark), if wants_bookmark => Woken::Bookmark,
        };
        match woken {
            Woken::Ending => {
                if wants_bookmark {
                    self.bookmark(watch.position());
                }
                Phase::Over
            }
            Woken::Bookmark => {
                self.bookmark(watch.position());
                Phase::Live(watch)
            }
            Woken::Signal(first) => {
                let mut bytes = Vec::new();
                let mut signal = Some(first);
                for _ in 0..MAX_TOGETHER {
                    match signal.take() {
                        None => break,
                        Some(Err(error)) => {
                            self.send(bytes);
                            return self.fail(&error.into());
                        }
                        Some(Ok(Signal::Bookmark(_))) => {}
                        Some(Ok(Signal::Event(event))) => match self.event(event.revision, &event.change) {
                            Ok(frame) => bytes.extend(frame),
                            Err(status) => {
                                self.send(bytes);
                                return self.fail(&status);
                            }
                        },
                    }
                    signal = watch.next().now_or_never();
                }
                self.send(bytes);
                Phase::Live(watch)
            }
        }
    }

    fn send(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.waiting.push_back(bytes.into());
            self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
        }
    }

    fn bookmark(&mut self, position: Revision) {
        let bytes = self.view.bookmark(position, None);
        self.send(bytes);
    }

    fn event(&mut self, revision: Revision, change: &Change) -> Result<Vec<u8>, Status> {
        let word = match change {
            Change::Created { .. } => "ADDED",
            Change::Updated { .. } => "MODIFIED",
            Change::Deleted { .. } => "DELETED",
        };
        let subject = change.subject().clone();
        if !self.selection.admits_key(&subject.key) {
            return Ok(Vec::new());
        }
        self.frame(word, Item::Row(subject, revision))
    }

    fn frame(&mut self, event: &str, item: Item) -> Result<Vec<u8>, Status> {
        self.view.now = (self.core.clock)();
        let frame = self.view.frame(event, item, self.headings);
        self.headings = Headings::Left;
        frame
    }

    /// Tells what happened as the last event.
    fn fail(&mut self, status: &Status) -> Phase {
        let line = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", status.to_value());
        self.waiting.push_back(line.into_bytes().into());
        Phase::Over
    }
}
