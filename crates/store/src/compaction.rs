//! A compaction that is done a slice at a time, so that writes go on in between.

use tokio::sync::oneshot;

use crate::{Error, Revision};

/// Who is told what came of it.
pub(crate) type Reply = oneshot::Sender<Result<Revision, Error>>;

/// A compaction that goes on.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(crate) target: Revision,
    waiting: Vec<Waiting>,
}

/// Somebody who asked for it.
#[derive(Debug)]
struct Waiting {
    up_to: Revision,
    reply: Reply,
}

impl Compaction {
    pub(crate) const fn new(target: Revision) -> Self {
        Self { target, waiting: Vec::new() }
    }

    /// Goes on up to a revision that is there, if that is farther.
    pub(crate) fn extend(&mut self, up_to: Revision, reply: Option<Reply>) {
        self.target = self.target.max(up_to);
        self.waiting.extend(reply.map(|reply| Waiting { up_to, reply }));
    }

    /// Answers those who have what they asked for; says whether that is all.
    pub(crate) fn reached(&mut self, horizon: Revision) -> bool {
        for done in self.waiting.extract_if(.., |waiting| waiting.up_to <= horizon) {
            let _ = done.reply.send(Ok(horizon));
        }
        horizon >= self.target
    }

    /// Tells all who still wait why there is no more.
    pub(crate) fn fail(self, error: &Error) {
        for waiting in self.waiting {
            let _ = waiting.reply.send(Err(error.clone()));
        }
    }
}
