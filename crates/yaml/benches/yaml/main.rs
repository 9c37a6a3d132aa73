//! How fast the crate reads, edits and writes, how much memory it takes, and whether time grows with the input.
//!
//! `cargo bench -p lanai-yaml --bench yaml` runs all of it; names behind `--` choose parts: `speed`, `memory`, `shapes`,
//! `edits`. `LANAI_BENCH_JSON` names a file for the same numbers as JSON (`-` is standard output). Started without
//! `--bench`, as `cargo test --benches` does, every part runs once on small input. `docs/performance.md` explains the
//! numbers.

mod clock;
mod edits;
mod growth;
mod input;
mod memory;
mod oracle;
mod report;
mod shapes;
mod speed;

use std::env;
use std::error::Error;

use clock::Effort;
use report::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [first, rounds, file] = args.as_slice()
        && first == memory::CHILD
    {
        return memory::child(rounds, file);
    }
    let effort = if args.iter().any(|arg| arg == "--bench") { Effort::FULL } else { Effort::SMOKE };
    let parts: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);

    let mut report = Report::default();
    if wanted("speed") {
        speed::run(&effort, &mut report)?;
    }
    if wanted("memory") {
        memory::run(&effort, &mut report)?;
    }
    if wanted("shapes") {
        shapes::run(&effort, &mut report)?;
    }
    if wanted("edits") {
        edits::run(&effort, &mut report)?;
    }
    report.write_json()
}
