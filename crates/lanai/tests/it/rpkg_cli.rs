//! `lanai repo` and `lanai rpkg` as a user meets them: the binary, a server of it, and repositories of git.

mod connection;
mod doctor;
mod files;
mod history;
mod life;
mod list;
mod pages;
mod porchctl;
mod progress;
mod repo;
mod upgrade;
mod world;
