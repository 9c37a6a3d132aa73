//! A Kubernetes API over a store.
//!
//! [`ApiServer`] is a service from HTTP requests to HTTP responses. It knows no sockets: whoever accepts connections says in the extensions of a
//! request where it comes from ([`Connection`]), and parts of this process use [`ApiServer::acting_as`].
//!
//! | area | modules |
//! |---|---|
//! | what is asked | `path`, `query`, `selector`, `accept`, `decode`, `route` |
//! | who asks, and whether they may | [`identity`], [`authenticate`], [`tokens`], `impersonate`, [`policy`], `authorize`, `reviews` |
//! | what is served | [`registry`], [`follower`], [`kinds`], `discovery`, [`documents`] |
//! | what is done | `verbs`, `owners`, `scale`, `row`, `meta` |
//! | what is answered | `view`, `reply`, `encode`, [`status`] |
//! | what is watched over | [`limits`], `gate`, [`audit`], `metrics` |

mod accept;
pub mod audit;
pub mod authenticate;
mod authorize;
mod core;
mod decode;
mod discovery;
pub mod documents;
mod encode;
pub mod follower;
mod gate;
pub mod identity;
mod impersonate;
pub mod kinds;
pub mod limits;
pub mod meta;
mod metrics;
mod owners;
mod path;
pub mod policy;
mod query;
pub mod registry;
mod reply;
mod reviews;
mod route;
pub mod row;
mod scale;
mod selector;
mod server;
pub mod status;
pub mod tokens;
mod verbs;
mod view;

pub use authenticate::{Authentication, Connection, Peer, StaticTokens};
pub use authorize::Delegate;
pub use core::{Chance, Clock};
pub use encode::Body;
pub use follower::{Define, define};
pub use identity::Identity;
pub use limits::Limits;
pub use query::DryRun;
pub use registry::{
    Admission, Backing, ContentIn, FieldOperator, Registered, Registry, Virtual, VirtualWrite, Written,
};
pub use server::{Acting, ApiServer, Measure, Options};
pub use status::Status;
