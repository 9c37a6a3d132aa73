//! The messages on the wire. They are few and small, so they are written by hand.

/// The service of functions.
pub const EVALUATOR: &str = "evaluator.FunctionEvaluator";
/// Its one method.
pub const EVALUATE: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";
/// The methods of the service of health.
pub const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
/// Tells each change.
pub const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";

/// A list and the function that it goes to.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EvaluateFunctionRequest {
    /// A `ResourceList`, in YAML.
    #[prost(bytes = "vec", tag = "1")]
    pub resource_list: Vec<u8>,
    /// The function.
    #[prost(string, tag = "2")]
    pub image: String,
}

/// The list that came back.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EvaluateFunctionResponse {
    /// A `ResourceList`, in YAML.
    #[prost(bytes = "vec", tag = "1")]
    pub resource_list: Vec<u8>,
    /// What the function wrote to its standard error output.
    #[prost(bytes = "vec", tag = "2")]
    pub log: Vec<u8>,
}

/// A question about health.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckRequest {
    /// The service; empty for all.
    #[prost(string, tag = "1")]
    pub service: String,
}

/// How a service is.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckResponse {
    /// How it is.
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub status: i32,
}

/// How a service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ServingStatus {
    /// Nobody knows.
    Unknown = 0,
    /// It takes calls.
    Serving = 1,
    /// It does not.
    NotServing = 2,
    /// There is no such service. Only watches say so.
    ServiceUnknown = 3,
}

/// `google.rpc.Status`, the form in which details of an error travel.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RpcStatus {
    /// The code.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The message.
    #[prost(string, tag = "2")]
    pub message: String,
    /// The details.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// What it is.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// What `type_url` says of a [`FunctionFailure`].
pub const FUNCTION_FAILURE: &str = "type.googleapis.com/lanai.evaluator.v1.FunctionFailure";

/// How a function failed: what the contract has no place for.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FunctionFailure {
    /// The code that it ended with.
    #[prost(int32, tag = "1")]
    pub exit_code: i32,
    /// What it wrote to its standard error output.
    #[prost(string, tag = "2")]
    pub stderr: String,
    /// What it reported: a list in JSON.
    #[prost(string, tag = "3")]
    pub results: String,
}
