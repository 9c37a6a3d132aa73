//! Tests of the whole: what holds between the crates, not inside one.

mod arrows;
mod dependencies;
mod fn_cli;
mod hostile;
mod pkg_cli;
mod repository;
mod serve;
mod yaml_cli;
