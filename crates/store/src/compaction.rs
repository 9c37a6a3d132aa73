//! A compaction that is done a slice at a time, so that writes go on in between.

use tokio::sync::oneshot;

use crate::{Error, Revision};

/// A compaction that goes on.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(crate) target: Revision,
    replies: Vec<oneshot::Sender<Result<Revision, Error>>>,
}

impl Compaction {
    pub(crate) const fn new(target: Revision) -> Self {
        Self { target, replies: Vec::new() }
    }

    pub(crate) fn extend(
        &mut self,
        up_to: Revision,
        reply: Option<oneshot::Sender<Result<Revision, Error>>>,
    ) {
        self.target = self.target.max(up_to);
        self.replies.extend(reply);
    }

    pub(crate) fn answer(&mut self, outcome: &Result<Revision, Error>) {
        for reply in self.replies.drain(..) {
            let _ = reply.send(outcome.clone());
        }
    }
}
