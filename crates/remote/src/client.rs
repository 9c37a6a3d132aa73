//! An evaluator that asks a server.

use std::time::Duration;

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, Failed, Failing, FunctionRef, Grants, Outlook, Request, Response, wire,
};
use lanai_krm::ResourceList;
use lanai_types::ByteSize;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use crate::proto::{EVALUATE, EvaluateFunctionRequest, EvaluateFunctionResponse};
use crate::status::Details;

/// The name of the evaluator.
const NAME: &str = "grpc";

/// How a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteOptions {
    /// How large a message may be, in either direction.
    pub max_message: ByteSize,
    /// How long connecting may take.
    pub max_connect_time: Duration,
    /// How often a connection without traffic is asked whether it still stands.
    pub keep_alive: Duration,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            max_message: crate::MAX_MESSAGE,
            max_connect_time: Duration::from_secs(10),
            keep_alive: Duration::from_secs(30),
        }
    }
}

/// Has functions run by a server that speaks Porch's contract, Porch's own or ours.
///
/// Knows images only, and only the server knows which. The connection is made when it is needed first and made again when it broke; a call
/// whose connection breaks fails, for nobody knows whether the function ran. Functions that are granted something are refused: the contract
/// has no words for that.
#[derive(Clone, Debug)]
pub struct Remote {
    channel: Channel,
    address: String,
    options: RemoteOptions,
}

impl Remote {
    /// Asks the server at an address, `host:port`.
    ///
    /// # Errors
    /// When that is no address.
    pub fn new(address: &str, options: RemoteOptions) -> Result<Self, String> {
        let endpoint = endpoint(address)?;
        let channel = endpoint
            .connect_timeout(options.max_connect_time)
            .http2_keep_alive_interval(options.keep_alive)
            .keep_alive_timeout(Duration::from_secs(20))
            .tcp_nodelay(true)
            .connect_lazy();
        Ok(Self { channel, address: address.to_owned(), options })
    }

    /// Whether a text is such an address.
    ///
    /// # Errors
    /// When it is none.
    pub fn check(address: &str) -> Result<(), String> {
        endpoint(address).map(drop)
    }

    async fn ask(
        &self,
        image: String,
        text: &str,
        deadline: &Deadline,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let limit = usize::try_from(self.options.max_message.get()).unwrap_or(usize::MAX);
        let mut grpc =
            Grpc::new(self.channel.clone()).max_decoding_message_size(limit).max_encoding_message_size(limit);
        grpc.ready().await.map_err(|cause| Status::unavailable(chain(&cause)))?;
        let mut request =
            tonic::Request::new(EvaluateFunctionRequest { resource_list: text.as_bytes().to_vec(), image });
        request.set_timeout(deadline.left());
        let path = http::uri::PathAndQuery::from_static(EVALUATE);
        let codec = ProstCodec::<EvaluateFunctionRequest, EvaluateFunctionResponse>::default();
        grpc.unary(request, path, codec).await.map(tonic::Response::into_inner)
    }

    fn error(&self, status: &Status, request: Request, deadline: &Deadline) -> Error {
        let Self { address, .. } = self;
        match status.code() {
            Code::NotFound => Error::NotFound(Box::new(request)),
            Code::DeadlineExceeded => Error::Timeout { limit: deadline.limit, stderr: String::new() },
            // Also what tonic says when our own time was over first.
            Code::Cancelled if deadline.left().is_zero() => {
                Error::Timeout { limit: deadline.limit, stderr: String::new() }
            }
            Code::Cancelled => Error::Cancelled,
            Code::PermissionDenied | Code::Unauthenticated => Error::Refused(status.message().to_owned()),
            Code::Internal | Code::Unknown => {
                let details = Details::of(status);
                let exit_code = details.as_ref().map_or(1, |details| details.exit_code);
                let (stderr, results) = match details {
                    Some(details) => (details.stderr, details.results),
                    None => (status.message().to_owned(), Vec::new()),
                };
                let why = Failing::Exit(exit_code);
                Error::Failed(Box::new(Failed { why, exit_code, results, stderr }))
            }
            code => Error::Infrastructure(format!(
                "the function runner at \"{address}\" does not answer ({code:?}): {}",
                status.message()
            )),
        }
    }
}

#[async_trait]
impl Evaluator for Remote {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let FunctionRef::Image(image) = &request.function else {
            return Err(Error::NotFound(Box::new(request)));
        };
        if request.grants != Grants::default() {
            return Err(Error::Refused(format!(
                "\"{image}\" runs on the server at \"{}\", where nothing can be granted to it",
                self.address
            )));
        }
        let list = ResourceList { results: Vec::new(), ..request.list.clone() };
        let sent = wire::send(&list).map_err(|cause| {
            Error::Infrastructure(format!("cannot run the function \"{image}\": {cause}"))
        })?;
        let answer = tokio::select! {
            biased;
            () = deadline.cancel.cancelled() => return Err(Error::Cancelled),
            answer = tokio::time::timeout(deadline.left(), self.ask(image.clone(), sent.text(), deadline)) => answer,
        };
        let answer = match answer {
            Err(_) => return Err(Error::Timeout { limit: deadline.limit, stderr: String::new() }),
            Ok(Err(status)) => return Err(self.error(&status, request, deadline)),
            Ok(Ok(answer)) => answer,
        };
        let stderr = String::from_utf8_lossy(&answer.log).into_owned();
        let text = std::str::from_utf8(&answer.resource_list);
        let list = match text {
            Ok(text) => sent.receive(text).map_err(Failing::from),
            Err(cause) => Err(Failing::Output(cause.to_string())),
        };
        match list {
            Ok(list) => Ok(Response { list, stderr, evaluator: NAME, exit_code: 0 }),
            Err(why) => {
                Err(Error::Failed(Box::new(Failed { why, exit_code: 1, results: Vec::new(), stderr })))
            }
        }
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match function {
            FunctionRef::Image(_) => Outlook::Runs,
            FunctionRef::Exec(_) => Outlook::Unknown,
        }
    }
}

fn endpoint(address: &str) -> Result<Endpoint, String> {
    let url = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    Endpoint::from_shared(url).map_err(|cause| format!("\"{address}\": {cause}"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
