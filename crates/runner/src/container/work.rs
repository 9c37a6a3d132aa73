//! One call: a container from its making to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lanai_evaluate::wire::Sent;
use lanai_evaluate::{Deadline, Error, Failed, Failing, Grants, Response};
use lanai_process::{Limits, Status};
use lanai_types::quote::Quoted;
use serde_json::Value;
use tokio::sync::oneshot;

use super::arguments::{self, Making};
use super::control::Control;
use super::engine::{ContainerEngine, MAX_STEP, said, step};
use super::{Inner, image, leftovers};
use crate::answer;

/// How much longer than a function may run, the engine lets a container be that nobody ended.
const NET: Duration = Duration::from_secs(10);
/// How much longer than that a container may be there before it counts as left behind.
const LEFT: Duration = Duration::from_mins(1);

/// The code of a container whose first process was killed.
const KILLED: i32 = 137;

/// What is to be done.
pub(super) struct Call {
    pub inner: Arc<Inner>,
    pub image: String,
    pub grants: Grants,
    pub sent: Sent,
}

/// Ends the call when nobody waits for it, and waits for its end.
struct Owner {
    control: Control,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.control.stop();
            let _ = thread.join();
        }
    }
}

/// Does it, on a thread of its own.
pub(super) async fn run(call: Call, deadline: &Deadline) -> Result<Response, Error> {
    if deadline.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let max_time = call.inner.options.limits.max_time;
    let control = Control::default();
    let (sender, mut answer) = oneshot::channel();
    let (start, begun) = oneshot::channel();
    let inner = control.clone();
    let at = deadline.at;
    let thread = thread::Builder::new().name("container".into()).spawn(move || {
        // Nobody listens when the future was dropped.
        let _ = sender.send(work(&call, at, start, &inner));
    });
    let thread = thread.map_err(|cause| Error::Infrastructure(format!("cannot start a thread: {cause}")))?;
    let mut owner = Owner { control, thread: Some(thread) };
    // The limit counts from the start of the container, the deadline from before.
    let limit = async {
        if begun.await.is_err() {
            return std::future::pending().await;
        }
        tokio::time::sleep(max_time).await;
    };
    let over = tokio::select! {
        done = &mut answer => return finished(done, &mut owner),
        () = deadline.cancel.cancelled() => None,
        () = tokio::time::sleep_until(at.into()) => Some(deadline.limit),
        () = limit => Some(max_time),
    };
    let control = owner.control.clone();
    let stopping = tokio::task::spawn_blocking(move || control.stop());
    let done = answer.await;
    let _ = stopping.await;
    let done = finished(done, &mut owner);
    match over {
        None => Err(Error::Cancelled),
        Some(limit) => {
            let stderr = done.err().map(|error| error.stderr().to_owned()).unwrap_or_default();
            Err(Error::Timeout { limit, stderr })
        }
    }
}

/// The thread has said its last word.
fn finished(
    done: Result<Result<Response, Error>, oneshot::error::RecvError>,
    owner: &mut Owner,
) -> Result<Response, Error> {
    owner.thread = None;
    done.unwrap_or_else(|_| Err(Error::Infrastructure("the thread of a container is gone".into())))
}

/// Removes a container, whatever becomes of the call.
struct Removal<'c> {
    engine: &'c ContainerEngine,
    name: Option<String>,
}

impl Removal<'_> {
    /// Removes it, and says when that fails.
    fn done(mut self) -> Result<(), Error> {
        let Some(name) = self.name.take() else { return Ok(()) };
        self.engine.remove(&name).map_err(|cause| {
            let engine = self.engine;
            Error::Infrastructure(format!(
                "the container {} cannot be removed: {engine} says: {cause}",
                Quoted(&name)
            ))
        })
    }
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = self.engine.remove(&name);
        }
    }
}

