//! `grpc.health.v1`.

use std::pin::Pin;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tonic::Status;

use crate::proto::{EVALUATOR, HealthCheckResponse, ServingStatus};

/// How a server is. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Health(watch::Sender<ServingStatus>);

impl Health {
    /// It takes calls.
    pub fn serving() -> Self {
        Self(watch::Sender::new(ServingStatus::Serving))
    }

    /// From now on it takes none.
    pub fn ends(&self) {
        self.0.send_replace(ServingStatus::NotServing);
    }

    pub fn check(&self, service: &str) -> Result<HealthCheckResponse, Status> {
        if !is_known(service) {
            return Err(Status::not_found("there is no such service"));
        }
        Ok(HealthCheckResponse { status: *self.0.borrow() as i32 })
    }

    /// How it is now, and each change; the last one is the end.
    pub fn watch(
        &self,
        service: &str,
    ) -> Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>> {
        let known = is_known(service);
        let first = Some(self.0.subscribe());
        Box::pin(unfold((first, true), move |(receiver, is_first)| async move {
            let mut receiver = receiver?;
            if !is_first && receiver.changed().await.is_err() {
                return None;
            }
            let now = *receiver.borrow_and_update();
            let status = if known { now } else { ServingStatus::ServiceUnknown };
            let next = (now == ServingStatus::Serving).then_some(receiver);
            Some((Ok(HealthCheckResponse { status: status as i32 }), (next, false)))
        }))
    }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || service == EVALUATOR
}
