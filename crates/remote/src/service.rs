//! Which call goes to whom.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use http_body_util::Full;
use lanai_evaluate::Deadline;
use lanai_types::ByteSize;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::health::Health;
use crate::proto::{
    EVALUATE, EvaluateFunctionRequest, EvaluateFunctionResponse, HEALTH_CHECK, HEALTH_WATCH,
    HealthCheckRequest, HealthCheckResponse,
};

/// Answers calls.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Runs a function. When the future is dropped, nothing of the function runs any more.
    async fn evaluate(
        &self,
        request: EvaluateFunctionRequest,
        deadline: Deadline,
    ) -> Result<EvaluateFunctionResponse, Status>;

    /// What is counted, for `/metrics`.
    fn metrics(&self) -> String;
}

/// All services of a server.
#[derive(Clone)]
pub(crate) struct Services {
    pub handler: Arc<dyn Handler>,
    pub health: Health,
    pub max_message: ByteSize,
    pub max_time: Duration,
    /// Called off when the server does not wait any longer.
    pub cancel: CancellationToken,
}

impl tower::Service<http::Request<Body>> for Services {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let services = self.clone();
        Box::pin(async move { Ok(services.answer(request).await) })
    }
}

impl Services {
    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let limit = usize::try_from(self.max_message.get()).unwrap_or(usize::MAX);
        match request.uri().path() {
            EVALUATE => {
                let max_time =
                    timeout(request.headers()).map_or(self.max_time, |asked| asked.min(self.max_time));
                let codec = ProstCodec::<EvaluateFunctionResponse, EvaluateFunctionRequest>::default();
                let grpc = Grpc::new(codec).max_decoding_message_size(limit).max_encoding_message_size(limit);
                let mut grpc = grpc;
                grpc.unary(Evaluate { services: self, max_time }, request).await
            }
            HEALTH_CHECK => {
                let codec = ProstCodec::<HealthCheckResponse, HealthCheckRequest>::default();
                Grpc::new(codec).unary(Check(self.health), request).await
            }
            HEALTH_WATCH => {
                let codec = ProstCodec::<HealthCheckResponse, HealthCheckRequest>::default();
                Grpc::new(codec).server_streaming(Check(self.health), request).await
            }
            "/metrics" if request.method() == http::Method::GET => {
                let body = Body::new(Full::new(Bytes::from(self.handler.metrics())));
                let mut response = http::Response::new(body);
                let text = http::HeaderValue::from_static("text/plain; version=0.0.4");
                response.headers_mut().insert(http::header::CONTENT_TYPE, text);
                response
            }
            _ => Status::unimplemented("there is no such method").into_http(),
        }
    }
}

/// How long a caller waits.
fn timeout(headers: &http::HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number.checked_mul(3_600)?)),
        "M" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

struct Evaluate {
    services: Services,
    max_time: Duration,
}

impl UnaryService<EvaluateFunctionRequest> for Evaluate {
    type Response = EvaluateFunctionResponse;
    type Future = Answer<EvaluateFunctionResponse>;

    fn call(&mut self, request: Request<EvaluateFunctionRequest>) -> Self::Future {
        let Services { handler, cancel, .. } = self.services.clone();
        let deadline = Deadline { cancel: cancel.child_token(), ..Deadline::after(self.max_time) };
        Box::pin(async move { handler.evaluate(request.into_inner(), deadline).await.map(Response::new) })
    }
}

struct Check(Health);

impl UnaryService<HealthCheckRequest> for Check {
    type Response = HealthCheckResponse;
    type Future = Answer<HealthCheckResponse>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let answer = self.0.check(&request.into_inner().service);
        Box::pin(async move { answer.map(Response::new) })
    }
}

impl ServerStreamingService<HealthCheckRequest> for Check {
    type Response = HealthCheckResponse;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;
    type Future = Answer<Self::ResponseStream>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let stream = self.0.watch(&request.into_inner().service);
        Box::pin(async move { Ok(Response::new(stream)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_say_how_long_they_wait() {
        let check = |text: &'static str, expected: Option<Duration>| {
            let mut headers = http::HeaderMap::new();
            headers.insert("grpc-timeout", http::HeaderValue::from_static(text));
            assert_eq!(timeout(&headers), expected, "{text}");
        };
        check("5S", Some(Duration::from_secs(5)));
        check("200m", Some(Duration::from_millis(200)));
        check("1H", Some(Duration::from_hours(1)));
        check("7M", Some(Duration::from_mins(7)));
        check("9u", Some(Duration::from_micros(9)));
        check("3n", Some(Duration::from_nanos(3)));
        for text in ["", "S", "5", "5x", "-5S", "99999999999999999999H"] {
            check(text, None);
        }
    }
}
