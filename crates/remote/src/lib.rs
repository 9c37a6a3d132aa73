//! Functions that run elsewhere, and running functions for others: Porch's gRPC contract, as a client and as a server.
//!
//! | module | what it knows |
//! |---|---|
//! | `proto` | the messages on the wire |
//! | `client` | [`Remote`], an evaluator that asks a server |
//! | `service` | which call goes to whom |
//! | `health` | `grpc.health.v1` |
//! | `gate` | how many functions run at once, and who is next |
//! | `metrics` | what is counted |
//! | `answering` | [`Runner`], a server of an evaluator |
//! | `annotations` | what callers wrote on resources for themselves |
//! | `wrapper` | [`Wrapper`], a server of one program |
//! | `server` | connections, from the first to the last |

mod annotations;
mod answering;
mod client;
mod gate;
mod health;
mod metrics;
pub mod proto;
mod server;
mod service;
mod status;
mod wrapper;

pub use answering::Runner;
pub use client::{Remote, RemoteOptions};
pub use gate::{Full, Gate, GateLimits, Pass};
pub use metrics::Metrics;
pub use server::{Error, Server, ServerOptions};
pub use service::Handler;
pub use status::Details;
pub use tonic::Code;
pub use wrapper::{Wrapper, WrapperLimits};

use lanai_types::ByteSize;

/// How large a message may be where nobody says otherwise; Porch has the same.
pub const MAX_MESSAGE: ByteSize = ByteSize::mib(6);
