//! Tests of the whole: what holds between the crates, not inside one.

mod api;
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
mod server_functions;
mod yaml_cli;
