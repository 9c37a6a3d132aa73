//! The server as a process: its data directory, certificates, connections, and how it begins and ends.
//!
//! [`Server::start`] makes everything ready and returns; [`Server::run`] serves until it is asked to end.
//!
//! | module | what it is about |
//! |---|---|
//! | [`server`] | begins, serves, ends |
//! | [`data`] | what is in the data directory beside the store |
//! | [`certificates`] | the certificate authority, and what it signs |
//! | [`listen`] | TLS and HTTP |
//! | [`delegate`] | another API server that decides who may do what |
//! | [`kubeconfig`] | how clients find the server |
//! | `packages` | package revisions in the API |
//! | [`webhook`] | notifications of pushes |
//! | `controllers` | what keeps the world as objects ask for it |
//! | `bootstrap` | what is in every new store |
//! | `journal` | the audit log as a file |
//! | [`traces`] | spans of requests for a collector |

mod bootstrap;
pub mod certificates;
mod controllers;
pub mod data;
pub mod delegate;
mod journal;
pub mod kubeconfig;
pub mod listen;
mod packages;
pub mod server;
pub mod traces;
pub mod webhook;

pub use data::DataDirectory;
pub use server::{Error, Options, PackageOptions, Server};
pub use traces::Collector;
