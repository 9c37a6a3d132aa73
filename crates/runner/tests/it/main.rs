//! Evaluators with real programs and functions. Cages are tested with the binary that makes them, in `crates/lanai`.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod caching;
mod chain;
mod configured;
mod container;
mod docs;
mod exec;
mod helm;
mod modules;
mod native;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Failed, FunctionRef, Grants, Request};
use lanai_krm::{Resource, ResourceList};

fn list() -> ResourceList {
    let web = "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n";
    ResourceList { items: vec![Resource::parse(web).unwrap()], ..ResourceList::default() }
}

fn request(function: FunctionRef) -> Request {
    Request { function, list: list(), grants: Grants::default() }
}

fn image(name: &str) -> Request {
    request(FunctionRef::Image(name.into()))
}

fn command(line: &str) -> Request {
    request(FunctionRef::Exec(line.into()))
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

#[track_caller]
fn failed(error: Error) -> Failed {
    match error {
        Error::Failed(failed) => *failed,
        other => panic!("{other:?}"),
    }
}

/// A script that can be started.
fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
