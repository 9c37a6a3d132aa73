//! Spans of requests, with a collector that is there and one that is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use lanai_apiserver::Limits;
use serde_json::Value;

use crate::tls::Access;
use crate::world::{World, options};

/// Listens, takes messages, and hands on what is in them.
fn collector() -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/otel", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            reader.read_line(&mut first).unwrap();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let spans = message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
            for span in spans {
                if sender.send((first.trim().to_owned(), span)).is_err() {
                    return;
                }
            }
        }
    });
    (address, receiver)
}

fn world(collector: &str) -> World {
    World::of(|data| {
        let mut options = options(data, Limits::DEFAULT);
        options.traces = Some(collector.parse().unwrap());
        options
    })
}

/// Asks over a connection, with the header of a trace if there is one.
fn ask(world: &World, path: &str, trace: Option<&str>) -> u16 {
    world.runtime.block_on(async {
        let access = Access::read(&world.kubeconfig());
        let (mut sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
        let mut request = Request::get(format!("https://{}{path}", access.address));
        if let Some(trace) = trace {
            request = request.header("traceparent", trace);
        }
        let response = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        response.into_body().collect().await.unwrap();
        code
    })
}

fn attribute(span: &Value, key: &str) -> String {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == key).unwrap();
    let value = &found["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str()).unwrap().to_owned()
}

#[test]
fn a_collector_hears_of_each_request_in_the_trace_of_its_caller() {
    let (address, heard) = collector();
    let world = world(&address);
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let namespaces = "/api/v1/namespaces/default?token=not-for-others";
    assert_eq!(ask(&world, namespaces, Some(&format!("00-{trace}-{parent}-01"))), 200);
    assert_eq!(ask(&world, "/api/v1/namespaces/kube-system", Some(&format!("00-{trace}-{parent}-00"))), 200);
    assert_eq!(ask(&world, "/api/v1/namespaces/none", None), 404);
    // What waits is brought away when the server ends.
    drop(world);
    let spans: Vec<(String, Value)> = heard.try_iter().collect();
    assert_eq!(spans.len(), 2, "the second one is not to be kept: {spans:?}");
    let (line, first) = &spans[0];
    assert_eq!(line, "POST /otel/v1/traces HTTP/1.1");
    assert_eq!((&first["traceId"], &first["parentSpanId"]), (&trace.into(), &parent.into()));
    assert_eq!(attribute(first, "url.path"), "/api/v1/namespaces/default", "and nothing of the query");
    assert_eq!(attribute(first, "http.response.status_code"), "200");
    let (_, second) = &spans[1];
    assert_eq!(attribute(second, "http.response.status_code"), "404");
    assert!(second["traceId"].as_str().is_some_and(|id| id.len() == 32 && id != trace));
    assert!(second.get("parentSpanId").is_none());
    let time = |span: &Value, field: &str| span[field].as_str().unwrap().parse::<i128>().unwrap();
    assert!(time(first, "startTimeUnixNano") <= time(first, "endTimeUnixNano"));
}

#[test]
fn a_collector_that_is_away_holds_up_nobody() {
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = world(&format!("http://{gone}"));
    for _ in 0..20 {
        assert_eq!(ask(&world, "/api/v1/namespaces/default", None), 200);
    }
    let text = world.get("/metrics").text;
    assert!(text.contains("lanai_spans_dropped_total "), "{text}");
}
