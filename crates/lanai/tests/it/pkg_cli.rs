//! `lanai pkg`, as people run it: the real binary, real remotes made with git, and kpt beside it where it is installed.

mod get;
mod http;
mod inside;
mod interrupted;
mod kpt;
mod look;
mod pages;
mod resolve;
mod update;
mod world;

pub(crate) use world::{Seen, World};
