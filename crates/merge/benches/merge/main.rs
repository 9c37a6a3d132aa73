//! How long a merge takes, how much memory, and whether both grow with the package.
//!
//! `cargo bench -p lanai-merge --bench merge` runs all of it. Started without `--bench`, as `cargo test --benches` does,
//! every shape runs once on small input. `docs/performance.md` explains the numbers.

mod input;

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use input::{SHAPES, Shape};
use lanai_merge::{Options, three_way};

/// The argument of the process whose memory is measured.
const CHILD: &str = "--peak-of";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [first, name, size] = &args[..]
        && first == CHILD
    {
        return child(name, size.parse()?);
    }
    let full = args.iter().any(|arg| arg == "--bench");
    println!("| shape | size | input | merge | conflicts | peak memory |");
    println!("|---|---:|---:|---:|---:|---:|");
    for shape in SHAPES {
        let mut last: Option<Duration> = None;
        for size in shape.sizes {
            let size = if full { size } else { size.min(20) };
            let (time, bytes, conflicts) = measure(shape, size, if full { 5 } else { 1 });
            let peak = if full { peak(shape.name, size)? } else { 0 };
            let growth = last.map_or_else(String::new, |last| {
                format!(" (×{:.1})", time.as_secs_f64() / last.as_secs_f64())
            });
            last = Some(time);
            println!(
                "| {} | {size} | {:.2} MB | {:.1} ms{growth} | {conflicts} | {:.0} MB |",
                shape.name,
                real(bytes) / 1e6,
                time.as_secs_f64() * 1e3,
                real(peak) / 1e3
            );
        }
    }
    Ok(())
}

/// The best of some rounds, the bytes of the local package, and the conflicts.
fn measure(shape: Shape, size: usize, rounds: usize) -> (Duration, usize, usize) {
    let [original, upstream, local] = (shape.make)(size);
    let mut best = Duration::MAX;
    let mut conflicts = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let merged = three_way(&original, &upstream, &local, &Options::default()).expect("it can be merged");
        best = best.min(begin.elapsed());
        conflicts = black_box(merged).conflicts.len();
    }
    (best, local.bytes(), conflicts)
}

/// A count as a number to divide.
#[allow(clippy::cast_precision_loss, reason = "counts of a benchmark are small")]
fn real(count: usize) -> f64 {
    count as f64
}

/// The largest resident set of a process that makes the packages and merges them, in kB.
#[allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure; the product may not")]
fn peak(name: &str, size: usize) -> Result<usize, Box<dyn Error>> {
    let output =
        std::process::Command::new(env::current_exe()?).args([CHILD, name, &size.to_string()]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn child(name: &str, size: usize) -> Result<(), Box<dyn Error>> {
    let shape = SHAPES.into_iter().find(|shape| shape.name == name).ok_or("no such shape")?;
    measure(shape, size, 1);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    println!("{}", line.trim().trim_end_matches(" kB"));
    Ok(())
}
