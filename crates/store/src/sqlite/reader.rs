//! Threads that read. Each has a connection of its own, and none of them blocks the writer.
//!
//! What is found by its key takes less time than it takes to wake a thread, and is read where it is asked for, one at a time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

use crate::Error;

/// Reads that wait at most, beyond those that run.
const QUEUE: usize = 1_024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The threads, which end with this.
#[derive(Debug)]
pub(crate) struct Readers {
    /// For what is quick.
    here: Mutex<Connection>,
    jobs: Option<Sender<Job>>,
    room: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each connection but one.
    pub(crate) fn start(here: Connection, connections: Vec<Connection>) -> std::io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::new();
        for (at, connection) in connections.into_iter().enumerate() {
            let queue = queue.clone();
            let name = format!("store-reader-{at}");
            threads.push(Builder::new().name(name).spawn(move || serve(connection, &queue))?);
        }
        Ok(Self { here: Mutex::new(here), jobs: Some(jobs), room: Arc::new(Semaphore::new(QUEUE)), threads })
    }

    /// Runs a read that takes no longer than it takes to wake a thread; on one of the threads where another one is being run here.
    pub(crate) async fn run_quick<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if let Ok(mut connection) = self.here.try_lock() {
            return read(&mut connection);
        }
        self.run(read).await
    }

    /// Runs a read on one of the threads. Waits where too many wait already.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let closed = || Error::Unavailable { cause: "the store is closed".into() };
        let permit = self.room.clone().acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let _ = reply.send(read(connection));
            drop(permit);
        });
        self.jobs.as_ref().ok_or_else(closed)?.send(job).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(mut connection: Connection, queue: &Mutex<Receiver<Job>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        job(&mut connection);
    }
}
