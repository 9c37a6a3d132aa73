//! What other processes write, and servers that come back with less than they had.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::ahead::{Ahead, jump};
use super::query::{Answer, Readers, Trouble};
use super::seen::Seen;
use super::session::{Address, Session};
use crate::feed::Feed;
use crate::watch::Record;
use crate::{Error, Filter, Revision};

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
    /// The last record that could not be handed out, until it can, or is forgotten. Who watches across it is told; others are not.
    unreadable: Option<Trouble>,
}

impl Follower {
    pub(crate) fn new(feed: Arc<Feed>, readers: Arc<Readers>) -> Self {
        Self { feed, readers, state: Mutex::default() }
    }

    /// This process wrote, on a server that had what was seen before. What others wrote before is read first.
    pub(crate) async fn written(&self, records: Vec<Record>, before: Seen, newest: Seen) {
        // What was written is there, even if the server has lost something else: whoever follows finds that out.
        let _ = self.readers.note(before, &newest).await;
        let Some(revision) = records.last().map(|record| record.revision) else { return };
        self.feed.push(records);
        if self.feed.head() < revision {
            self.readers.hint.notify_one();
        }
    }

    pub(crate) fn forget(&self, horizon: Revision) {
        self.feed.forget(horizon);
    }

    /// A server that does not have what was seen is moved ahead of it.
    pub(crate) async fn move_ahead(&self, session: &Session, seen: &Seen) -> Result<Ahead, Error> {
        let ahead = jump(session, seen).await?;
        match &ahead {
            Ahead::Jumped(to) => {
                self.readers.newest.jumped(to);
                self.feed.reset(to.revision);
            }
            Ahead::Fine(found) => self.readers.note(*seen, found).await?,
        }
        Ok(ahead)
    }

    /// Why watches do not go on, or could not hand out something.
    pub(crate) fn trouble(&self) -> Option<Error> {
        let state = self.state();
        let unreadable = || state.unreadable.as_ref().map(|trouble| trouble.error.clone());
        state.unavailable.clone().or_else(unreadable)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new, whenever somebody says that there may be something.
    pub(crate) async fn follow(self: Arc<Self>, address: Address) {
        loop {
            let _ = timeout(LOOK_ANYWAY, self.readers.hint.notified()).await;
            // A server that does not answer is asked again at the next hint.
            let done = match self.catch_up(&address).await {
                Ok(()) => self.look_again().await,
                Err(error) => Err(error),
            };
            self.state().unavailable = done.err();
        }
    }

    async fn catch_up(&self, address: &Address) -> Result<(), Error> {
        loop {
            let after = self.feed.head();
            let Some(Answer { testimony, records, trouble }) = self.everything(after, BURST).await? else {
                let session = Session::connect(address).await.map_err(|fault| fault.harmless())?;
                match self.move_ahead(&session, &self.readers.newest.get()).await? {
                    Ahead::Jumped(_) => continue,
                    // Another process was faster, or another server answers now: looked at again soon.
                    Ahead::Fine(_) => return Ok(()),
                }
            };
            if after < testimony.horizon {
                // Somebody forgot what was not read here yet: those who waited for it are told.
                self.feed.reset(testimony.head);
                continue;
            }
            let is_all = records.is_empty() && trouble.is_none();
            self.feed.push(records);
            if let Some(trouble) = trouble {
                // Watchers that come to it ask the tables, and are told what is wrong. Others go on behind it.
                self.feed.reset(trouble.up_to);
                self.state().unreadable = Some(trouble);
            }
            if is_all {
                return Ok(());
            }
        }
    }

    async fn everything(&self, after: Revision, limit: usize) -> Result<Option<Answer>, Error> {
        self.readers.records_now(after, limit, &Filter::everything()).await
    }

    /// Looks whether what could not be read can be by now, or is forgotten.
    async fn look_again(&self) -> Result<(), Error> {
        let Some(up_to) = self.state().unreadable.as_ref().map(|trouble| trouble.up_to) else {
            return Ok(());
        };
        let before = Revision::new(up_to.get().saturating_sub(1));
        if let Some(found) = self.everything(before, 1).await?
            && (found.trouble.is_none() || found.testimony.horizon >= up_to)
        {
            self.state().unreadable.take_if(|trouble| trouble.up_to == up_to);
        }
        Ok(())
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
        let (client, mut connection) = address.connect().await?;
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
