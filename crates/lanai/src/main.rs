//! The `lanai` binary: wiring only.

fn main() {}
