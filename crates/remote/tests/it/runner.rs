//! A server of an evaluator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lanai_evaluate::{Deadline, Error, Evaluator, Grants, Variable};
use lanai_remote::proto::{
    HEALTH_CHECK, HEALTH_WATCH, HealthCheckRequest, HealthCheckResponse, ServingStatus,
};
use lanai_remote::{GateLimits, Remote, RemoteOptions, Runner, ServerOptions};
use lanai_types::ByteSize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use crate::{Functions, Running, WEB, failed, request, soon};

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";
const LABELS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  team: shop\n";

fn runner(limits: GateLimits) -> Runner {
    Runner::new(Arc::new(Functions), limits, PREFIX)
}

async fn running() -> Running {
    Running::new(runner(GateLimits::DEFAULT), ServerOptions::default()).await
}

#[tokio::test]
async fn a_function_runs_elsewhere() {
    let running = running().await;
    let response =
        running.client().evaluate(request("set-labels:latest", Some(LABELS)), &soon()).await.unwrap();
    assert_eq!(response.evaluator, "grpc");
    let text = response.list.items[0].to_string();
    let expected = format!("{WEB}  labels:\n    team: shop\nspec:\n  selector:\n    team: shop\n");
    assert_eq!(text, expected, "the comment stays, and nothing else comes with it");
    running.end().await;
}

#[tokio::test]
async fn what_is_unknown_there_is_for_the_next() {
    let running = running().await;
    match running.client().evaluate(request("nobody/knows:v1", None), &soon()).await.unwrap_err() {
        Error::NotFound(request) => assert_eq!(request.list.items[0].to_string(), WEB),
        other => panic!("{other:?}"),
    }
    running.end().await;
}

#[tokio::test]
async fn a_failure_keeps_what_the_function_said() {
    let running = running().await;
    let error = running.client().evaluate(request("set-namespace:latest", None), &soon()).await.unwrap_err();
    let failed = failed(error);
    assert_eq!(failed.exit_code, 1);
    assert!(!failed.results.is_empty() && !failed.stderr.is_empty(), "{failed:?}");
    running.end().await;
}

#[tokio::test]
async fn nothing_can_be_granted() {
    let running = running().await;
    let variables = vec![Variable { name: "A".into(), value: "b".into() }];
    let mut granted = request("set-labels:latest", Some(LABELS));
    granted.grants = Grants { variables, ..Grants::default() };
    let error = running.client().evaluate(granted, &soon()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    running.end().await;
}

#[tokio::test]
async fn a_message_has_a_limit_in_both_directions() {
    let sizes = |limit| async move {
        let options = ServerOptions { max_message: ByteSize::bytes(limit), ..ServerOptions::default() };
        let running = Running::new(runner(GateLimits::DEFAULT), options).await;
        let answer = running.client().evaluate(request("no-op:latest", None), &soon()).await;
        running.end().await;
        answer
    };
    assert!(sizes(100_000).await.is_ok());
    let error = sizes(300).await.unwrap_err();
    assert!(matches!(&error, Error::Infrastructure(text) if text.contains("OutOfRange")), "{error:?}");
}

#[tokio::test]
async fn a_deadline_goes_with_the_call() {
    let running = running().await;
    let begun = Instant::now();
    let deadline = Deadline::after(Duration::from_millis(200));
    let error = running.client().evaluate(request("sleep", None), &deadline).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    running.end().await;
}

#[tokio::test]
async fn a_full_queue_is_told_at_once() {
    let limits = GateLimits { max_running: 1, max_waiting: 1, max_waiting_per_image: 1 };
    let running = Running::new(runner(limits), ServerOptions::default()).await;
    let client = running.client();
    let calls = (0..3).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.evaluate(request("sleep", None), &soon()).await })
    });
    let calls: Vec<_> = calls.collect();
    let mut refused = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(_) => {}
            Err(Error::Infrastructure(text)) if text.contains("too many calls wait already") => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 1);
    running.end().await;
}

#[tokio::test]
async fn what_runs_is_finished_and_nothing_new_is_taken() {
    let running = running().await;
    let client = running.client();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.evaluate(request("sleep", None), &soon()).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let address = running.address.to_string();
    running.end().await;
    assert!(call.await.unwrap().is_ok(), "it was running");
    let late = Remote::new(&address, RemoteOptions::default()).unwrap();
    let error = late.evaluate(request("no-op:latest", None), &soon()).await.unwrap_err();
    assert!(matches!(&error, Error::Infrastructure(text) if text.contains(&address)), "{error:?}");
}

#[tokio::test]
async fn what_does_not_end_is_called_off() {
    let options = ServerOptions { drain: Duration::from_millis(100), ..ServerOptions::default() };
    let running = Running::new(runner(GateLimits::DEFAULT), options).await;
    let client = running.client();
    let call = tokio::spawn(async move { client.evaluate(request("sleep", None), &soon()).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    running.end().await;
    assert!(matches!(call.await.unwrap().unwrap_err(), Error::Cancelled));
}

#[tokio::test]
async fn health_is_told() {
    let running = running().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", running.address)).unwrap();
    let mut grpc: Grpc<Channel> = Grpc::new(endpoint.connect().await.unwrap());
    let codec = ProstCodec::<HealthCheckRequest, HealthCheckResponse>::default;
    let path = http::uri::PathAndQuery::from_static;
    let asked = |service: &str| tonic::Request::new(HealthCheckRequest { service: service.to_owned() });
    for service in ["", "evaluator.FunctionEvaluator"] {
        grpc.ready().await.unwrap();
        let answer = grpc.unary(asked(service), path(HEALTH_CHECK), codec()).await.unwrap();
        assert_eq!(answer.into_inner().status, ServingStatus::Serving as i32);
    }
    grpc.ready().await.unwrap();
    let error = grpc.unary(asked("other"), path(HEALTH_CHECK), codec()).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::NotFound);
    grpc.ready().await.unwrap();
    let error = grpc.unary(asked(""), path("/grpc.health.v1.Health/List"), codec()).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::Unimplemented);
    grpc.ready().await.unwrap();
    let watch = grpc.server_streaming(asked(""), path(HEALTH_WATCH), codec()).await.unwrap();
    let mut watch = watch.into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status, ServingStatus::Serving as i32);
    running.stop.cancel();
    assert_eq!(watch.message().await.unwrap().unwrap().status, ServingStatus::NotServing as i32);
    drop((watch, grpc));
    running.end().await;
}

#[tokio::test]
async fn calls_are_counted() {
    let running = running().await;
    let client = running.client();
    client.evaluate(request("no-op:latest", None), &soon()).await.unwrap();
    client.evaluate(request("nobody/knows:v1", None), &soon()).await.unwrap_err();
    let mut stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    for line in [
        "lanai_functions_running 0",
        "_count{evaluator=\"native\",image=\"no-op:latest\",code=\"ok\"} 1",
        "_count{evaluator=\"none\",image=\"nobody/knows:v1\",code=\"not_found\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    drop(stream);
    running.end().await;
}
