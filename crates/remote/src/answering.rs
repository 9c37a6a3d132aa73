//! A server of an evaluator.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Evaluator, FunctionRef, Grants, Request};
use lanai_krm::ResourceList;
use tonic::{Code, Status};

use crate::gate::{Gate, GateLimits};
use crate::metrics::Metrics;
use crate::proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use crate::service::Handler;
use crate::{annotations, status};

/// Runs functions for callers in other processes, by an evaluator; so many at once as the gate lets in. Nothing is granted to any function.
pub struct Runner {
    evaluator: Arc<dyn Evaluator>,
    gate: Arc<Gate>,
    metrics: Metrics,
    /// What stands before names of images that have no registry.
    prefix: String,
}

impl Runner {
    /// Runs functions by this evaluator.
    pub fn new(evaluator: Arc<dyn Evaluator>, limits: GateLimits, prefix: impl Into<String>) -> Self {
        Self { evaluator, gate: Gate::new(limits), metrics: Metrics::default(), prefix: prefix.into() }
    }

    async fn run(
        &self,
        image: &str,
        list: &[u8],
        deadline: &Deadline,
    ) -> Result<(Answer, &'static str), Status> {
        let text = std::str::from_utf8(list)
            .map_err(|cause| Status::invalid_argument(format!("the resource list is no text: {cause}")))?;
        let mut list = ResourceList::parse(text).map_err(|cause| {
            Status::invalid_argument(format!("the resource list cannot be read: {cause}"))
        })?;
        let full = |cause: crate::Full| Status::resource_exhausted(cause.to_string());
        let _pass = tokio::select! {
            biased;
            () = deadline.cancel.cancelled() => return Err(Status::unavailable("the server ends")),
            entered = tokio::time::timeout(deadline.left(), self.gate.enter(image)) => match entered {
                Ok(pass) => pass.map_err(full)?,
                Err(_) => return Err(Status::deadline_exceeded(format!("\"{image}\" waited for its turn for too long"))),
            },
        };
        let noted = annotations::note(&mut list);
        let function = FunctionRef::Image(self.resolved(image));
        let request = Request { function, list, grants: Grants::default() };
        let response =
            self.evaluator.evaluate(request, deadline).await.map_err(|error| status::of(image, error))?;
        let mut list = response.list;
        noted.put_back(&mut list).map_err(|cause| {
            Status::internal(format!("the answer of \"{image}\" cannot be written: {cause}"))
        })?;
        let answer = Answer { list: list.to_string(), stderr: response.stderr };
        Ok((answer, if response.evaluator.is_empty() { "unknown" } else { response.evaluator }))
    }

    /// The image with its registry.
    fn resolved(&self, image: &str) -> String {
        if image.contains('/') || self.prefix.is_empty() {
            return image.to_owned();
        }
        format!("{}/{image}", self.prefix.trim_end_matches('/'))
    }
}

struct Answer {
    list: String,
    stderr: String,
}

#[async_trait]
impl Handler for Runner {
    async fn evaluate(
        &self,
        request: EvaluateFunctionRequest,
        deadline: Deadline,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let begun = Instant::now();
        let EvaluateFunctionRequest { resource_list, image } = request;
        let done = self.run(&image, &resource_list, &deadline).await;
        let took = begun.elapsed();
        let (evaluator, code) = match &done {
            Ok((_, evaluator)) => (*evaluator, Code::Ok),
            Err(status) => ("none", status.code()),
        };
        self.metrics.record(evaluator, &image, code, took);
        let milliseconds = took.as_secs_f64() * 1e3;
        match done {
            Ok((answer, evaluator)) => {
                tracing::info!(image, evaluator, milliseconds, "a function ran");
                Ok(EvaluateFunctionResponse {
                    resource_list: answer.list.into_bytes(),
                    log: answer.stderr.into_bytes(),
                })
            }
            Err(status) => {
                let (code, error) = (status.code(), status::beginning(status.message(), 512));
                tracing::warn!(image, ?code, error, milliseconds, "a function did not run, or failed");
                Err(status)
            }
        }
    }

    fn metrics(&self) -> String {
        self.metrics.text(self.gate.load())
    }
}
