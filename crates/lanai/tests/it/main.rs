//! Tests of the whole: what holds between the crates, not inside one.

mod arrows;
mod demo;
mod dependencies;
mod doctor;
mod errors;
mod fn_cli;
mod getting_started;
mod hostile;
mod manual;
mod pkg_cli;
mod repository;
mod rpkg_cli;
mod serve;
mod yaml_cli;
