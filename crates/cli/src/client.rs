//! Talks to a server that speaks the Kubernetes API: ours, or any other.
//!
//! | module | what it is about |
//! |---|---|
//! | `flags` | what can be typed about the connection |
//! | `kubeconfig` | the files that say where servers are, and who we are to them |
//! | `target` | one server and one user, after all that was said |
//! | `credential` | programs that know who we are |
//! | `http` | one request and its answer |
//! | `answer` | what servers say, and what they refuse |
//! | `patience` | waiting for an answer where somebody looks on |

mod answer;
mod credential;
mod flags;
mod http;
mod kubeconfig;
mod patience;
mod target;

pub(crate) use answer::{Refusal, Trouble};
pub(crate) use flags::{Connection, Timeout, duration};
pub(crate) use http::{Accept, Client, Method, Patch, Request, Resource};
