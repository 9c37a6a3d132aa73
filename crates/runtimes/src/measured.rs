//! How long functions take, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Identity, Outlook, Request, Response};
use lanai_remote::{Code, Metrics};

/// What is counted of all functions of a server.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    calls: Metrics,
    running: AtomicUsize,
}

impl Counted {
    /// In the text form of Prometheus.
    pub fn text(&self) -> String {
        let running = self.running.load(Ordering::Relaxed);
        format!(
            "# TYPE lanai_functions_running gauge\nlanai_functions_running {running}\n{}",
            self.calls.durations()
        )
    }
}

/// Counts what an evaluator of a chain runs. What it does not know is no run of it.
pub(crate) struct Measured {
    pub name: &'static str,
    pub inner: Arc<dyn Evaluator>,
    pub counted: Arc<Counted>,
}

/// One that runs, for as long as it does.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Evaluator for Measured {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let function = request.function.as_str().to_owned();
        let begun = Instant::now();
        let running = Running::new(&self.counted.running);
        let answer = self.inner.evaluate(request, deadline).await;
        drop(running);
        if let Some(code) = code(&answer) {
            let took = begun.elapsed();
            self.counted.calls.record(self.name, &function, code, took);
            let (evaluator, milliseconds) = (self.name, took.as_secs_f64() * 1e3);
            tracing::debug!(function, evaluator, ?code, milliseconds, "a function ran");
        }
        answer
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        self.inner.is_repeatable(function)
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        self.inner.foresee(function, grants)
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        self.inner.identify(function, grants).await
    }
}

/// How a call ended, in the words of gRPC; none if it was none.
fn code(answer: &Result<Response, Error>) -> Option<Code> {
    match answer {
        Ok(_) => Some(Code::Ok),
        Err(Error::NotFound(_)) => None,
        Err(Error::Failed(_)) => Some(Code::Internal),
        Err(Error::Timeout { .. }) => Some(Code::DeadlineExceeded),
        Err(Error::Cancelled) => Some(Code::Cancelled),
        Err(Error::Refused(_)) => Some(Code::PermissionDenied),
        // The list of errors may grow.
        Err(_) => Some(Code::Unavailable),
    }
}
