//! Runs a controller: takes keys of work, and does them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::controller::{Context, Controller};
use crate::hub::Change;
use crate::work::{Ended, Work};

/// A controller whose type of keys nobody needs to know.
#[async_trait]
pub(crate) trait Driven: Send + Sync {
    /// Hears of a change.
    fn see(&self, change: &Change<'_>);

    /// Works until the token. What is under way is dropped: a request that was sent is finished by the server, and the rest is work of the next start.
    async fn run(&self, context: Context, stop: CancellationToken);
}

/// Makes a controller ready to run.
pub(crate) fn drive<C: Controller>(controller: C) -> Arc<dyn Driven> {
    Arc::new(Driver { controller, work: Mutex::default(), woken: Notify::new() })
}

struct Driver<C: Controller> {
    controller: C,
    work: Mutex<Work<C::Key>>,
    woken: Notify,
}

impl<C: Controller> Driver<C> {
    fn with<T>(&self, act: impl FnOnce(&mut Work<C::Key>) -> T) -> T {
        act(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn once(&self, context: &Context, key: C::Key) -> (C::Key, Ended) {
        match self.controller.reconcile(context, &key).await {
            Ok(next) => (key, Ended::Well(next)),
            Err(error) => {
                tracing::info!(controller = C::NAME, ?key, %error, "tried again later");
                (key, Ended::Failed)
            }
        }
    }
}

#[async_trait]
impl<C: Controller> Driven for Driver<C> {
    fn see(&self, change: &Change<'_>) {
        let keys = self.controller.see(change);
        if keys.is_empty() {
            return;
        }
        let now = Instant::now();
        self.with(|work| keys.into_iter().for_each(|key| work.push(key, now)));
        self.woken.notify_one();
    }

    async fn run(&self, context: Context, stop: CancellationToken) {
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < C::AT_ONCE {
                let Some(key) = self.with(|work| work.take(Instant::now())) else { break };
                running.push(self.once(&context, key));
            }
            let next = if running.len() < C::AT_ONCE { self.with(|work| work.next()) } else { None };
            tokio::select! {
                () = stop.cancelled() => return,
                Some((key, ended)) = running.next(), if !running.is_empty() => {
                    self.with(|work| work.end(key, ended, Instant::now()));
                }
                () = self.woken.notified() => {}
                keys = self.controller.asked() => {
                    let now = Instant::now();
                    self.with(|work| keys.into_iter().for_each(|key| work.push(key, now)));
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }
}
