//! What other processes write, and servers that come back with less than they had.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, NoTls};

use super::query::{Bounds, Readers, signed, unsigned};
use super::session::{Address, Session, harmless};
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
    pub(crate) hint: Notify,
}

impl Follower {
    /// The newest revision that was seen here.
    pub(crate) fn head(&self) -> Revision {
        self.feed.head()
    }

    /// This process wrote. What others wrote before is read first.
    pub(crate) fn written(&self, records: Vec<Record>) {
        let Some(last) = records.last().map(|record| record.revision) else { return };
        self.feed.push(records);
        if self.feed.head() < last {
            self.hint.notify_one();
        }
    }

    pub(crate) fn forget(&self, horizon: Revision) {
        self.feed.forget(horizon);
    }

    pub(crate) fn reset(&self, head: Revision) {
        self.feed.reset(head);
    }

    /// Reads what is new, whenever somebody says that there may be something.
    pub(crate) async fn follow(self: Arc<Self>, address: Address) {
        loop {
            let _ = timeout(LOOK_ANYWAY, self.hint.notified()).await;
            // A server that does not answer is asked again at the next hint.
            let _ = self.catch_up(&address).await;
        }
    }

    async fn catch_up(&self, address: &Address) -> Result<(), Error> {
        loop {
            let seen = self.feed.head();
            let (Bounds { head, horizon }, records) = self.readers.records(seen, BURST).await?;
            if head < seen {
                let session = Session::connect(address).await.map_err(|fault| fault.harmless())?;
                let head = jump(&session, seen).await?;
                self.feed.reset(head);
            } else if seen < horizon {
                // Somebody forgot what was not read here yet: those who waited for it are told.
                self.feed.reset(head);
            } else if records.is_empty() {
                return Ok(());
            } else {
                self.feed.push(records);
            }
        }
    }

    /// Listens to other processes.
    pub(crate) async fn listen(self: Arc<Self>, address: Address, channel: String) {
        loop {
            // Whatever ended it, it is begun again.
            let _ = self.try_listen(&address, &channel).await;
            self.hint.notify_one();
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
                    self.hint.notify_one();
                }
                message = poll_fn(|context| connection.poll_message(context)) => match message {
                    Some(Ok(AsyncMessage::Notification(_))) => self.hint.notify_one(),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                }
            }
        }
    }
}

/// Moves a server that is behind what was seen ahead of it, and forgets its history, as a restore does. Returns its head.
///
/// Several processes may notice; one of them does it.
pub(crate) async fn jump(session: &Session, seen: Revision) -> Result<Revision, Error> {
    let done = try_jump(session, seen).await;
    if done.is_err() && !session.client.is_closed() {
        let _ = session.client.batch_execute("ROLLBACK").await;
    }
    done.map_err(|error| harmless(&error))
}

async fn try_jump(session: &Session, seen: Revision) -> Result<Revision, tokio_postgres::Error> {
    session.client.batch_execute("BEGIN").await?;
    let found = session.client.query_one("SELECT head FROM meta FOR UPDATE", &[]).await?;
    let mut head = unsigned(&found, 0);
    if head < seen.get() {
        head = seen.get().saturating_add(RESTORE_JUMP).min(i64::MAX as u64);
        let old = "SELECT revision FROM version v WHERE NOT EXISTS (SELECT 1 FROM current c WHERE c.revision = v.revision)";
        session
            .client
            .batch_execute(&format!(
                "DELETE FROM blob_use WHERE revision IN ({old});
                 DELETE FROM version WHERE revision IN ({old});
                 DELETE FROM blob b WHERE NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.digest = b.digest);
                 DELETE FROM lease"
            ))
            .await?;
        let sql = "UPDATE meta SET head = $1, horizon = $1, fence = fence + $2";
        session.client.execute(sql, &[&signed(head), &signed(RESTORE_JUMP)]).await?;
    }
    session.client.batch_execute("COMMIT").await?;
    Ok(Revision::new(head))
}
