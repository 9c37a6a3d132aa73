//! `lanai pkg`, as people run it: the real binary, real remotes made with git, and kpt beside it where it is installed.

mod get;
mod http;
mod inside;
mod interrupted;
mod kpt;
mod large;
mod look;
mod lost;
mod output;
mod pages;
pub(crate) mod progress;
mod refusals;
mod resolve;
mod ssh;
mod update;
mod web;
mod world;

pub(crate) use world::{Seen, World};
