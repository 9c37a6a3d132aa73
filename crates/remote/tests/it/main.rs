//! Servers and clients on real sockets, with real functions and programs.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod runner;
mod wrapper;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, Failed, Failing, FunctionRef, Grants, Request, Response};
use lanai_krm::{Resource, ResourceList};
use lanai_remote::{Handler, Remote, RemoteOptions, Server, ServerOptions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The functions of the catalog, without anything around them. `sleep` takes a second.
struct Functions;

#[async_trait]
impl Evaluator for Functions {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        if request.function.as_str().ends_with("/sleep") {
            return tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(1)) => Ok(Response { list: request.list, ..Response::default() }),
                () = deadline.cancel.cancelled() => Err(Error::Cancelled),
            };
        }
        let Some(function) = lanai_functions::catalog::find(request.function.as_str()) else {
            return Err(Error::NotFound(Box::new(request)));
        };
        let mut list = request.list;
        match function.run(&mut list) {
            Ok(()) => Ok(Response { list, evaluator: "native", ..Response::default() }),
            Err(failure) => Err(Error::Failed(Box::new(Failed {
                why: Failing::Exit(1),
                exit_code: 1,
                results: list.results,
                stderr: failure.message,
            }))),
        }
    }
}

/// A server that runs.
struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

impl Running {
    async fn new(handler: impl Handler, options: ServerOptions) -> Self {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(local, Arc::new(handler), options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let done = tokio::spawn({
            let stop = stop.clone();
            async move { server.run(stop).await.unwrap() }
        });
        Self { address, stop, done }
    }

    fn client(&self) -> Remote {
        Remote::new(&self.address.to_string(), RemoteOptions::default()).unwrap()
    }

    async fn end(self) {
        self.stop.cancel();
        self.done.await.unwrap();
    }
}

const WEB: &str = "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n";

fn request(image: &str, config: Option<&str>) -> Request {
    let list = ResourceList {
        items: vec![Resource::parse(WEB).unwrap()],
        function_config: config.map(|config| Resource::parse(config).unwrap()),
        ..ResourceList::default()
    };
    Request { function: FunctionRef::Image(image.into()), list, grants: Grants::default() }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

#[track_caller]
fn failed(error: Error) -> Failed {
    match error {
        Error::Failed(failed) => *failed,
        other => panic!("{other:?}"),
    }
}
