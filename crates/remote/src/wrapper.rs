//! A server of one program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use lanai_evaluate::Deadline;
use lanai_krm::ResourceList;
use lanai_process::{Command, Finished, Killer, Limits, Status as Ended};
use lanai_types::ByteSize;
use tonic::{Code, Status};

use crate::gate::{Gate, GateLimits};
use crate::metrics::Metrics;
use crate::proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use crate::service::Handler;
use crate::status::{Details, beginning};

/// Bounds on the program of a [`Wrapper`]. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrapperLimits {
    /// How long it may run.
    pub max_time: Duration,
    /// What it may write to its standard output.
    pub max_output: ByteSize,
    /// How much is kept of what it writes to its standard error output.
    pub max_stderr: ByteSize,
    /// How many run and wait.
    pub gate: GateLimits,
}

impl Default for WrapperLimits {
    fn default() -> Self {
        Self {
            max_time: Duration::from_mins(5),
            max_output: crate::MAX_MESSAGE,
            max_stderr: ByteSize::mib(1),
            gate: GateLimits::DEFAULT,
        }
    }
}

/// Runs the program that a container was made for, once for each call: the list goes to its standard input as it came, and what it writes is the
/// answer. The container around it is its cage.
pub struct Wrapper {
    command: Command,
    limits: WrapperLimits,
    gate: Arc<Gate>,
    metrics: Metrics,
}

impl Wrapper {
    /// Serves this program.
    pub fn new(command: Command, limits: WrapperLimits) -> Self {
        Self { command, limits, gate: Gate::new(limits.gate), metrics: Metrics::default() }
    }

    async fn run(
        &self,
        request: EvaluateFunctionRequest,
        deadline: &Deadline,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let image = request.image;
        let _pass = tokio::select! {
            biased;
            () = deadline.cancel.cancelled() => return Err(Status::unavailable("the server ends")),
            entered = tokio::time::timeout(deadline.left(), self.gate.enter(&image)) => match entered {
                Ok(pass) => pass.map_err(|cause| Status::resource_exhausted(cause.to_string()))?,
                Err(_) => return Err(Status::deadline_exceeded("it waited for its turn for too long")),
            },
        };
        let limits = Limits {
            max_time: deadline.left().min(self.limits.max_time),
            max_output: self.limits.max_output,
            max_messages: self.limits.max_stderr,
        };
        let finished = self.start(request.resource_list, limits, deadline).await;
        let finished = match finished {
            Ok(finished) => finished,
            Err(Stopped::CalledOff) => {
                return Err(Status::cancelled(format!("function \"{image}\" was called off")));
            }
            Err(Stopped::Failed(lanai_process::Error::TooLong { limit, .. })) => {
                let text = format!("function evaluation timed out for \"{image}\" after {limit:?}");
                return Err(Status::deadline_exceeded(text));
            }
            Err(Stopped::Failed(cause)) => {
                return Err(Status::internal(format!("Failed to execute function \"{image}\": {cause}")));
            }
            Err(Stopped::NoThread(cause)) => return Err(Status::unavailable(cause)),
        };
        answer(&image, finished)
    }

    /// Runs the program on a thread of its own. When the future is dropped, the program is killed.
    async fn start(&self, input: Vec<u8>, limits: Limits, deadline: &Deadline) -> Result<Finished, Stopped> {
        let command = self.command.clone();
        let (told, killer) = tokio::sync::oneshot::channel::<Killer>();
        let work = tokio::task::spawn_blocking(move || {
            command.run(&input, &limits, |killer| {
                // Nobody listens any more: what has just begun is ended.
                if let Err(killer) = told.send(killer) {
                    killer.kill();
                }
            })
        });
        let mut guard = Guard { killer: None, waiting: Some(killer) };
        tokio::pin!(work);
        loop {
            let waiting = guard.waiting.take();
            tokio::select! {
                done = &mut work => {
                    guard.killer = None;
                    let done = done.map_err(|cause| Stopped::NoThread(cause.to_string()))?;
                    return done.map_err(Stopped::Failed);
                }
                killer = async { match waiting { Some(waiting) => waiting.await.ok(), None => std::future::pending().await } } => {
                    guard.killer = killer;
                }
                () = deadline.cancel.cancelled() => {
                    drop(guard);
                    let _ = work.await;
                    return Err(Stopped::CalledOff);
                }
            }
        }
    }
}

enum Stopped {
    CalledOff,
    Failed(lanai_process::Error),
    NoThread(String),
}

/// Kills the program when dropped.
struct Guard {
    killer: Option<Killer>,
    waiting: Option<tokio::sync::oneshot::Receiver<Killer>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let late = self.waiting.as_mut().and_then(|waiting| waiting.try_recv().ok());
        for killer in self.killer.take().into_iter().chain(late) {
            killer.kill();
        }
    }
}

/// What a program that ended means for a caller.
fn answer(image: &str, finished: Finished) -> Result<EvaluateFunctionResponse, Status> {
    let Finished { status, output, messages } = finished;
    let list = std::str::from_utf8(&output).map_err(|cause| cause.to_string());
    let list = list.and_then(|text| ResourceList::parse(text).map_err(|cause| cause.to_string()));
    let exit_code = match status {
        Ended::Exited(code) => code,
        // As shells say it.
        Ended::Killed(signal) => 128 + signal,
    };
    match (exit_code, list) {
        (0, Ok(_)) => Ok(EvaluateFunctionResponse { resource_list: output, log: messages.into_bytes() }),
        (0, Err(cause)) => {
            let text = format!(
                "failed to parse the output of function \"{image}\" with stderr '{messages}': {cause}"
            );
            Err(Details { exit_code, stderr: messages, results: Vec::new() }.into_status(&text))
        }
        (_, Ok(list)) => {
            let told: Vec<&str> = list.results.iter().map(|result| result.message.as_str()).collect();
            let text = format!(
                "failed to evaluate function \"{image}\" with structured results: {} and stderr: {messages} ({status})",
                told.join("; ")
            );
            Err(Details { exit_code, stderr: messages, results: list.results }.into_status(&text))
        }
        (_, Err(cause)) => {
            let text = format!(
                "failed to evaluate function \"{image}\" ({status}) with stderr '{messages}': {cause}"
            );
            Err(Details { exit_code, stderr: messages, results: Vec::new() }.into_status(&text))
        }
    }
}

#[async_trait]
impl Handler for Wrapper {
    async fn evaluate(
        &self,
        request: EvaluateFunctionRequest,
        deadline: Deadline,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let (begun, image) = (Instant::now(), request.image.clone());
        let done = self.run(request, &deadline).await;
        let (took, code) = (begun.elapsed(), done.as_ref().err().map_or(Code::Ok, Status::code));
        self.metrics.record("wrapper", &image, code, took);
        let milliseconds = took.as_secs_f64() * 1e3;
        match &done {
            Ok(_) => tracing::info!(image, milliseconds, "the function ran"),
            Err(status) => {
                let exit_code = Details::of(status).map(|details| details.exit_code);
                let error = beginning(status.message(), 512);
                tracing::warn!(image, ?code, exit_code, error, milliseconds, "the function failed");
            }
        }
        done
    }

    fn metrics(&self) -> String {
        self.metrics.text(self.gate.load())
    }
}