fn work(
    call: &Call,
    deadline: Instant,
    start: oneshot::Sender<()>,
    control: &Control,
) -> Result<Response, Error> {
    let Inner { engine, options, leftovers } = &*call.inner;
    let limits = &options.limits;
    let cannot =
        |why: String| Error::Infrastructure(format!("cannot run the image {}: {why}", Quoted(&call.image)));
    leftovers.sweep_once(engine);
    let resolved = image::resolve(engine, &call.image, options, control)?;
    let left = deadline.saturating_duration_since(Instant::now()).min(limits.max_time);
    let net = left.saturating_add(NET);
    let making = Making {
        image_id: &resolved.id,
        name: &name(),
        labels: &leftovers::labels(net.saturating_add(LEFT)),
        grants: &call.grants,
        limits,
        oci_runtime: options.oci_runtime.as_deref(),
        net: net.as_secs(),
    };
    let removal = Removal { engine, name: Some(making.name.to_owned()) };
    let made = control.run(&arguments::create(engine, &making), &[], &step(MAX_STEP))?;
    let made = made.map_err(|cause| cannot(cause.to_string()))?;
    if !made.status.is_success() {
        return Err(cannot(format!("{engine} says: {}", said(&made))));
    }
    let command = engine.command(&["start", "--attach", "--interactive", making.name]);
    let bounds = Limits { max_time: net, max_output: limits.max_output, max_messages: limits.max_stderr };
    // Nobody listens when the call was ended.
    let _ = start.send(());
    let input = call.sent.text().as_bytes();
    let finished = control.attend(&command, input, &bounds, engine, making.name);
    if control.is_stopped() {
        let stderr = finished.map(|finished| finished.messages).unwrap_or_default();
        removal.done()?;
        return Err(Error::Timeout { limit: limits.max_time, stderr });
    }
    let finished = finished.map_err(answer::error)?;
    let end = match finished.status {
        Status::Exited(0) => End::Exited,
        Status::Exited(_) | Status::Killed(_) => End::of(engine, making.name),
    };
    removal.done()?;
    let memory = limits.max_memory;
    match (end, finished.status) {
        (End::NotStarted, _) => Err(cannot(format!("{engine} says: {}{}", said(&finished), hint(options)))),
        (End::Memory, status) => {
            Err(ended(finished.messages, status, format!("it took more than the {memory} of max_memory")))
        }
        // Nobody inside can kill the first process. Not all engines know that it was for its memory.
        (End::Exited, status @ Status::Exited(KILLED)) => {
            let why = format!("it was killed, as what takes more than the {memory} of max_memory is");
            Err(ended(finished.messages, status, why))
        }
        (End::Exited, _) => answer::of(finished, &call.sent),
    }
}

/// A name that no other container has.
fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("lanai-fn-{}-{:x}-{count}", std::process::id(), since.as_micros())
}

/// How a container ended that did not end well.
enum End {
    /// The function never ran.
    NotStarted,
    /// By itself.
    Exited,
    /// It wanted more memory than there is for it.
    Memory,
}

impl End {
    fn of(engine: &ContainerEngine, name: &str) -> Self {
        let words = ["container", "inspect", "--format", "{{json .State}}", name];
        let Ok(answered) = engine.ask(&words) else { return Self::Exited };
        let state: Value = serde_json::from_slice(&answered.output).unwrap_or_default();
        // It was never started, as both spell it.
        let begun = state["StartedAt"].as_str().unwrap_or_default();
        let status = state["Status"].as_str().unwrap_or_default();
        if begun.starts_with("0001-") || matches!(status, "created" | "initialized" | "configured") {
            Self::NotStarted
        } else if state["OOMKilled"] == Value::Bool(true) {
            Self::Memory
        } else {
            Self::Exited
        }
    }
}

/// It was ended for a limit.
fn ended(stderr: String, status: Status, limit: String) -> Error {
    let exit_code = match status {
        Status::Exited(code) => code,
        Status::Killed(_) => 1,
    };
    Error::Failed(Box::new(Failed { why: Failing::Limit(limit), exit_code, results: Vec::new(), stderr }))
}

/// What may help a machine on which no container starts.
fn hint(options: &super::ContainerOptions) -> &'static str {
    match options.oci_runtime {
        Some(_) => "",
        None => {
            "; where this is the fault of the program that starts containers, another one can be named, such as runc"
        }
    }
}
