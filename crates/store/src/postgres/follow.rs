//! What other processes write, and servers that come back with less than they had.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, NoTls};

use super::counter::take_counter;
use super::query::{Readers, Trouble, signed};
use super::seen::Seen;
use super::session::{Address, Session, at_commit, harmless};
use crate::feed::Feed;
use crate::limits::RESTORE_JUMP;
use crate::watch::Record;
use crate::{Error, Revision};

/// Records that are read at once.
const BURST: usize = 512;

/// How long nothing is heard before the tables are looked at anyway: a notification is only a hint.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);

/// How long to wait before a lost connection is made again.
const RECONNECT: Duration = Duration::from_millis(200);

/// Keeps the feed of this process up to date.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) feed: Arc<Feed>,
    pub(crate) readers: Arc<Readers>,
    state: Mutex<State>,
}

/// How the following goes.
#[derive(Debug, Default)]
struct State {
    /// Why the tables could not be read the last time.
    unavailable: Option<Error>,
    /// The last record that could not be handed out. Who watches across it is told; others are not.
    unreadable: Option<Error>,
}

impl Follower {
    pub(crate) fn new(feed: Arc<Feed>, readers: Arc<Readers>) -> Self {
        Self { feed, readers, state: Mutex::default() }
    }

    /// This process wrote. What others wrote before is read first.
    pub(crate) fn written(&self, records: Vec<Record>, stamp: Option<i64>) {
        let Some(revision) = records.last().map(|record| record.revision) else { return };
        self.readers.newest.raise(Seen { revision, stamp });
        self.feed.push(records);
        if self.feed.head() < revision {
            self.readers.hint.notify_one();
        }
    }

    pub(crate) fn forget(&self, horizon: Revision) {
        self.feed.forget(horizon);
    }

    /// A server that had lost something goes on from here.
    pub(crate) fn reset(&self, head: Revision) {
        self.readers.newest.raise(Seen { revision: head, stamp: None });
        self.feed.reset(head);
    }

    /// Why watches do not go on, or could not hand out something.
    pub(crate) fn trouble(&self) -> Option<Error> {
        let state = self.state();
        state.unavailable.clone().or_else(|| state.unreadable.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new, whenever somebody says that there may be something.
    pub(crate) async fn follow(self: Arc<Self>, address: Address) {
        loop {
            let _ = timeout(LOOK_ANYWAY, self.readers.hint.notified()).await;
            // A server that does not answer is asked again at the next hint.
            let done = self.catch_up(&address).await;
            self.state().unavailable = done.err();
        }
    }

    async fn catch_up(&self, address: &Address) -> Result<(), Error> {
        loop {
            let after = self.feed.head();
            let (seen, found) = self.readers.records_now(after, BURST).await?;
            if !found.testimony.confirms(&seen) {
                let session = Session::connect(address).await.map_err(|fault| fault.harmless())?;
                let head = jump(&session, &seen).await?;
                self.reset(head);
                continue;
            }
            self.readers.newest.raise(found.newest);
            if after < found.testimony.horizon {
                // Somebody forgot what was not read here yet: those who waited for it are told.
                self.feed.reset(found.testimony.head);
                continue;
            }
            let is_all = found.records.is_empty() && found.trouble.is_none();
            self.feed.push(found.records);
            if let Some(Trouble { error, up_to }) = found.trouble {
                // Watchers that come to it ask the tables, and are told what is wrong. Others go on behind it.
                self.state().unreadable = Some(error);
                self.feed.reset(up_to);
            }
            if is_all {
                return Ok(());
            }
        }
    }

    /// Listens to other processes.
    pub(crate) async fn listen(self: Arc<Self>, address: Address, channel: String) {
        loop {
            // Whatever ended it, it is begun again.
            let _ = self.try_listen(&address, &channel).await;
            self.readers.hint.notify_one();
            sleep(RECONNECT).await;
        }
    }

    async fn try_listen(&self, address: &Address, channel: &str) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = address.config.connect(NoTls).await?;
        let listen = format!("LISTEN {channel}");
        let mut begin = std::pin::pin!(client.batch_execute(&listen));
        let mut has_begun = false;
        loop {
            tokio::select! {
                done = &mut begin, if !has_begun => {
                    done?;
                    has_begun = true;
                    // What was written before is not told.
                    self.readers.hint.notify_one();
                }
                message = poll_fn(|context| connection.poll_message(context)) => match message {
                    Some(Ok(AsyncMessage::Notification(_))) => self.readers.hint.notify_one(),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                }
            }
        }
    }
}

/// Moves a server that does not have what was seen ahead of it, and forgets its history, as a restore does. Returns its head.
///
/// Several processes may notice; one of them does it.
pub(crate) async fn jump(session: &Session, seen: &Seen) -> Result<Revision, Error> {
    let done = try_jump(session, seen).await;
    if done.is_err() && !session.client.is_closed() {
        let _ = session.client.batch_execute("ROLLBACK").await;
    }
    done
}

async fn try_jump(session: &Session, seen: &Seen) -> Result<Revision, Error> {
    let failed = |error: tokio_postgres::Error| harmless(&error);
    session.client.batch_execute("BEGIN").await.map_err(failed)?;
    let counter = take_counter(session, seen).await?;
    let mut head = counter.testimony.head;
    if !counter.testimony.confirms(seen) {
        let newest = head.max(seen.revision).get();
        head = Revision::new(newest.saturating_add(RESTORE_JUMP).min(i64::MAX as u64));
        let old = "SELECT revision FROM version v WHERE NOT EXISTS (SELECT 1 FROM current c WHERE c.revision = v.revision)";
        // Who had a lease may have lost it on the server that is gone: nobody has one.
        session
            .client
            .batch_execute(&format!(
                "DELETE FROM blob_use WHERE revision IN ({old});
                 DELETE FROM version WHERE revision IN ({old});
                 DELETE FROM blob b WHERE NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.digest = b.digest);
                 DELETE FROM lease"
            ))
            .await
            .map_err(failed)?;
        let sql = "UPDATE meta SET head = $1, horizon = $1, fence = fence + $2, stamp = NULL";
        let numbers = [signed(head.get()), signed(RESTORE_JUMP)];
        session.client.execute(sql, &[&numbers[0], &numbers[1]]).await.map_err(failed)?;
    }
    session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
    Ok(head)
}
