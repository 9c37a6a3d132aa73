//! Controllers: loops that keep the world as objects ask for it.
//!
//! They are clients of the API like any other, over a [`kube::Client`]; inside the server it is one without a socket. One [`hub`] watches the metadata of
//! all kinds, once; each [`Controller`] folds what it hears into keys of work, and does one key at a time by asking the API what is so. Nothing is
//! remembered that could not be read again, so a kill at any moment is a restart of the same work.
//!
//! A new controller is a file with an implementation of [`Controller`], and a line in [`run`].
//!
//! | module | what it is about |
//! |---|---|
//! | [`run`] | begins and ends them; the list of all |
//! | [`controller`] | what a controller is, and what it is given |
//! | [`kind`], [`hub`] | which kinds there are, and what happens to their objects |
//! | [`work`], `driver` | what is to be done, and when again |
//! | [`namespace`] | empties namespaces that are deleted |
//! | [`defaults`] | what every namespace has |
//! | [`garbage`] | deletes or frees the dependents of what is deleted |
//! | [`definition`] | definitions of custom resources: their names, and the end of their objects |
//! | [`function_config`] | which functions are configured |
//! | [`repository`] | looks at repositories of packages, says how they are, and lets them go |
//! | `empty` | deletes all objects of a kind |

pub mod controller;
pub mod defaults;
pub mod definition;
mod driver;
mod empty;
pub mod function_config;
pub mod garbage;
pub mod hub;
pub mod kind;
pub mod namespace;
pub mod repository;
pub mod run;
pub mod work;

pub use controller::{Context, Controller, Error};
pub use hub::Change;
pub use kind::{Backing, Kind, KindId, Kinds};
pub use run::{Options, run};
pub use work::Next;
