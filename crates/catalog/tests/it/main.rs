//! The catalog, with real files and processes.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod chaos;
mod contract;
mod crowd;
mod life;

use std::path::Path;

use lanai_catalog::{Begun, Catalog, Hit, Inputs, Miss, Options, Subject, Ticket};

fn inputs(name: &str) -> Inputs {
    let mut inputs = Inputs::default();
    inputs.add("function", b"sha256:0");
    inputs.add("resource", name.as_bytes());
    inputs
}

fn subject() -> Subject {
    Subject { function: "set-labels".into(), package: "shop".into() }
}

fn open(folder: &Path, options: Options) -> Catalog {
    Catalog::open(folder, options).unwrap()
}

async fn ticket(catalog: &Catalog, name: &str) -> (Ticket, Miss) {
    match catalog.begin(&inputs(name), &subject()).await {
        Begun::Run(ticket, miss) => (ticket, miss),
        Begun::Hit(hit) => panic!("{hit:?}"),
    }
}

async fn hit(catalog: &Catalog, name: &str) -> Hit {
    match catalog.begin(&inputs(name), &subject()).await {
        Begun::Hit(hit) => hit,
        Begun::Run(_, miss) => panic!("{miss}"),
    }
}

/// Whether the long versions of tests are wanted.
fn soaks() -> bool {
    std::env::var_os("LANAI_SOAK").is_some()
}
