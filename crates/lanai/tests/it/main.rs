//! Tests of the whole: what holds between the crates, not inside one.

mod arrows;
mod dependencies;
mod pkg_cli;
mod repository;
mod yaml_cli;
